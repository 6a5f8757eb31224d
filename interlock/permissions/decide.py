"""The judge: a question, the rules and the mode give a verdict. Asks nobody, remembers nothing.

The order: deny rules; ask rules; the mode that lets everything run; allow rules; what the mode
grants inside the working folder; and else a person is asked. Deny rules on Bash find a command
by its words: they stop mistakes, not someone who hides; what hides ends in a question.
"""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

from interlock.options import PermissionMode
from interlock.permissions import lines
from interlock.permissions.decision import Decision, Question, Verdict
from interlock.permissions.harmless import harmless
from interlock.permissions.rules import READERS, Rule, Rules, covers, forbids, permits

# A change here is run or obeyed later, by git or by us, without anyone having looked.
GUARDED = frozenset({".git", ".interlock", ".claude"})


@frozen(kw_only=True)
class Judge:
    """`folders` are real paths; the first is the working folder that rules count from."""

    rules: Rules
    mode: PermissionMode
    folders: tuple[Path, ...]

    @classmethod
    def of(cls, folder: Path, rules: Rules, mode: PermissionMode) -> Judge:
        return cls(rules=rules, mode=mode, folders=(folder.resolve(),))

    def decide(self, question: Question) -> Decision:
        by_rule = self._forbidden(question)
        if by_rule is not None:
            return by_rule
        if self.mode is PermissionMode.BYPASS_PERMISSIONS:
            return Decision(verdict=Verdict.ALLOW, reason="permissions are bypassed")
        allowed = self._first(self.rules.allow, question)
        if allowed is not None:
            reason = f"the rule {allowed} allows it"
            return Decision(verdict=Verdict.ALLOW, reason=reason, rule=str(allowed))
        return self._by_mode(question)

    def hides(self, path: Path) -> bool:
        """Whether a real path must not show up in the results of a search."""
        return any(
            rule.tool in READERS
            and rule.specifier is not None
            and covers(rule.specifier, path, self.folders[0], either=True)
            for rule in self.rules.deny
        )

    def _forbidden(self, question: Question) -> Decision | None:
        root = self.folders[0]
        for rule in self.rules.deny:
            if forbids(rule, question, root):
                reason = f"the rule {rule} forbids it"
                return Decision(verdict=Verdict.DENY, reason=reason, rule=str(rule))
        if self._unclear(question):
            reason = "the command line cannot be read well enough to check it against deny rules"
            return Decision(verdict=Verdict.ASK, reason=reason)
        if self.mode is PermissionMode.BYPASS_PERMISSIONS:
            return None
        for rule in self.rules.ask:
            if forbids(rule, question, root):
                reason = f"the rule {rule} wants a person to be asked"
                return Decision(verdict=Verdict.ASK, reason=reason, rule=str(rule))
        return None

    def _unclear(self, question: Question) -> bool:
        if question.command is None or not any(
            rule.tool == question.tool and rule.specifier for rule in self.rules.deny
        ):
            return False
        return not lines.commands(question.command).certain

    def _first(self, rules: tuple[Rule, ...], question: Question) -> Rule | None:
        matching = (rule for rule in rules if permits(rule, question, self.folders[0]))
        return next(matching, None)

    def _by_mode(self, question: Question) -> Decision:
        outside = [path for path in (*question.reads, *question.writes) if not self._inside(path)]
        if outside:
            return _ask(f"{outside[0]} lies outside the working folder {self.folders[0]}")
        if question.command is not None:
            if harmless(question.command, question.cwd, self.folders):
                return Decision(verdict=Verdict.ALLOW, reason="the command only looks")
            return _ask("commands need approval")
        if not question.effects:
            return Decision(verdict=Verdict.ALLOW, reason="it only reads, in the working folder")
        if self.mode is PermissionMode.ACCEPT_EDITS and question.writes:
            guarded = [path for path in question.writes if self._guarded(path)]
            if not guarded:
                return Decision(verdict=Verdict.ALLOW, reason="edits are accepted")
            return _ask(f"{guarded[0]} is a file that steers git or the agent itself")
        return _ask("changes need approval")

    def _inside(self, path: Path) -> bool:
        return any(path.is_relative_to(folder) for folder in self.folders)

    def _guarded(self, path: Path) -> bool:
        return any(
            part.lower() in GUARDED
            for folder in self.folders
            if path.is_relative_to(folder)
            for part in path.relative_to(folder).parts
        )


def _ask(reason: str) -> Decision:
    return Decision(verdict=Verdict.ASK, reason=reason)
