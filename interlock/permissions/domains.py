"""The host of an address, as it will be connected to; and rules like `domain:example.com`."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

PREFIX = "domain:"
_HOST = re.compile(r"(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\]")


def host_of(address: object) -> str | None:
    """The host, None where two readers of the address could see different ones."""
    if not isinstance(address, str) or re.search(r"[\s\\\x00-\x1f]", address):
        return None
    try:
        parts = urlsplit(address)
        host = parts.hostname
    except ValueError:
        return None
    if parts.scheme.lower() not in ("http", "https") or not host:
        return None
    return _plain(host)


def pattern_of(specifier: str) -> str | None:
    """The host that a specifier names, None if it names none."""
    if not specifier.startswith(PREFIX):
        return None
    host = _plain(specifier.removeprefix(PREFIX).strip())
    return host if host is not None and _HOST.fullmatch(host) else None


def is_at(pattern: str, host: str) -> bool:
    """Whether the host is the one named; `*.example.com` stands for all below it."""
    if pattern.startswith("*."):
        return host.endswith(pattern[1:])
    return host == pattern


def _plain(host: str) -> str | None:
    try:
        return host.rstrip(".").encode("idna").decode().lower()
    except UnicodeError:
        return None
