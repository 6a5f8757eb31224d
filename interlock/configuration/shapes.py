"""What a value may look like. A shape reads one node and tells the settings in it, or the faults.

Knows JSON, modes, limits and features; nothing of files, of who wins, or of what a rule means.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from typing import Any, TypeAlias, get_type_hints
from urllib.parse import urlsplit

import attrs
from attrs import frozen

from interlock.configuration.files import Document
from interlock.configuration.json_text import Array, Member, Node, Object, Scalar, kind
from interlock.durability import Fsync
from interlock.options import PermissionMode, RemotePlace
from phases.world.limits import Limits
from phases.world.loop import Features
from phases.world.messages import Json


@frozen(kw_only=True)
class Item:
    """One setting that was read: an entry of a list, a variable, a number, a whole object."""

    value: Json
    node: Node
    name: str = ""  # of a variable, limit or feature


@frozen(kw_only=True)
class Fault:
    """Something wrong with a node, and what would mend it."""

    node: Node
    problem: str
    mend: str
    name: str = ""  # of the variable, limit or feature


_REMOTE_NAME = re.compile(r"[A-Za-z0-9][\w-]{0,63}")

Read: TypeAlias = Iterator[Item | Fault]
Shape: TypeAlias = Callable[[Document, Node], Read]

# Known to users of other tools, not offered here; the default asks more, so nothing is lost.
_OTHER_MODES = frozenset({"auto", "delegate", "manual"})


def text(document: Document, node: Node) -> Read:
    if isinstance(node, Scalar) and isinstance(node.value, str) and node.value.strip():
        yield Item(value=node.value.strip(), node=node)
    else:
        yield _unlike(node, 'a string: "…"')


def switch(document: Document, node: Node) -> Read:
    if isinstance(node, Scalar) and isinstance(node.value, bool):
        yield Item(value=node.value, node=node)
    else:
        yield _unlike(node, "true or false")


def disable(document: Document, node: Node) -> Read:
    if isinstance(node, Scalar) and node.value == "disable":
        yield Item(value=True, node=node)
    else:
        yield _unlike(node, '"disable", or leave it out')


def texts(document: Document, node: Node) -> Read:
    """A list of strings, each a setting of its own."""
    if not isinstance(node, Array):
        yield _unlike(node, 'a list of strings: ["…"]')
        return
    for item in node.items:
        yield from text(document, item)


def models(document: Document, node: Node) -> Read:
    """A list of models, which is one setting: their order is what it says."""
    items = node.items if isinstance(node, Array) else (node,)
    found = [one for item in items for one in text(document, item)]
    faults = [one for one in found if isinstance(one, Fault)]
    if faults or not found:
        yield from faults or [_unlike(node, 'a list of models: ["…"]')]
    else:
        yield Item(value=tuple(one.value for one in found if isinstance(one, Item)), node=node)


def mode(document: Document, node: Node) -> Read:
    known = [each.value for each in PermissionMode]
    value = node.value if isinstance(node, Scalar) else None
    if value in known:
        yield Item(value=PermissionMode(str(value)), node=node)
    elif value in _OTHER_MODES:
        yield Item(value=PermissionMode.DEFAULT, node=node)
    else:
        yield _unlike(node, f"one of {', '.join(known)}")


def variables(document: Document, node: Node) -> Read:
    if not isinstance(node, Object):
        yield _unlike(node, 'an object of variables: {"NAME": "value"}')
        return
    for member in node.members:
        value = _variable(document, member.value)
        if not member.name or "=" in member.name or "\0" in member.name:
            mend = "name it with letters, digits and _"
            yield Fault(node=member.key, problem="holds a name that is none", mend=mend)
        elif value is None or "\0" in value:
            yield _unlike(member.value, 'a string: "…"', name=member.name)
        else:
            yield Item(value=value, node=member.value, name=member.name)


def _variable(document: Document, node: Node) -> str | None:
    """Numbers, true and false as they are written: that is what was meant."""
    if not isinstance(node, Scalar) or node.value is None:
        return None
    return node.value if isinstance(node.value, str) else document.source_of(node)


def whole_object(document: Document, node: Node) -> Read:
    """For another reader, which knows what may stand in it."""
    if isinstance(node, Object):
        yield Item(value=node, node=node)
    else:
        yield _unlike(node, "an object: {…}")


def remotes(document: Document, node: Node) -> Read:
    """Each a setting of its own, with url and perhaps tokenEnv."""
    if not isinstance(node, Object):
        yield _unlike(node, 'an object of names: {"gpu": {"url": "https://…"}}')
        return
    for member in node.members:
        yield _remote(document, member)


def _remote(document: Document, member: Member) -> Item | Fault:
    name, node = member.name, member.value
    shape = '{"url": "https://…", "tokenEnv": "NAME"}'
    if not _REMOTE_NAME.fullmatch(name):
        mend = "name it with letters, digits, - and _"
        return Fault(node=member.key, problem=f"holds the name {name!r}", mend=mend)
    if not isinstance(node, Object):
        return _unlike(node, f"an object: {shape}", name=name)
    given: dict[str, str] = {}
    for each in node.members:
        if each.name not in ("url", "tokenEnv"):
            problem = f"holds {each.name!r}"
            return Fault(node=each.key, problem=problem, mend=f"write {shape}", name=name)
        for read in text(document, each.value):
            if isinstance(read, Fault):
                return attrs.evolve(read, name=f"{name}.{each.name}")
            given[each.name] = str(read.value)
    wrong = unusable_url(given["url"]) if "url" in given else "has no url"
    if wrong is not None:
        return Fault(node=node, problem=wrong, mend=f"write {shape}", name=name)
    place = RemotePlace(url=given["url"].rstrip("/"), token_env=given.get("tokenEnv"))
    return Item(value=place, node=node, name=name)


def unusable_url(url: str) -> str | None:
    """Why a remote cannot be reached there; None if it can."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return f"has an url that is none: {url!r}"
    if parts.scheme not in ("http", "https") or not host or parts.username or parts.query:
        return f"has an url that is none: {url!r}"
    if parts.scheme == "http" and host not in ("localhost", "127.0.0.1", "::1"):
        return "would be sent its token in the clear: http is for this machine only"
    return None


