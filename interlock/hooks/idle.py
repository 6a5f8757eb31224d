"""Matchers that can match nothing: a guard that its user believes in, and that never runs.

Told, not refused: a file may name tools of another agent. Knows the names it is given; what a
server or a program adds may be called anything, so of patterns only the impossible is told.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from interlock.hooks.events import FACTS, Event
from interlock.hooks.hook import EXACT

_RULE = re.compile(r"\s*(?P<tool>[A-Za-z]\w*)\((?P<rest>.*)\)\s*", re.DOTALL)
# Found at the beginning of a name only, and not of mcp__….
_BOUND = re.compile(r"\^[A-LN-Za-ln-z0-9](?![?*{])[^|]*")
# Tools of other agents: there is nothing here that such a guard would miss.
_ELSEWHERE = frozenset(
    """
    Agent AgentOutputTool BashOutputTool CronCreate CronDelete CronList EnterWorktree ExitWorktree
    KillBash LS LSP ListMcpResourcesTool Monitor NotebookRead PowerShell ReadMcpResourceTool
    SendMessage Skill SlashCommand StructuredOutput Task TaskCreate TaskGet TaskList TaskOutput
    TaskStop TaskUpdate TeamCreate TeamDelete TodoRead ToolSearch WebSearch
    """.split()  # noqa: SIM905 (read as a text)
)
# What the matchers of other events are held against. Others may know more values: near ones only.
_VALUES: Mapping[str, tuple[str, ...]] = {
    "source": ("startup", "resume", "clear", "compact"),
    "reason": ("clear", "logout", "prompt_input_exit", "other"),
    "trigger": ("manual", "auto"),
    "notification_type": ("permission_prompt", "idle_prompt"),
}


def idle(raw: Mapping[str, Any], tools: Collection[str]) -> Iterator[tuple[tuple[str, int], str]]:
    """The groups of a `hooks` object whose matcher is idle, each with why. `raw` can be read."""
    for name, groups in raw.items():
        for number, group in enumerate(groups):
            matcher = group.get("matcher") or ""
            for words in _faults(FACTS[Event(name)].about, matcher, tools):
                yield (name, number), words


def _faults(about: str | None, matcher: str, tools: Collection[str]) -> Iterator[str]:
    if about == "tool_name":
        yield from _of_tools(matcher, tools)
    elif about is not None and about in _VALUES and EXACT.fullmatch(matcher):
        known = _VALUES[about]
        for name in _names(matcher):
            near = _near(name, known)
            if name not in known and near:
                yield f"the matcher {name!r} is no {about}, so the hook does not run; {near}"


def _of_tools(matcher: str, tools: Collection[str]) -> Iterator[str]:
    if matcher in ("", "*"):
        return
    rule = _RULE.fullmatch(matcher)
    if EXACT.fullmatch(matcher):
        for name in _names(matcher):
            if name not in tools and name not in _ELSEWHERE and not name.startswith("mcp__"):
                mend = _near(name, tools) or "there is none of that name"
                yield f"the matcher {name!r} names no tool, the hook does not run for it; {mend}"
    elif rule and not any(re.search(matcher, tool) for tool in tools):
        tool = rule["tool"]
        if tool in tools or _near(tool, tools):
            yield (
                f"the matcher {matcher!r} is a rule, and matches no tool: a matcher names tools; "
                "look at tool_input in the hook"
            )
    elif _BOUND.fullmatch(matcher) and not any(re.search(matcher, tool) for tool in tools):
        meant = [tool for tool in tools if re.search(matcher, tool, re.IGNORECASE)]
        if meant:
            mend = f"capitals count: {', '.join(sorted(meant))}"
            yield f"the matcher {matcher!r} matches no tool, so the hook does not run; {mend}"


def _names(matcher: str) -> Iterator[str]:
    return filter(None, (name.strip() for name in re.split(r"[|,]", matcher)))


def _near(name: str, known: Collection[str]) -> str | None:
    by_fold = {each.lower(): each for each in known}
    near = get_close_matches(name.lower(), by_fold, n=1, cutoff=0.75)
    return f"did you mean {by_fold[near[0]]}?" if near else None
