"""Reading what a hook printed: the JSON of its answer, checked before any of it is believed.

Unknown keys are passed over; a known one with a value that cannot be is no answer at all, and the
hook counts as broken. So does JSON that is no object, or has a key twice: whoever printed it meant
something, and nobody can say what. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import orjson
from attrs import frozen

from interlock.hooks.events import FACTS, Effect, Event

_PERMISSIONS = {"allow": Effect.ALLOW, "ask": Effect.ASK, "deny": Effect.DENY}
_BEHAVIOURS = {"allow": Effect.ALLOW, "deny": Effect.DENY}
_BOM = "\ufeff"  # what some shells and editors put in front of a text
_JSON_LINE = re.compile(r"^[ \t\ufeff]*(?:\[[ \t]*)*\{", re.MULTILINE)


class BadAnswer(ValueError):
    """What a hook printed cannot be read; in words that follow "it"."""


@frozen(kw_only=True)
class HookAnswer:
    """What one hook says."""

    effect: Effect = Effect.PASS
    reason: str | None = None
    context: str | None = None
    arguments: Mapping[str, Any] | None = None  # in place of the model's
    output: str | None = None  # in place of the tool's
    message: str | None = None  # for a person
    interrupt: bool = False


def from_stdout(event: Event, stdout: str, *, cut: bool) -> HookAnswer:
    """The answer that stands on standard output. Raises BadAnswer.

    What begins with a brace is JSON or broken: half an object must not pass for plain text.
    """
    text, facts = stdout.lstrip(_BOM).strip(), FACTS[event]
    if text.startswith("{"):
        if cut:
            raise BadAnswer("printed more JSON than is read")
        return from_json(event, _loaded(text))
    if text.startswith("[") and (_JSON_LINE.match(text) or _is_json(text)):
        raise BadAnswer("printed a list; an answer is one JSON object")
    if facts.plain is Effect.CONTEXT and text:
        return HookAnswer(effect=Effect.CONTEXT, context=text)
    if _is_json(text):
        raise BadAnswer(f"printed {text[:40]}; an answer is one JSON object")
    if facts.guards and "\0" in text:
        raise BadAnswer("printed text that is not UTF-8")
    if facts.guards and _JSON_LINE.search(text):
        # A greeting of the shell's profile must not hide a refusal behind it.
        raise BadAnswer("printed other text beside its JSON")
    return HookAnswer()


def from_json(event: Event, raw: Mapping[str, Any]) -> HookAnswer:
    """The answer that these fields hold. Raises BadAnswer."""
    facts, specific = FACTS[event], _specific(event, raw)
    effect, reason = _decided(event, raw, specific)
    context = _text(specific, "additionalContext")
    if effect is Effect.PASS and context:
        effect, reason = facts.context, context
    if _flag(raw, "continue") is False:
        effect, reason = facts.stop, _text(raw, "stopReason") or reason
    decision = _object(specific, "decision") if event is Event.PERMISSION_REQUEST else {}
    return HookAnswer(
        effect=effect,
        reason=reason,
        context=context if facts.context is Effect.CONTEXT else None,
        arguments=_object(specific, "updatedInput") or _object(decision, "updatedInput") or None,
        output=_output(specific) if event is Event.POST_TOOL_USE else None,
        message=_text(raw, "systemMessage"),
        interrupt=_flag(decision, "interrupt") is True,
    )


def _decided(
    event: Event, raw: Mapping[str, Any], specific: Mapping[str, Any]
) -> tuple[Effect, str | None]:
    """The strictest of what it says in the ways there are to say it."""
    said: list[tuple[Effect, str | None]] = []
    match _choice(raw, "decision", ("block", "approve")):
        case "block":
            said.append((FACTS[event].block, _text(raw, "reason")))
        case "approve" if event is Event.PRE_TOOL_USE:
            said.append((Effect.ALLOW, _text(raw, "reason")))
    if event is Event.PRE_TOOL_USE:
        word = _choice(specific, "permissionDecision", tuple(_PERMISSIONS))
        if word is not None:
            said.append((_PERMISSIONS[word], _text(specific, "permissionDecisionReason")))
    elif event is Event.PERMISSION_REQUEST:
        decision = _object(specific, "decision")
        word = _choice(decision, "behavior", tuple(_BEHAVIOURS))
        if word is not None:
            said.append((_BEHAVIOURS[word], _text(decision, "message")))
    order = list(Effect)
    return max(said, key=lambda each: order.index(each[0]), default=(Effect.PASS, None))


def _specific(event: Event, raw: Mapping[str, Any]) -> Mapping[str, Any]:
    specific = _object(raw, "hookSpecificOutput")
    named = _text(specific, "hookEventName")
    if named is not None and named != event:
        raise BadAnswer(f"answered for the event {named[:40]!r}")
    return specific


def _output(specific: Mapping[str, Any]) -> str | None:
    """What the model is told the tool has said; anything but text is told as JSON."""
    for key in ("updatedToolOutput", "updatedMCPToolOutput"):
        value = specific.get(key)
        if value is not None:
            return value if isinstance(value, str) else orjson.dumps(value).decode()
    return None


def _loaded(text: str) -> Mapping[str, Any]:
    try:
        raw = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadAnswer(f"printed JSON that cannot be read ({error})") from error
    assert isinstance(raw, dict)  # it begins with a brace
    _insist_on_single_keys(text)
    return raw


def _insist_on_single_keys(text: str) -> None:
    """Decoders keep the last of two: a block that is followed by an approval would be lost."""
    try:
        json.loads(text, object_pairs_hook=_single)
    except RecursionError as error:
        raise BadAnswer("printed JSON that is nested too deeply") from error


def _single(pairs: list[tuple[str, object]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise BadAnswer(f"gave {key[:40]!r} twice")
        seen.add(key)


def _is_json(text: str) -> bool:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def _text(raw: Mapping[str, Any], key: str) -> str | None:
    value = raw.get(key)
    if value is not None and not isinstance(value, str):
        raise BadAnswer(f"gave a {key} that is no text")
    return value


def _flag(raw: Mapping[str, Any], key: str) -> bool | None:
    value = raw.get(key)
    if value is not None and not isinstance(value, bool):
        raise BadAnswer(f"gave a {key} that is neither true nor false")
    return value


def _object(raw: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = raw.get(key)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise BadAnswer(f"gave a {key} that is no object")
    return value


def _choice(raw: Mapping[str, Any], key: str, choices: tuple[str, ...]) -> str | None:
    value = _text(raw, key)
    if value is not None and value not in choices:
        raise BadAnswer(f"gave a {key} {value[:40]!r}; there is {', '.join(choices)}")
    return value
