"""Hooks that live in the host: each is a function here, which asks there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from difflib import get_close_matches
from typing import Any, TypeAlias

from attrs import frozen

from interlock.control.opening import BadOpening
from interlock.hooks import Event, HookMatcher, OnFailure
from interlock.hooks.events import FACTS
from interlock.hooks.hook import HookFunction

Ask: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]

Defer: TypeAlias = Callable[[Mapping[str, Any]], None]

_CALL = {"id": "use_id", "name": "name", "input": "input"}  # as results and hooks name its parts
_PUT_OFF = "put off: it was not run, and is to be called again once it was decided about"
_WAIT_S = 60.0  # for an answer, where the host names no other time


def _nothing(call: Mapping[str, Any]) -> None:
    """Nobody wants to know what was put off."""


@frozen(kw_only=True)
class HostHooks:
    """`never` are the events it named that nothing here brings about."""

    matchers: tuple[HookMatcher, ...] = ()
    never: tuple[str, ...] = ()


def hooks_of(raw: Mapping[str, Any] | None, ask: Ask, defer: Defer = _nothing) -> HostHooks:
    """The hooks that a host registers; `defer` is told of a call that one of them puts off.

    Raises BadOpening.

    An event that is not known here is passed over, unless a hook of it was to block where it
    fails: such a guard must not be missing unseen.
    """
    matchers, never = list[HookMatcher](), list[str]()
    for name, groups in (raw or {}).items():
        known = name in set(Event)
        for group in groups or ():
            if known:
                matchers.append(_matcher(Event(name), group, ask, defer))
            elif _blocks(group):
                near = get_close_matches(name, list(Event), n=1)
                hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(Event)}"
                raise BadOpening(f"initialize: no hook event {name}, so none could block; {hint}")
        if not known:
            never.append(name)
    return HostHooks(matchers=tuple(matchers), never=tuple(never))


def _matcher(event: Event, group: Mapping[str, Any], ask: Ask, defer: Defer) -> HookMatcher:
    facts = FACTS[event]
    given = group.get("timeout")
    wait = float(given) if isinstance(given, int | float) and given > 0 else _WAIT_S
    failing = OnFailure.BLOCK if _blocks(group) else OnFailure.CONTINUE
    return HookMatcher(
        event=event,
        hooks=[_function(str(id_), ask, defer) for id_ in group.get("hookCallbackIds") or ()],
        matcher=group.get("matcher") or None,
        timeout=min(wait, facts.most_s),
        on_failure=failing if failing in facts.broken else next(iter(facts.broken)),
    )


def _blocks(group: Mapping[str, Any]) -> bool:
    """Unless it may go on: a word that nobody knows was meant to hold something back."""
    return group.get("onFailure") not in (None, "continue")


def _function(id_: str, ask: Ask, defer: Defer) -> HookFunction:
    async def call(told: Mapping[str, Any]) -> Mapping[str, Any]:
        request = {"subtype": "hook_callback", "callback_id": id_, "input": told}
        answer = await ask({**request, "tool_use_id": told.get("tool_use_id")})
        specific = answer.get("hookSpecificOutput")
        if not isinstance(specific, Mapping) or specific.get("permissionDecision") != "defer":
            return answer
        defer({key: told.get(f"tool_{name}") for key, name in _CALL.items()})
        denial = {**specific, "permissionDecision": "deny", "permissionDecisionReason": _PUT_OFF}
        return {**answer, "continue": False, "hookSpecificOutput": denial}

    call.__qualname__ = f"callback {id_}"
    return call
