"""What permission callbacks and hooks answer, as values in place of the JSON that commands print.

A hook may return either; None means that it has nothing to say.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from attrs import frozen

from interlock.hooks import Event
from interlock.permissions.updates import Update


@frozen(kw_only=True)
class Allow:
    """The call may run: with `input` in place of the model's, and for the rest of the session
    without asking again if `always`. `updates` change rules, mode or folders first; these three
    are the permission callback's (a PreToolUse hook may give `input`)."""

    input: Mapping[str, Any] | None = None
    always: bool = False
    updates: tuple[Update, ...] = ()


@frozen
class Deny:
    """The call does not run, and the model is told why. `stop` ends the run as well."""

    reason: str
    stop: bool = False


@frozen
class Ask:
    """Of a PreToolUse hook: somebody is to be asked, whatever rules say."""

    reason: str


@frozen
class ChangeInput:
    """Of a PreToolUse hook: this instead of the model's input. It is judged as if it were that."""

    input: Mapping[str, Any]


@frozen
class Block:
    """Not now, and why: the prompt is not taken up; the model works on instead of stopping."""

    reason: str


@frozen
class EndRun:
    """The run ends, and this is why."""

    reason: str


@frozen
class AddContext:
    """The model reads it: beside a result, or in front of the prompt."""

    text: str


Answer: TypeAlias = Allow | Deny | Ask | ChangeInput | Block | EndRun | AddContext

_BEFORE = Event.PRE_TOOL_USE
_REQUEST = Event.PERMISSION_REQUEST


def json_of(answer: Answer, event: Event) -> Mapping[str, Any]:
    """As a hook's command would print it. Raises ValueError where it means nothing."""
    match answer:
        case Allow(input=given) if event is _BEFORE:
            more = {} if given is None else {"updatedInput": dict(given)}
            return _specific(event, permissionDecision="allow", **more)
        case Deny(reason) if event is _BEFORE:
            return _specific(event, permissionDecision="deny", permissionDecisionReason=reason)
        case Ask(reason) if event is _BEFORE:
            return _specific(event, permissionDecision="ask", permissionDecisionReason=reason)
        case ChangeInput(given) if event is _BEFORE:
            return _specific(event, updatedInput=dict(given))
        case Allow() if event is _REQUEST:
            return _specific(event, decision={"behavior": "allow"})
        case Deny(reason, stop) if event is _REQUEST:
            denial = {"behavior": "deny", "message": reason, "interrupt": stop}
            return _specific(event, decision=denial)
        case Block(reason):
            return {"decision": "block", "reason": reason}
        case EndRun(reason):
            return {"continue": False, "stopReason": reason}
        case AddContext(text):
            return _specific(event, additionalContext=text)
    raise ValueError(f"{type(answer).__name__} means nothing at {event}")


def _specific(event: Event, **fields: Any) -> Mapping[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": event.value, **fields}}
