"""Asking beforehand: a call written as a rule is, made into the question it would be."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from interlock.options import Options
from interlock.permissions.decide import Judge
from interlock.permissions.decision import Decision, Part, Question, Verdict
from interlock.permissions.domains import PREFIX
from interlock.permissions.paths import expanded_home, real_or_written
from interlock.permissions.rules import READERS, WRITERS, BadRule, Rule, Rules
from interlock.permissions.shell import read
from interlock.permissions.suggest import suggested

_STAYS_POSSIBLE = (
    "Read rules bind the Read, Glob, Grep and Edit tools, redirections, and the paths that a"
    " command names; what a program opens by itself (a script, grep -r over a folder) only a"
    " sandbox can keep from it."
)


_FILES_HIDE = (
    "Bash rules bind the commands of a line, those inside others too, and ask where a program may"
    " be told to run more; what a script, a Makefile or a program under another name runs, only a"
    " sandbox can bound."
)


def rules_of(options: Options) -> Rules:
    """All rules in force: those of settings files, and those of the flags."""
    given: dict[str, list[tuple[str, str]]] = {"allow": [], "ask": [], "deny": []}
    for rule in options.rules:
        given[rule.behaviour].append((rule.text, rule.origin))
    given["allow"] += [(text, "the flag --allowedTools") for text in options.allowed_tools]
    given["deny"] += [(text, "the flag --disallowedTools") for text in options.disallowed_tools]
    return Rules.parse(**given)


def judge_of(options: Options) -> Judge:
    """The judge that a run with these options has."""
    rules, mode = rules_of(options), options.permission_mode
    return Judge.of(options.cwd, rules, mode, further=options.directories)


def question_of(written: str, cwd: Path) -> Question:
    """`Bash(ls)`, `Read(a.txt)`, `WebFetch(domain:x.org)`, `mcp__a__b`. Raises BadRule."""
    tool, bracket, rest = written.strip().partition("(")
    text = rest[:-1] if bracket and rest.endswith(")") else None
    if not tool or (bracket and text is None):
        raise BadRule(f"{written!r} is no call: write Tool or Tool(...), like 'Bash(git push)'")
    if tool == "Bash":
        return _question(tool, cwd, {"command": text or ""}, command=text or "")
    if tool in READERS | WRITERS and text:
        return _about_path(tool, text, cwd)
    if tool == "WebFetch":
        return _question(tool, cwd, {"url": _address(text or "")}, effects=False)
    if tool in ("Task", "Agent") and text:
        return _question(tool, cwd, {"subagent_type": text})
    return _question(Rule.parse(written).tool, cwd, {}, effects=tool not in READERS)


def _question(
    tool: str,
    cwd: Path,
    arguments: Mapping[str, Any],
    *,
    effects: bool = True,
    command: str | None = None,
) -> Question:
    return Question(
        tool=tool,
        tool_use_id="explain",
        arguments=arguments,
        effects=effects,
        cwd=cwd,
        command=command,
    )


def _about_path(tool: str, text: str, cwd: Path) -> Question:
    written = cwd / expanded_home(Path(text))
    real = (real_or_written(written),)
    writes = tool in WRITERS
    return Question(
        tool=tool,
        tool_use_id="explain",
        arguments={"file_path": text},
        effects=writes,
        cwd=cwd,
        reads=() if writes else real,
        writes=real if writes else (),
        named=(Path(os.path.normpath(written)),),
    )


def _address(text: str) -> str:
    return f"https://{text.removeprefix(PREFIX)}/" if text.startswith(PREFIX) else text


def told(question: Question, decision: Decision, judge: Judge) -> Iterator[str]:
    """The explanation, line by line."""
    yield f"{decision.verdict}: {decision.reason}"
    for part in decision.parts:
        yield f"  {part.verdict:<5}  {part.shown}"
        yield f"         {part.reason}"
    help_ = helps(question, decision)
    if help_ is not None:
        yield f"what would help: {help_}"
    if question.command is not None and any(rule.tool in READERS for rule in judge.rules.deny):
        yield f"note: {_STAYS_POSSIBLE}"
    if question.command is not None and judge.is_bound(question.tool):
        yield f"note: {_FILES_HIDE}"


def helps(question: Question, decision: Decision) -> str | None:
    """What a person could do so that the call runs."""
    if decision.verdict is Verdict.ALLOW:
        return None
    if decision.rule is not None and decision.verdict is Verdict.DENY:
        return f"without the rule {decision.rule} it would be judged further"
    if question.command is not None and read(question.command).doubt is not None:
        return "a plainer line; or a person who answers"
    if decision.firm:
        return "a person who answers"
    if question.writes and decision.verdict is Verdict.ASK:
        return "--permission-mode acceptEdits, inside the working folder; or a person who answers"
    return f"--allowedTools {str(suggested(question))!r}; or a person who answers"


def json_of(question: Question, decision: Decision) -> dict[str, Any]:
    """The same, for programs."""

    def one(each: Decision | Part) -> dict[str, Any]:
        return {
            "verdict": each.verdict.value,
            "reason": each.reason,
            "rule": each.rule,
            "origin": each.origin,
        }

    return {
        **one(decision),
        "tool": question.tool,
        "helps": helps(question, decision),
        "parts": [{"shown": part.shown, **one(part)} for part in decision.parts],
    }
