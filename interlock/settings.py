"""Settings from the environment, read once and checked at the door.

Pure: the environment is an argument, no file is opened. A value that cannot be used is refused
with one line that says what, where, and how to mend it. The limits themselves, with their
reasons, are in `phases/world/limits.py`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_type_hints
from urllib.parse import urlsplit

import attrs
from attrs import frozen

from interlock.durability import Disk, Fsync
from interlock.errors import SettingsError
from interlock.home import home_of
from phases.world.limits import Limits
from phases.world.loop import Features

# Our own name goes before the one users know, which switches off.
CHECKPOINTING = ("INTERLOCK_FILE_CHECKPOINTING", "CLAUDE_CODE_DISABLE_FILE_CHECKPOINTING")
_OFF = frozenset({"", "0", "false", "no", "off"})
_ON = frozenset({"1", "true", "yes", "on"})


@frozen(kw_only=True)
class Settings:
    """What the environment says. None: it says nothing."""

    home: Path
    limits: Limits
    own_limits: frozenset[str] = attrs.field(default=frozenset(), eq=False)  # set by the user
    features: Features = attrs.field(factory=Features)
    api_key: str | None = attrs.field(default=None, repr=False)
    auth_token: str | None = attrs.field(default=None, repr=False)
    base_url: str | None = None
    model: str | None = None
    small_model: str | None = None  # for captions of tools; None: there are none
    families: Mapping[str, str] = attrs.field(factory=dict)  # the model meant by `sonnet`, say
    subagent_model: str | None = None  # for all sub-agents, whatever their type says
    output_cap: int | None = None  # tokens
    max_thinking_tokens: int | None = None  # 0: thinking is off
    bash_default_timeout_s: float = 120.0
    bash_max_timeout_s: float = 600.0
    structured_attempts: int = 5  # to answer as a JSON Schema wants it
    web_allow: frozenset[str] = frozenset()  # hosts that WebFetch may reach beside public ones
    tool_references: bool = True  # whether the API loads tools that a result refers to
    entrypoint: str = "cli"
    file_checkpointing: bool = True  # what the agent changes can be taken back
    record: bool = True  # each run, so that it can be run again to the byte
    cleanup_days: int = 30  # how long a session is kept that nobody goes on with
    disk: Disk = attrs.field(factory=Disk)
    auto_memory: bool | None = None
    debug: bool = False

    @classmethod
    def of(cls, environ: Mapping[str, str]) -> Settings:
        """Read `environ`. Raises SettingsError for the first value that cannot be used."""
        read = _Reader(environ)
        default_s = read.milliseconds("BASH_DEFAULT_TIMEOUT_MS", 120.0)
        return cls(
            home=home_of(environ),
            limits=limits_of(environ),
            own_limits=frozenset(
                limit.name for limit in attrs.fields(Limits) if _name_set(limit, environ)
            ),
            features=features_of(environ),
            api_key=read.text("ANTHROPIC_API_KEY"),
            auth_token=read.text("ANTHROPIC_AUTH_TOKEN"),
            base_url=read.url("ANTHROPIC_BASE_URL"),
            model=read.text("ANTHROPIC_MODEL"),
            small_model=_small_model(read),
            families=_families(read),
            subagent_model=read.text("CLAUDE_CODE_SUBAGENT_MODEL"),
            output_cap=read.whole("CLAUDE_CODE_MAX_OUTPUT_TOKENS", least=1),
            max_thinking_tokens=read.whole("MAX_THINKING_TOKENS", least=0),
            bash_default_timeout_s=default_s,
            # A default above the maximum raises it: who asks for the one means the other too.
            bash_max_timeout_s=max(default_s, read.milliseconds("BASH_MAX_TIMEOUT_MS", 600.0)),
            structured_attempts=read.whole("MAX_STRUCTURED_OUTPUT_RETRIES", least=1) or 5,
            web_allow=read.hosts("INTERLOCK_WEB_ALLOW"),
            tool_references=_knows_references(read),
            entrypoint=read.text("CLAUDE_CODE_ENTRYPOINT") or "cli",
            file_checkpointing=_checkpointing(read),
            record=read.switch("INTERLOCK_RECORD") is not False,
            cleanup_days=read.whole("INTERLOCK_CLEANUP_DAYS", least=1) or 30,
            disk=Disk(read.fsync("INTERLOCK_FSYNC")),
            auto_memory=_auto_memory(read),
            debug=environ.get("INTERLOCK_DEBUG", "").lower() not in _OFF,
        )


def _knows_references(read: _Reader) -> bool:
    """Anthropic's own API does; of any other, only its user knows."""
    said = read.switch("INTERLOCK_TOOL_REFERENCES")
    if said is not None:
        return said
    host = urlsplit(read.url("ANTHROPIC_BASE_URL") or "https://api.anthropic.com").hostname or ""
    return host == "anthropic.com" or host.endswith(".anthropic.com")


def _small_model(read: _Reader) -> str | None:
    """Our own name goes before the one users know, also to say `off`."""
    name = read.text("INTERLOCK_SMALL_MODEL") or read.text("ANTHROPIC_SMALL_FAST_MODEL")
    return None if name is None or name.lower() in _OFF else name


def _checkpointing(read: _Reader) -> bool:
    on, off = (read.switch(name) for name in CHECKPOINTING)
    return not off if on is None else on


