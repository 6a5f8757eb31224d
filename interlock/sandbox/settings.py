"""The `sandbox` object of a settings file, read strictly: a typing error must not mean less."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from attrs import asdict

from interlock.sandbox.policy import SandboxSettings

_LISTS = {
    ("filesystem", "allowWrite"): "allow_write",
    ("filesystem", "denyWrite"): "deny_write",
    ("filesystem", "denyRead"): "deny_read",
    ("network", "allowedDomains"): "domains",
}
_FLAGS = {
    ("enabled",): "enabled",
    ("autoAllowBashIfSandboxed",): "auto_allow",
    ("network", "allowAll"): "allow_network",
}
_NARROWING = (("filesystem", "denyWrite"), ("filesystem", "denyRead"))
_NARROWING_SO = ((("enabled",), True), (("autoAllowBashIfSandboxed",), False))
# Known to users of such files, and without effect here.
_IGNORED = frozenset(
    {
        ("allowUnsandboxedCommands",),
        ("enableWeakerNestedSandbox",),
        ("excludedCommands",),
        ("ignoreViolations",),
        ("network", "allowAllUnixSockets"),
        ("network", "allowLocalBinding"),
        ("network", "allowUnixSockets"),
        ("network", "httpProxyPort"),
        ("network", "socksProxyPort"),
    }
)
_OBJECTS = ("filesystem", "network")


class BadSandbox(ValueError):
    """`place` is the path of keys to what cannot be used."""

    def __init__(self, place: tuple[str, ...], problem: str) -> None:
        self.place = place
        super().__init__(f"sandbox.{'.'.join(place)} {problem}")


def parse(raw: Mapping[str, Any], before: SandboxSettings | None = None) -> SandboxSettings:
    """The settings of one file over those of others: lists add up, flags replace.

    Raises BadSandbox.
    """
    known = asdict(before or SandboxSettings())
    for place, value in _walked(raw, ()):
        if place in _FLAGS:
            if not isinstance(value, bool):
                raise BadSandbox(place, f"is true or false, not {value!r}")
            known[_FLAGS[place]] = value
        elif place in _LISTS:
            if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
                raise BadSandbox(place, f"is a list of strings, not {value!r}")
            known[_LISTS[place]] = (*known[_LISTS[place]], *value)
        elif place not in _IGNORED:
            raise BadSandbox(place, _unknown(place))
    return SandboxSettings(**known)


def ignored(raw: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of what is known and has no effect here."""
    return tuple(
        f"sandbox.{'.'.join(place)}" for place, _ in _walked(raw, ()) if place in _IGNORED
    )


def tightening(raw: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Of one file's settings what only makes the sandbox narrower, and the names of the rest."""
    kept: dict[str, Any] = {}
    loosening: list[str] = []
    for place, value in _walked(raw, ()):
        narrower = place in _IGNORED or place in _NARROWING or (place, value) in _NARROWING_SO
        if not narrower:
            loosening.append(f"sandbox.{'.'.join(place)}")
            continue
        inner = kept
        for key in place[:-1]:
            inner = inner.setdefault(key, {})
        inner[place[-1]] = value
    return kept, tuple(loosening)


def _walked(raw: Mapping[str, Any], place: tuple[str, ...]) -> list[tuple[tuple[str, ...], Any]]:
    found: list[tuple[tuple[str, ...], Any]] = []
    for key, value in raw.items():
        here = (*place, str(key))
        if not place and key in _OBJECTS:
            if not isinstance(value, Mapping):
                raise BadSandbox(here, f"is an object, not {value!r}")
            found += _walked(value, here)
        else:
            found.append((here, value))
    return found


def _unknown(place: tuple[str, ...]) -> str:
    known = [key[-1] for key in (*_LISTS, *_FLAGS) if key[:-1] == place[:-1]]
    near = get_close_matches(place[-1], known, n=1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
    return f"is not known; {hint}"
