"""The judge: a question, the rules and the mode give a verdict. Asks nobody, remembers nothing.

The order: deny rules; what the plan mode keeps back; ask rules; the mode that lets everything
run; allow rules; what the mode grants inside the working folders; and else a person is asked. A
shell line is taken apart, each command and file judged in this order, and the strictest verdict
is the line's. Deny rules on Bash find a command by its words: they stop mistakes, not someone who
hides; what hides ends in a question.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from attrs import evolve, frozen

from interlock.options import PermissionMode
from interlock.permissions.advice import READ_ON
from interlock.permissions.decision import Decision, Part, Question, Verdict
from interlock.permissions.harmless import changed_files, harmless, reads_only
from interlock.permissions.line_rules import Line, allowing, first_hit, opened, says_hidden
from interlock.permissions.matching import Match
from interlock.permissions.paths import covers, guarded, inside, real_or_written
from interlock.permissions.rules import READERS, Rule, Rules, forbids, permits
from interlock.permissions.shell import SAFE_NAMES, Command, File, read

if TYPE_CHECKING:  # the other way round it imports us
    from interlock.permissions.child import Place

# They change nothing but the session itself; what a sub-agent may do is judged call by call.
_OWN = frozenset(
    {
        "Agent", "AskUserQuestion", "BashOutput", "EnterPlanMode", "KillBash", "KillShell",
        "Skill", "Sleep", "StructuredOutput", "Task", "TaskOutput", "TaskStop", "TodoWrite",
    }
)  # fmt: skip
_NETWORK = frozenset({"WebFetch", "WebSearch"})
_LEAVES_PLAN = "ExitPlanMode"
_PLANNING = f"in plan mode nothing may be changed yet: {READ_ON}"
_STRICTNESS = (Verdict.ALLOW, Verdict.ASK, Verdict.DENY)


class Judging(Protocol):
    """What can decide about a call by itself: a judge, or several that must agree."""

    def decide(self, question: Question, said: Decision | None = None) -> Decision: ...

    def hides(self, path: Path) -> bool: ...

    def withholds(self, path: Path) -> str | None: ...

    def moved(self, place: Place) -> Judging:
        """The same, about another folder than its own."""
        ...


def stricter(one: Decision, other: Decision) -> Decision:
    """The one that lets less through; the first where both are alike."""
    if _STRICTNESS.index(other.verdict) > _STRICTNESS.index(one.verdict):
        return other
    if one.verdict is other.verdict is Verdict.ASK and other.firm and not one.firm:
        return other
    return one


@frozen(kw_only=True)
class Judge:
    """`folders` are real paths; the first is the working folder that rules count from."""

    rules: Rules
    mode: PermissionMode
    folders: tuple[Path, ...]
    readable: tuple[Path, ...] = ()  # folders of the session's own, where reads run too
    writable: tuple[Path, ...] = ()  # likewise, where the file tools may write
    confined: bool = False  # commands run in a sandbox that holds, so none needs approval

    @classmethod
    def of(
        cls, folder: Path, rules: Rules, mode: PermissionMode, further: tuple[Path, ...] = ()
    ) -> Judge:
        """`further` folders are worked in too: reads there run, and edits if they are accepted."""
        real = (real_or_written(each) for each in (folder, *further))
        return cls(rules=rules, mode=mode, folders=tuple(dict.fromkeys(real)))

    def decide(self, question: Question, said: Decision | None = None) -> Decision:
        """`said` is what a hook decided before: its deny and its ask hold, its allow spares the
        question, but not one that a rule or a doubt puts."""
        decision = self._line(question) if question.command is not None else self._call(question)
        if decision.verdict is Verdict.DENY:
            return decision
        if said is not None:
            decision = _heard(decision, said)
        if decision.verdict is Verdict.ASK and self.mode is PermissionMode.DONT_ASK:
            reason = f"{decision.reason}, and in the mode dontAsk nobody is asked"
            return evolve(decision, verdict=Verdict.DENY, reason=reason)
        return decision

    def hides(self, path: Path) -> bool:
        """Whether a real path must not show up in the results of a search."""
        return any(self._keeps_from_reading(rule, path) for rule in self.rules.deny)

    def withholds(self, path: Path) -> str | None:
        """Why the model must not be told a file unasked, in words; None where it may be. A rule
        that wants a person to be asked keeps it back too: nobody is asked about what comes along
        by itself."""
        names = dict.fromkeys((real_or_written(path), Path(os.path.normpath(path))))
        for rules, does in (
            (self.rules.deny, "forbids it"),
            (self.rules.ask, "wants a person to be asked"),
        ):
            for rule in rules:
                if any(self._keeps_from_reading(rule, name) for name in names):
                    return f"the rule {rule.told} {does}"
        return None

    def _keeps_from_reading(self, rule: Rule, path: Path) -> bool:
        return (
            rule.tool in READERS
            and rule.specifier is not None
            and covers(rule.specifier, path, self.folders[0], either=True)
        )

    # --- calls, shell lines apart ------------------------------------------------------------

    def _call(self, question: Question) -> Decision:
        root = self.folders[0]
        for rule in self.rules.deny:
            if forbids(rule, question, root):
                return _by(rule, Verdict.DENY, "forbids it")
        if self.mode is PermissionMode.PLAN and self._changes(question):
            return Decision(verdict=Verdict.DENY, reason=_PLANNING)
        for rule in self.rules.ask:
            if forbids(rule, question, root):
                return _by(rule, Verdict.ASK, "wants a person to be asked")
        if self.mode is PermissionMode.BYPASS_PERMISSIONS:
            return _allow("permissions are bypassed")
        for rule in self.rules.allow:
            if permits(rule, question, self.folders):
                return _by(rule, Verdict.ALLOW, "allows it")
        return self._by_mode(question)

    def _changes(self, question: Question) -> bool:
        own = question.tool in _OWN or question.tool == _LEAVES_PLAN
        return not own and (question.effects or bool(question.writes))

    def _by_mode(self, question: Question) -> Decision:
        if question.tool in _OWN:
            return _allow("it changes nothing but the session")
        if question.tool == _LEAVES_PLAN:
            return _ask("a plan needs the user's approval")
        writable = (*self.folders, *self.writable)
        readable = (*writable, *self.readable)
        outside = [path for path in question.reads if not inside(path, readable)]
        outside += [path for path in question.writes if not inside(path, writable)]
        if outside:
            return _ask(f"{outside[0]} lies outside the working folder {self.folders[0]}")
        if question.domain is not None:
            return _ask(f"fetching from {question.domain} needs approval")
        if question.tool in _NETWORK or question.tool.startswith("mcp__"):
            return _ask("it reaches beyond this machine's files")
        if not question.effects:
            return _allow("it only reads, in the working folder")
        if question.writes and all(inside(path, self.writable) for path in question.writes):
            return _allow("the folder is the agent's own, for its memory")
        if self.mode is PermissionMode.ACCEPT_EDITS and question.writes:
            return self._accepted(question.writes)
        return _ask("changes need approval")

    def _accepted(self, written: tuple[Path, ...]) -> Decision:
        for path in written:
            if not inside(path, self.folders):
                return _ask(f"{path} lies outside the working folder {self.folders[0]}")
            if guarded(path, self.folders):
                return _ask(f"{path} is a file that steers git, a shell or the agent itself")
        return _allow("edits are accepted")

    # --- shell lines -------------------------------------------------------------------------

    def _line(self, question: Question) -> Decision:
        reading = read(question.command or "")
        line = Line(question, reading, self.folders[0])
        for rules, verdict, does in (
            (self.rules.deny, Verdict.DENY, "forbids it"),
            (self.rules.ask, Verdict.ASK, "wants a person to be asked"),
        ):
            for rule in rules:
                if rule.names(question) or line.is_verbatim(rule):
                    return _by(rule, verdict, does)
        judged = [*self._judged(line)]
        worst = _allow("it runs nothing")
        for decision, _ in judged[:1]:
            worst = decision
        for decision, _ in judged[1:]:
            worst = stricter(worst, decision)
        parts = tuple(
            Part(
                shown=shown,
                verdict=decision.verdict,
                reason=decision.reason,
                rule=decision.rule,
                origin=decision.origin,
            )
            for decision, shown in judged
        )
        return evolve(stricter(worst, self._whole(line)), parts=parts)

    def _judged(self, line: Line) -> Iterator[tuple[Decision, str]]:
        for command in line.reading.commands:
            yield self._command(command, line), str(command)
        for file in opened(line.reading):
            yield self._file(file, line), f"{'>' if file.writes else '<'} {file.word}"

    def _whole(self, line: Line) -> Decision:
        """What is to be said of the line as one: the mode that plans, and doubts."""
        if self.mode is PermissionMode.PLAN and not reads_only(line.text):
            return Decision(verdict=Verdict.DENY, reason=_PLANNING)
        reading, tool = line.reading, line.question.tool
        unseen = reading.doubt or reading.hidden
        if unseen is not None and self.is_bound(tool):
            return _unchecked(tool, unseen)
        if self._trusts(line) is not None:
            return _allow("the whole line is allowed")
        if reading.doubt is not None:
            return _ask(f"the line cannot be read for sure: {reading.doubt}")
        if reading.altered is not None:
            return _ask(f"what its names mean may change while it runs ({reading.altered})")
        return _allow("each command is judged by itself")

    def _trusts(self, line: Line) -> Decision | None:
        """What allows every command of the line, known or not."""
        if self.mode is PermissionMode.BYPASS_PERMISSIONS:
            return _allow("permissions are bypassed")
        for rule in self.rules.allow:
            if rule.names(line.question) or line.is_verbatim(rule):
                return _by(rule, Verdict.ALLOW, "allows it")
        return _allow("it runs in the sandbox") if self.confined else None

    def _command(self, command: Command, line: Line) -> Decision:
        for rules, verdict, does in (
            (self.rules.deny, Verdict.DENY, "forbids it"),
            (self.rules.ask, Verdict.ASK, "wants a person to be asked"),
        ):
            hit = first_hit(rules, command, line)
            if hit is not None and hit.match is Match.YES:
                return _by(hit.rule, verdict, does)
            if hit is not None:
                return _by(hit.rule, Verdict.ASK, "may be about it: some words are not known")
        tool = line.question.tool
        for each in command.everything() if self.is_bound(tool) else ():
            if each.hidden is not None and not says_hidden(self.rules.allow, each, line):
                return _unchecked(tool, each.hidden)
        return self._trusts(line) or self._granted(command, line)

    def is_bound(self, tool: str) -> bool:
        """Whether rules forbid some commands: then each must be seen."""
        rules = (*self.rules.deny, *self.rules.ask)
        return any(rule.tool == tool and rule.specifier for rule in rules)

    def _granted(self, command: Command, line: Line) -> Decision:
        unsafe = [name for name in command.assignments if not SAFE_NAMES.fullmatch(name)]
        if unsafe:
            return _ask(f"it sets {unsafe[0]} for the command, which may change what that does")
        rule = allowing(self.rules.allow, command, line)
        if rule is not None:
            return _by(rule, Verdict.ALLOW, "allows it")
        if command.transparent and command.inner and command.opaque is None:
            inner = [self._granted(each, line) for each in command.inner]
            return next((each for each in inner if each.verdict is not Verdict.ALLOW), inner[0])
        cwd = line.question.cwd
        if command.inner or command.opaque or line.reading.moves:
            return _ask(command.opaque or "commands need approval")
        if harmless(command, cwd, self.folders):
            return _allow("the command only looks")
        if self.mode is PermissionMode.ACCEPT_EDITS:
            changed = changed_files(command, cwd)
            if changed is not None:
                return self._accepted(changed)
        return _ask("commands need approval")

    def _file(self, file: File, line: Line) -> Decision:
        """A redirection, judged as the call of a file tool would be."""
        path = line.path_of(file)
        trusted = self._trusts(line)
        if path is None:
            return trusted or _ask(f"which file {file.word} is, only the shell knows")
        named = (Path(os.path.normpath(line.question.cwd / (file.word.text or ""))),)
        question = Question(
            tool="Write" if file.writes else "Read",
            tool_use_id=line.question.tool_use_id,
            arguments={},
            effects=file.writes,
            cwd=line.question.cwd,
            reads=() if file.writes else (path,),
            writes=(path,) if file.writes else (),
            named=named,
        )
        decision = self._call(question)
        if decision.verdict is Verdict.ASK and trusted is not None and decision.rule is None:
            return trusted
        return decision


def _heard(decision: Decision, said: Decision) -> Decision:
    if said.verdict is Verdict.ALLOW:
        return decision if decision.firm else evolve(said, parts=decision.parts)
    return evolve(said, firm=True, parts=decision.parts)


def _by(rule: Rule, verdict: Verdict, does: str) -> Decision:
    return Decision(
        verdict=verdict,
        reason=f"the rule {rule.told} {does}",
        rule=str(rule),
        origin=rule.origin,
        firm=verdict is Verdict.ASK,
    )


def _unchecked(tool: str, why: str) -> Decision:
    reason = f"the line cannot be checked against the rules about {tool}: {why}"
    return Decision(verdict=Verdict.ASK, reason=reason, firm=True)


def _allow(reason: str) -> Decision:
    return Decision(verdict=Verdict.ALLOW, reason=reason)


def _ask(reason: str) -> Decision:
    return Decision(verdict=Verdict.ASK, reason=reason)