def _families(read: _Reader) -> dict[str, str]:
    """The models that short names stand for."""
    names = {
        family: read.text(f"ANTHROPIC_DEFAULT_{family.upper()}_MODEL")
        for family in ("fable", "opus", "sonnet", "haiku")
    }
    return {family: name for family, name in names.items() if name is not None}


def _auto_memory(read: _Reader) -> bool | None:
    ours = read.switch("INTERLOCK_AUTO_MEMORY")
    if ours is not None:
        return ours
    off = read.switch("CLAUDE_CODE_DISABLE_AUTO_MEMORY")
    return None if off is None else not off


def env_names(limit: attrs.Attribute[Any]) -> tuple[str, ...]:
    """The environment names of a limit, the first one that is set counts."""
    known = limit.metadata.get("env")
    ours = f"INTERLOCK_{limit.name.upper()}"
    return (ours, known) if known else (ours,)


def _name_set(limit: attrs.Attribute[Any], environ: Mapping[str, str]) -> str | None:
    return next((name for name in env_names(limit) if environ.get(name, "").strip()), None)


def limits_of(environ: Mapping[str, str]) -> Limits:
    """The limits in force. Raises SettingsError."""
    read = _Reader(environ)
    hints = get_type_hints(Limits)
    given: dict[str, Any] = {}
    for limit in attrs.fields(Limits):
        name = _name_set(limit, environ)
        if name is None:
            continue
        least = 0 if limit.metadata["zero"] else 1
        if limit.metadata["milliseconds"] and name == limit.metadata["env"]:
            value: int | float | None = read.milliseconds(name, 0.0)
        elif hints[limit.name] is int:
            value = read.whole(name, least=least)
        else:
            value = read.number(name, positive=bool(least), share=limit.metadata["share"])
        if value is not None:
            given[limit.name] = value
    limits = Limits(**given)
    if limits.window_reserve >= limits.context_window:
        raise SettingsError(
            "INTERLOCK_CONTEXT_WINDOW",
            f"is {limits.context_window}, which the reserve of {limits.window_reserve} uses up",
            "set a larger window or a smaller INTERLOCK_WINDOW_RESERVE",
        )
    return limits


def features_of(environ: Mapping[str, str]) -> Features:
    """The features in force. Raises SettingsError."""
    read = _Reader(environ)
    given = {
        feature.name: value
        for feature in attrs.fields(Features)
        if (value := read.switch(f"INTERLOCK_{feature.name.upper()}")) is not None
    }
    return Features(**given)


@frozen
class _Reader:
    environ: Mapping[str, str]

    def text(self, name: str) -> str | None:
        return self.environ.get(name, "").strip() or None

    def whole(self, name: str, *, least: int) -> int | None:
        text = self.text(name)
        if text is None:
            return None
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise SettingsError(
                name, f"is {_quoted(text)}", f"set a whole number from {least} up, or unset it"
            )
        return value

    def number(self, name: str, *, positive: bool = False, share: bool = False) -> float | None:
        text = self.text(name)
        if text is None:
            return None
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if (
            not math.isfinite(value)
            or value < 0
            or (positive and not value)
            or (share and value > 1)
        ):
            wanted = "a number from 0 to 1" if share else "a number above 0"
            if not share and not positive:
                wanted = "0 or a number above it"
            raise SettingsError(name, f"is {_quoted(text)}", f"set {wanted}, or unset it")
        return value

    def switch(self, name: str) -> bool | None:
        text = self.text(name)
        if text is None:
            return None
        if text.lower() not in _ON | _OFF:
            raise SettingsError(name, f"is {_quoted(text)}", "set on or off, or unset it")
        return text.lower() in _ON

    def fsync(self, name: str) -> Fsync:
        text = (self.text(name) or Fsync.REQUEST).lower()
        if text not in set(Fsync):
            wanted = f"set one of {', '.join(Fsync)}, or unset it"
            raise SettingsError(name, f"is {_quoted(text)}", wanted)
        return Fsync(text)

    def milliseconds(self, name: str, default_s: float) -> float:
        value = self.whole(name, least=1)
        return default_s if value is None else value / 1000

    def hosts(self, name: str) -> frozenset[str]:
        """Hosts as `docs.internal` or `localhost:8000`, separated by commas or blanks."""
        hosts = (self.text(name) or "").replace(",", " ").lower().split()
        for host in hosts:
            if "/" in host or "*" in host or not _names_a_server(f"http://{host}"):
                wanted = "set host names, with a port if need be: localhost:8000, docs.internal"
                raise SettingsError(name, f"holds {_quoted(host)}", wanted)
        return frozenset(hosts)

    def url(self, name: str) -> str | None:
        text = self.text(name)
        if text is None:
            return None
        if not text.lower().startswith(("http://", "https://")):
            raise SettingsError(
                name, f"is {_quoted(text)}", "set an address that begins with http:// or https://"
            )
        if not _names_a_server(text):
            # Found out only by connecting, it would be an error without a line of ours.
            raise SettingsError(
                name,
                f"is {_quoted(text)}",
                "set an address with a host and, if any, a port from 1 to 65535",
            )
        return text


def _names_a_server(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number or too large, a bracket left open
        return False


def _quoted(text: str) -> str:
    short = text if len(text) <= 40 else f"{text[:40]}…"
    return repr(short)