def hooks(document: Document, node: Node) -> Read:
    """The outer shape only: event, then a list of objects with a list of hooks each."""
    if not isinstance(node, Object):
        yield _unlike(node, 'an object: {"PreToolUse": […]}')
        return
    faults = [fault for event in node.members for fault in _event(event.value)]
    if faults:
        yield from faults
    else:
        yield Item(value=node, node=node)


def _event(node: Node) -> Iterator[Fault]:
    shape = '[{"matcher": "…", "hooks": [{"type": "command", "command": "…"}]}]'
    if not isinstance(node, Array):
        yield _unlike(node, f"a list: {shape}")
        return
    for group in node.items:
        inner = group.get("hooks") if isinstance(group, Object) else None
        if not isinstance(group, Object) or inner is None:
            yield Fault(node=group, problem="holds no list of hooks", mend=f"write {shape}")
        elif not isinstance(inner, Array):
            yield _unlike(inner, 'a list: [{"type": "command", "command": "…"}]')
        else:
            yield from (
                _unlike(one, 'an object: {"type": "command", "command": "…"}')
                for one in inner.items
                if not isinstance(one, Object)
            )


# --- our own numbers and switches -------------------------------------------------------------


def limits(document: Document, node: Node) -> Read:
    known = {limit.name: limit for limit in attrs.fields(Limits)}
    hints = get_type_hints(Limits)
    for name, value in _named(node, known):
        if isinstance(value, Fault):
            yield value
            continue
        wanted = _wanted(known[name], whole=hints[name] is int)
        number = value.value if isinstance(value, Scalar) else None
        if isinstance(number, bool) or not _fits(number, known[name], hints[name] is int):
            yield _unlike(value, wanted, name=name)
        else:
            yield Item(value=document.source_of(value), node=value, name=name)


def features(document: Document, node: Node) -> Read:
    for name, value in _named(node, {feature.name for feature in attrs.fields(Features)}):
        if isinstance(value, Fault):
            yield value
            continue
        for found in switch(document, value):
            on = isinstance(found, Item) and found.value
            word = "on" if on else "off"
            if isinstance(found, Fault):
                yield attrs.evolve(found, name=name)
            else:
                yield Item(value=word, node=value, name=name)


def fsync(document: Document, node: Node) -> Read:
    if isinstance(node, Scalar) and node.value in set(Fsync):
        yield Item(value=str(node.value), node=node, name="fsync")
    else:
        yield _unlike(node, f"one of {', '.join(Fsync)}")


def days(document: Document, node: Node) -> Read:
    number = node.value if isinstance(node, Scalar) else None
    if isinstance(number, int) and not isinstance(number, bool) and number >= 1:
        yield Item(value=str(number), node=node, name="cleanup_days")
    else:
        # In other agents 0 has meant to keep all, and to keep nothing.
        yield _unlike(node, "a whole number of days from 1 up; 99999 keeps all")


def _named(node: Node, known: Any) -> Iterator[tuple[str, Node | Fault]]:
    if not isinstance(node, Object):
        yield "", _unlike(node, "an object of names and values: {…}")
        return
    for member in node.members:
        if member.name in known:
            yield member.name, member.value
        else:
            mend = meant(member.name, known) or "see interlock config show"
            fault = Fault(node=member.key, problem="does not exist", mend=mend, name=member.name)
            yield member.name, fault


def _fits(number: object, limit: attrs.Attribute[Any], whole: bool) -> bool:
    if not isinstance(number, int if whole else (int, float)) or not math.isfinite(number):
        return False
    least = 0 if limit.metadata["zero"] else (1 if whole else math.ulp(0))
    return number >= least and (number <= 1 or not limit.metadata["share"])


def _wanted(limit: attrs.Attribute[Any], *, whole: bool) -> str:
    if limit.metadata["share"]:
        return "a number from 0 to 1"
    if whole:
        return f"a whole number from {0 if limit.metadata['zero'] else 1} up"
    return "0 or a number above it" if limit.metadata["zero"] else "a number above 0"


def meant(name: str, known: Any) -> str | None:
    """`did you mean …?` for a name that comes near one that is known."""
    by_fold = {each.lower(): each for each in known}
    near = get_close_matches(name.lower(), by_fold, n=1, cutoff=0.75)
    return f"did you mean {by_fold[near[0]]}?" if near else None


def _unlike(node: Node, wanted: str, *, name: str = "") -> Fault:
    shown = kind(node)
    match node:
        case Scalar(value=str(value)) if not value.strip():
            shown = "empty"
        case Scalar(value=str() | int() | float() as value) if not isinstance(value, bool):
            shown = repr(value) if len(repr(value)) <= 40 else f"{repr(value)[:40]}…"
    return Fault(node=node, problem=f"is {shown}", mend=f"write {wanted}", name=name)
