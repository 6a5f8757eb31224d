"""What a configuration says of a server: how it is reached, what it may take, who wrote it.

`${NAME}` and `${NAME:-otherwise}` are filled in here. Reads JSON values only; where they lie, and
who is trusted, is for others.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path
from typing import Any

from attrs import field, frozen

from interlock.mcp.oauth import Grant, OAuth
from phases.world.messages import Json, encoded


class Transport(StrEnum):
    """How a server is spoken to."""

    STDIO = "stdio"
    HTTP = "http"
    SSE = "sse"
    IN_PROCESS = "sdk"


class Scope(StrEnum):
    """Who defined a server. Of two with one name the earlier here counts."""

    CODE = "code"
    FLAGS = "flags"
    LOCAL = "local"
    PROJECT = "project"
    USER = "user"
    PLUGIN = "plugin"


class BadDefinition(ValueError):
    """What is written cannot be used; the text says what and how to mend it."""


@frozen(kw_only=True)
class Definition:
    """One server. Times in seconds; None: as the limits say."""

    name: str
    scope: Scope
    transport: Transport
    where: str = ""  # it is written, for a person
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(factory=dict, repr=False)
    cwd: Path | None = None
    url: str = ""
    headers: Mapping[str, str] = field(factory=dict, repr=False)
    headers_helper: str = ""  # a command that prints more of them, as JSON
    oauth: OAuth | None = None
    start_s: float | None = None
    call_s: float | None = None
    required: bool = False  # without it a prompt fails instead of going on
    trusted: bool = False  # what its tools say of themselves is believed
    legacy: bool = False  # speak the old handshake at once, for servers that break on the new
    program: object = field(default=None, eq=False, repr=False)  # one in this process
    fingerprint: str = ""  # of what is written, for trust


_VARIABLE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<otherwise>[^}]*))?\}")
_TYPES = {
    "stdio": Transport.STDIO,
    "http": Transport.HTTP,
    "streamable-http": Transport.HTTP,
    "sse": Transport.SSE,
}
_KEYS = {
    "stdio": {"command", "args", "env", "cwd"},
    "http": {"url", "headers", "headersHelper", "oauth"},
    "sse": {"url", "headers", "headersHelper", "oauth"},
}
_OAUTH = (
    "grant",
    "clientId",
    "clientSecret",
    "clientSecretHelper",
    "scopes",
    "issuer",
    "callbackPort",
)
_NEAR = 0.6  # how alike a misspelt key is to the one that was meant
_ANY = {"type", "timeout", "startupTimeout", "required", "trusted", "protocol"}


def fingerprint(name: str, raw: Json) -> str:
    """Of a definition as it is written: trust ends when a word of it changes."""
    return hashlib.sha256(encoded([name, raw])).hexdigest()


def unheard(raw: Json) -> Iterator[str]:
    """What is written of a server and means nothing here, each in a few words."""
    known = sorted(_ANY.union(*_KEYS.values()))
    for key in raw if isinstance(raw, Mapping) else ():
        if key not in known:
            near = get_close_matches(key, known, n=1, cutoff=_NEAR)
            yield f"{key!r} means nothing here" + (f"; {near[0]!r} does" if near else "")


def expanded(text: str, environ: Mapping[str, str]) -> str:
    """`text` with its variables filled in. Raises BadDefinition for one that is not set."""

    def value(match: re.Match[str]) -> str:
        name, otherwise = match["name"], match["otherwise"]
        found = environ.get(name)
        if found:
            return found
        if otherwise is not None:
            return otherwise
        if found is not None:
            return ""
        raise BadDefinition(
            f"names ${{{name}}}, which is not set; set it, or write ${{{name}:-otherwise}}"
        )

    return _VARIABLE.sub(value, text)


def parsed(
    name: str,
    raw: Json,
    *,
    scope: Scope,
    environ: Mapping[str, str],
    where: str = "",
    folder: Path | None = None,
) -> Definition:
    """The definition that `raw` is. `folder` is what a relative `cwd` counts from.

    Raises BadDefinition.
    """
    if not name.strip() or len(name) > 200 or not name.isprintable():
        raise BadDefinition("has no name that can be shown; name it with letters, digits and -")
    if not isinstance(raw, Mapping):
        raise BadDefinition('is no object; write {"command": "…"} or {"type": "http", "url": "…"}')
    transport = _transport(raw)
    read = _Reader(raw, environ)
    read.insist_on_known(_KEYS[transport.value] | _ANY)
    common: dict[str, Any] = {
        "name": name,
        "scope": scope,
        "transport": transport,
        "where": where,
        "start_s": read.milliseconds("startupTimeout"),
        "call_s": read.milliseconds("timeout"),
        "required": read.switch("required"),
        # A repository must not be able to vouch for itself; nor must a plugin, written by others.
        "trusted": read.switch("trusted") and scope not in (Scope.PROJECT, Scope.PLUGIN),
        "legacy": _legacy(raw),
        "fingerprint": fingerprint(name, raw),
    }
    if transport is Transport.STDIO:
        return Definition(**common, **_command(read, folder))
    return Definition(**common, **_address(read, raw, environ))


def _command(read: _Reader, folder: Path | None) -> dict[str, Any]:
    cwd = read.text("cwd", needed=False)
    return {
        "command": read.text("command"),
        "args": tuple(read.texts("args")),
        "env": read.pairs("env"),
        "cwd": (folder or Path.cwd()) / cwd if cwd else None,
    }


def _address(read: _Reader, raw: Mapping[str, Json], environ: Mapping[str, str]) -> dict[str, Any]:
    url = read.text("url")
    if not url.lower().startswith(("http://", "https://")):
        raise BadDefinition(f"has the url {url!r}; write one that begins with https://")
    return {
        "url": url,
        "headers": read.pairs("headers"),
        "headers_helper": read.text("headersHelper", needed=False),
        "oauth": _oauth(raw["oauth"], environ) if raw.get("oauth") is not None else None,
    }


def _transport(raw: Mapping[str, Json]) -> Transport:
    kind = raw.get("type")
    if kind is None:
        kind = "http" if "url" in raw and "command" not in raw else "stdio"
    if not isinstance(kind, str) or kind not in _TYPES:
        raise BadDefinition(f"has the type {kind!r}; write one of stdio, http, sse")
    return _TYPES[kind]


def _oauth(raw: Json, environ: Mapping[str, str]) -> OAuth:
    if not isinstance(raw, Mapping):
        raise BadDefinition('has an oauth that is no object; write {"clientId": "…"}')
    read = _Reader(raw, environ)
    unknown = sorted(raw.keys() - _OAUTH)
    if unknown:
        raise BadDefinition(f"has {unknown[0]!r} in oauth; there are {', '.join(_OAUTH)}")
    grant = raw.get("grant", Grant.PERSON.value)
    if grant not in list(Grant):
        raise BadDefinition(f"has the grant {grant!r}; write {' or '.join(Grant)}")
    port = raw.get("callbackPort", 0)
    if isinstance(port, bool) or not isinstance(port, int) or not 0 <= port < 65_536:
        raise BadDefinition("has a callbackPort that is no port")
    program = grant == Grant.PROGRAM
    made = OAuth(
        grant=Grant(grant),
        client_id=read.text("clientId", needed=program),
        secret=read.text("clientSecret", needed=False),
        secret_helper=read.text("clientSecretHelper", needed=False),
        scopes=read.text("scopes", needed=False),
        issuer=read.text("issuer", needed=program),
        port=port,
    )
    if program and not made.secret and not made.secret_helper:
        raise BadDefinition(
            'has no clientSecret in oauth; write "${NAME}" of a variable, or a clientSecretHelper'
        )
    return made


def _legacy(raw: Mapping[str, Json]) -> bool:
    protocol = raw.get("protocol", "auto")
    if protocol not in ("auto", "legacy"):
        raise BadDefinition(f"has the protocol {protocol!r}; write auto or legacy")
    return bool(protocol == "legacy")


@frozen
class _Reader:
    raw: Mapping[str, Json]
    environ: Mapping[str, str]

    def insist_on_known(self, known: set[str]) -> None:
        """A misspelt key that is passed over would start another server than was meant."""
        for key in self.raw.keys() - known:
            other = any(key in keys for keys in _KEYS.values())
            if other:
                raise BadDefinition(f"has {key!r}, which its type does not know")

    def text(self, key: str, *, needed: bool = True) -> str:
        value = self.raw.get(key)
        if value is None and not needed:
            return ""
        if not isinstance(value, str) or not value.strip():
            raise BadDefinition(f'has no {key}; write "{key}": "…"')
        return expanded(value, self.environ)

    def texts(self, key: str) -> Iterator[str]:
        value = self.raw.get(key) or []
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise BadDefinition(f'has {key} that are no list of strings; write "{key}": ["…"]')
        for one in value:
            yield expanded(one, self.environ)

    def pairs(self, key: str) -> dict[str, str]:
        value = self.raw.get(key) or {}
        if not isinstance(value, Mapping) or not all(isinstance(v, str) for v in value.values()):
            raise BadDefinition(f'has {key} that is no object of strings; write "{key}": {{…}}')
        return {name: expanded(text, self.environ) for name, text in value.items()}

    def milliseconds(self, key: str) -> float | None:
        value = self.raw.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
            raise BadDefinition(f"has a {key} that is no number of milliseconds above 0")
        return float(value) / 1000

    def switch(self, key: str) -> bool:
        value = self.raw.get(key, False)
        if not isinstance(value, bool):
            raise BadDefinition(f"has a {key} that is neither true nor false")
        return value
