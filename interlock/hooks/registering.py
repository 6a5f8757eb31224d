"""Reading registrations: the `hooks` object of a settings file, or Python functions.

Refused at the start, with the place and a mend: what cannot be understood would else be a guard
that never runs. Keys that nobody knows are passed over, unless they look like a known one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from interlock.errors import SettingsError
from interlock.hooks.events import FACTS, Event, OnFailure
from interlock.hooks.hook import BadMatcher, Hook, HookMatcher, Matcher

_GROUP_KEYS = ("matcher", "hooks")
_HOOK_KEYS = ("type", "command", "timeout", "onFailure", "statusMessage", "shell", "once")
# Known to users of such files, and not done here: run all the same, they would mean another thing.
_NOT_HERE = {
    "async": "hooks are waited for; put an & behind the command",
    "asyncRewake": "hooks are waited for; put an & behind the command",
    "if": "use the matcher for the tool's name, and look at tool_input in the hook",
    "args": "write one command line into `command`",
}
_TYPES = ("command",)


def parse(raw: object, origin: str) -> tuple[Hook, ...]:
    """The hooks of a settings file's `hooks` object, in its order. `origin` says where it stands.

    Raises SettingsError that names the place in the JSON.
    """
    found: list[Hook] = []
    for name, groups in _object(raw, f"{origin}: hooks").items():
        where = f"{origin}: hooks.{name}"
        event = _event(name, f"{origin}: hooks")
        for number, group in enumerate(_list(groups, where, "a list of matchers")):
            found += _group(event, group, f"{where}[{number}]")
    return tuple(found)


def registered(matchers: Sequence[HookMatcher]) -> tuple[Hook, ...]:
    """The hooks of Python registrations. Raises SettingsError."""
    found = []
    for number, one in enumerate(matchers):
        where = f"hooks[{number}]"
        event = _event(str(one.event), where)
        for function in one.hooks:
            if not callable(function):
                raise SettingsError(where, f"{function!r} is no function", "pass functions")
            hook = Hook(
                event=event,
                matcher=_matcher(one.matcher, where),
                run=function,
                timeout=_timeout(event, one.timeout, where),
                on_failure=_on_failure(event, one.on_failure, where),
                origin=where,
            )
            found.append(hook)
    return tuple(found)


def _group(event: Event, raw: object, where: str) -> Iterator[Hook]:
    group = _object(raw, where)
    _insist_on_known_keys(group, _GROUP_KEYS, where)
    matcher = _matcher(group.get("matcher"), f"{where}.matcher")
    if "hooks" not in group:
        raise SettingsError(where, "has no `hooks`", "give a list of hooks there")
    for number, each in enumerate(_list(group["hooks"], f"{where}.hooks", "a list of hooks")):
        yield _hook(event, matcher, each, f"{where}.hooks[{number}]")


def _hook(event: Event, matcher: Matcher, raw: object, where: str) -> Hook:
    hook = _object(raw, where)
    _insist_on_type(hook, where)
    for key, mend in _NOT_HERE.items():
        if hook.get(key) not in (None, False):
            raise SettingsError(f"{where}.{key}", "is not supported", mend)
    _insist_on_known_keys(hook, _HOOK_KEYS, where)
    command = hook.get("command")
    if not isinstance(command, str) or not command.strip() or "\0" in command:
        problem = "is missing" if command is None else f"{_short(command)} is no command line"
        raise SettingsError(f"{where}.command", problem, "write a shell command")
    if hook.get("shell") not in (None, "bash", "sh"):
        problem = f"{_short(hook['shell'])} is not supported"
        raise SettingsError(f"{where}.shell", problem, "leave it out: commands run with bash")
    return Hook(
        event=event,
        matcher=matcher,
        run=command,
        timeout=_timeout(event, hook.get("timeout"), f"{where}.timeout"),
        on_failure=_on_failure(event, hook.get("onFailure"), f"{where}.onFailure"),
        origin=where,
    )


def _insist_on_type(hook: Mapping[str, Any], where: str) -> None:
    if "type" not in hook:
        raise SettingsError(f"{where}.type", "is missing", 'write "type": "command"')
    type_ = hook["type"]
    if type_ not in _TYPES:
        problem = f"{_short(type_)} is not supported"
        raise SettingsError(f"{where}.type", problem, 'there is "command"')


def _insist_on_known_keys(raw: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for key in raw:
        near = [] if key in known else get_close_matches(key, known, n=1, cutoff=0.75)
        if near:
            raise SettingsError(f"{where}.{key}", "is not known", f"did you mean {near[0]}?")


def _event(name: str, where: str) -> Event:
    try:
        return Event(name)
    except ValueError:
        near = get_close_matches(name, list(Event), n=1, cutoff=0.5)
        mend = f"did you mean {near[0]}?" if near else f"there are {', '.join(Event)}"
        raise SettingsError(where, f"name an event {_short(name)}", mend) from None


def _matcher(raw: object, where: str) -> Matcher:
    if raw is None:
        return Matcher()
    if not isinstance(raw, str):
        raise SettingsError(where, f"{_short(raw)} is no text", "write a tool's name or a pattern")
    try:
        return Matcher(raw)
    except BadMatcher as error:
        problem = f"{_short(raw)} is no regular expression: {error}"
        raise SettingsError(where, problem, "write names as A|B, or escape it with \\") from error


def _timeout(event: Event, raw: object, where: str) -> float:
    facts = FACTS[event]
    if raw is None:
        return facts.timeout_s
    good = isinstance(raw, int | float) and not isinstance(raw, bool) and math.isfinite(raw)
    if not good or not 0 < float(raw) <= facts.most_s:  # type: ignore[arg-type]
        mend = f"give seconds above 0 and up to {facts.most_s:,g}"
        raise SettingsError(where, f"{_short(raw)} is no time limit of a {event} hook", mend)
    return float(raw)  # type: ignore[arg-type]


def _on_failure(event: Event, raw: object, where: str) -> OnFailure:
    choices = FACTS[event].broken
    if raw is None:
        return next(iter(choices))
    if raw not in list(choices):
        problem = f"{_short(raw)} is nothing a {event} hook can do when it breaks"
        raise SettingsError(where, problem, f"there is {', '.join(choices)}")
    return OnFailure(str(raw))


def _object(raw: object, where: str) -> Mapping[str, Any]:
    if not isinstance(raw, Mapping):
        raise SettingsError(where, f"{_short(raw)} is no object", "write { ... } there")
    return raw


def _list(raw: object, where: str, what: str) -> Sequence[Any]:
    if not isinstance(raw, list | tuple):
        raise SettingsError(where, f"{_short(raw)} is no list", f"write {what}: [ ... ]")
    return raw


def _short(value: object) -> str:
    text = ascii(value) if not isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else text[:60] + "..."
