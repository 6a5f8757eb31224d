"""Hooks as functions: `@hook("PreToolUse", matcher="Bash")`.

What each event may bring about is one table, in docs/hooks.md; here functions are only put into
its terms.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from attrs import frozen

from interlock.api.answers import Answer, json_of
from interlock.api.calling import called
from interlock.fitting import checked_arguments, misfits
from interlock.hooks import Event, HookFunction, HookMatcher, OnFailure

HookInput: TypeAlias = Mapping[str, Any]  # as a command gets it on standard input
HookAnswer: TypeAlias = Answer | Mapping[str, Any] | None
Heard: TypeAlias = Callable[[HookInput], HookAnswer | Awaitable[HookAnswer]]


@frozen(kw_only=True)
class FunctionHook:
    """A function that is heard at an event; it can still be called like one."""

    event: Event | str
    function: Heard
    matcher: str | None = None
    timeout: float | None = None  # seconds; None: as the event has it
    on_failure: OnFailure | str | None = None  # what follows if it raises: ask, block, continue

    def __call__(self, told: HookInput) -> HookAnswer | Awaitable[HookAnswer]:
        return self.function(told)


@checked_arguments
def hook(
    event: Event | str,
    *,
    matcher: str | None = None,
    timeout: float | None = None,
    on_failure: OnFailure | str | None = None,
) -> Callable[[Heard], FunctionHook]:
    """Make a function a hook of this event; `matcher` says of what of it (a tool's name, say).

    An async function runs in the session's loop, any other in a thread. It returns an answer
    (`Deny("…")`), the JSON that a command would print, or None for nothing.
    """

    @checked_arguments
    def made(function: Heard) -> FunctionHook:
        return FunctionHook(
            event=event,
            function=function,
            matcher=matcher,
            timeout=timeout,
            on_failure=on_failure,
        )

    return made


def matcher_of(one: FunctionHook | HookMatcher) -> HookMatcher:
    """As the session registers it; what is wrong with it shows there."""
    if isinstance(one, HookMatcher):
        return one
    return HookMatcher(
        event=one.event,
        hooks=(_translated(one),),
        matcher=one.matcher,
        timeout=one.timeout,
        on_failure=one.on_failure,
    )


def _translated(one: FunctionHook) -> HookFunction:
    """The function, its answers as JSON, under its own name."""
    function = one.function

    async def heard(told: HookInput) -> Mapping[str, Any] | None:
        answer: HookAnswer = await called(function, told)
        if answer is None or isinstance(answer, Mapping):
            return answer
        for line in misfits(answer, HookAnswer, "answer"):
            raise TypeError(f"it returned {line}; return Deny('why'), None, …: docs/hooks.md")
        return json_of(answer, Event(one.event))

    for name in ("__name__", "__qualname__"):  # who it is, in what is told of it
        setattr(heard, name, getattr(function, name, type(function).__name__))
    return heard
