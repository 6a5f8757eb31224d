"""A hook as data: for which event, for what of it, what is run, and what if that breaks."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from shlex import quote
from typing import Any

from attrs import evolve, field, frozen

from interlock.hooks.events import FACTS, Effect, Event, OnFailure

# Given what a command gets on stdin; returns what a command would print, or None for no opinion.
# A plain function runs in a thread of its own, which a time limit can leave but not end.
HookFunction = Callable[
    [Mapping[str, Any]], Mapping[str, Any] | Awaitable[Mapping[str, Any] | None] | None
]

EXACT = re.compile(r"[\w|, -]*", re.ASCII)
# Names of one tool each: a guard that was written for an old one must not miss the new one.
_SAME = (
    frozenset({"Agent", "Task"}),
    frozenset({"TaskOutput", "BashOutput", "BashOutputTool", "AgentOutputTool"}),
    frozenset({"TaskStop", "KillShell", "KillBash"}),
)
_SHOWN = 80  # characters of a command in a message


class BadMatcher(ValueError):
    """A matcher that is no regular expression."""


@frozen
class Matcher:
    """What of an event a hook is for. Empty or `*`: all of it. Letters, digits, `_`, `-` with
    `|` or commas between: these names. Anything else: a regular expression, found anywhere."""

    text: str = ""

    def __attrs_post_init__(self) -> None:
        try:
            self._pattern()
        except (re.error, RecursionError, OverflowError) as error:
            raise BadMatcher(str(error)) from error

    def holds(self, subject: str | None) -> bool:
        """Whether it is for this; `subject` None stands for an event that has nothing to match."""
        if subject is None or self.text in ("", "*"):
            return True
        same = next((names for names in _SAME if subject in names), (subject,))
        return any(map(self._names, same))

    def _names(self, subject: str) -> bool:
        if EXACT.fullmatch(self.text):
            names = (name.strip() for name in re.split(r"[|,]", self.text))
            return subject in {name for name in names if name}
        return self._pattern().search(subject) is not None

    def _pattern(self) -> re.Pattern[str]:
        return re.compile("" if self.text in ("", "*") else self.text)


@frozen(kw_only=True)
class Hook:
    """One hook. `run` is a shell command, or a function."""

    event: Event
    matcher: Matcher = Matcher()
    run: str | HookFunction
    timeout: float
    on_failure: OnFailure
    origin: str  # where it stands: a file and the place in it
    environment: Mapping[str, str] = field(factory=dict, hash=False)  # of a command, of its own

    @property
    def name(self) -> str:
        if not isinstance(self.run, str):
            return getattr(self.run, "__qualname__", type(self.run).__name__)
        line = " ".join(self.run.split())
        return line if len(line) <= _SHOWN else line[:_SHOWN] + "..."

    @property
    def if_broken(self) -> Effect:
        return FACTS[self.event].broken[self.on_failure]


@frozen(kw_only=True)
class HookMatcher:
    """Registers Python functions, as the settings register commands."""

    event: Event | str
    hooks: Sequence[HookFunction]
    matcher: str | None = None
    timeout: float | None = None  # seconds; None: as the event has it
    on_failure: OnFailure | str | None = None


def with_environment(hook: Hook, variables: Mapping[str, str]) -> Hook:
    """A command with these in its environment, those of the folder that it belongs to, say.

    Where a value is one plain word it is also written in for its `${NAME}`, which so means the
    same in single quotes; any other is left to the shell, which makes no command of it.
    """
    line = hook.run
    if isinstance(line, str):
        for name, value in variables.items():
            line = line.replace(f"${{{name}}}", value if quote(value) == value else f"${{{name}}}")
    return evolve(hook, run=line, environment={**hook.environment, **variables})


def strictest(hooks: Sequence[Hook]) -> Hook:
    """The first of several entries that run the same thing, with the least yielding failure."""
    order = list(Effect)
    worst = max(hooks, key=lambda hook: order.index(hook.if_broken))
    return evolve(hooks[0], on_failure=worst.on_failure)
