"""What a login gave, kept in a file that only its user may read.

Kept for a name and an address together: another server of that name gets nothing. Knows JSON
only; what it means is `granting`'s.
"""

from __future__ import annotations

import os
from pathlib import Path

import orjson
from attrs import field, frozen
from cattrs import ClassValidationError
from cattrs.preconf.orjson import make_converter

from interlock.mcp.definitions import Definition
from phases.world.messages import Json, encoded

FILE = "mcp-tokens.json"
_converter = make_converter()


@frozen(kw_only=True)
class Login:
    """The package's own records, as JSON. `ends` is in seconds since the epoch, None: unknown."""

    tokens: dict[str, Json] = field(repr=False)
    client: dict[str, Json] = field(repr=False)
    metadata: dict[str, Json] | None = None  # of the server that gave them
    ends: float | None = None


@frozen
class Tokens:
    """The logins of one user; a file that cannot be read holds none."""

    home: Path

    def of(self, definition: Definition) -> Login | None:
        try:
            return _converter.structure(self._read().get(_key(definition)), Login)
        except (ClassValidationError, TypeError, ValueError):
            return None

    def keep(self, definition: Definition, login: Login) -> None:
        """Raises OSError where it cannot be written."""
        self._write({**self._read(), _key(definition): _converter.unstructure(login)})

    def forget(self, definition: Definition) -> bool:
        """Whether there was one. Raises OSError."""
        known = self._read()
        there = known.pop(_key(definition), None) is not None
        if there:
            self._write(known)
        return there

    @property
    def _path(self) -> Path:
        return self.home / FILE

    def _read(self) -> dict[str, Json]:
        try:
            known = orjson.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}

    def _write(self, known: dict[str, Json]) -> None:
        self.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        part = self._path.with_name(f".{FILE}.{os.getpid()}")
        part.unlink(missing_ok=True)
        # Never readable to others, not even before its mode is set.
        with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(encoded(known))
        part.replace(self._path)


def _key(definition: Definition) -> str:
    return f"{definition.name} {definition.url}"
