"""The word by which a server knows who may have it run things: from the environment or a file."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path

from interlock.errors import UsageError

VARIABLE = "INTERLOCK_SERVE_TOKEN"


def file_of(home: Path) -> Path:
    return home / "serve-token"


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def of_server(home: Path, environ: Mapping[str, str], host: str) -> str:
    """The token that a server asks for; a file with one is made for this machine's own use.

    Raises UsageError where others could come in, and no token was chosen.
    """
    given = environ.get(VARIABLE, "").strip()
    if given:
        return given
    if not is_loopback(host):
        raise UsageError(
            f"--host {host} lets other machines in: choose a token and put it into {VARIABLE}"
        )
    path = file_of(home)
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return _read(path)
    token = secrets.token_urlsafe(32)
    with os.fdopen(file, "w") as writing:
        writing.write(f"{token}\n")
    return token


def of_client(home: Path, environ: Mapping[str, str], variable: str | None, host: str) -> str:
    """The token to come in with. Raises UsageError where there is none."""
    given = environ.get(variable or VARIABLE, "").strip()
    if given:
        return given
    if is_loopback(host) and file_of(home).exists():
        return _read(file_of(home))
    raise UsageError(f"no token: {variable or VARIABLE} is not set")


def _read(path: Path) -> str:
    if path.stat().st_mode & 0o077:
        raise UsageError(f"{path} can be read by others; chmod 600 {path}")
    token = path.read_text("utf-8").strip()
    if not token:
        raise UsageError(f"{path} is empty; delete it, and a server makes a new one")
    return token
