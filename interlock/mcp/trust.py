"""Which servers of a project's files a person has said yes or no to, remembered in their home.

A yes is for a definition as it is written, in its project: a changed word asks anew.
"""

from __future__ import annotations

import os
from pathlib import Path

import orjson
from attrs import frozen

from interlock.mcp.definitions import Definition
from interlock.regular_files import read_regular
from phases.world.messages import Json, encoded

FILE = "mcp-approved.json"


@frozen
class Approvals:
    """What was answered so far; a file that cannot be read holds no answer."""

    home: Path

    def said(self, project: Path, definition: Definition) -> bool | None:
        """None: nobody was asked about this very definition."""
        said = self._read().get(str(project), {}).get(definition.fingerprint)
        return said if isinstance(said, bool) else None

    def remember(self, project: Path, definition: Definition, yes: bool) -> None:
        """Raises OSError where it cannot be written."""
        known = self._read()
        known.setdefault(str(project), {})[definition.fingerprint] = yes
        self.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        part = self._path.with_name(f".{FILE}.{os.getpid()}")
        part.write_bytes(encoded(known))
        part.chmod(0o600)
        part.replace(self._path)

    @property
    def _path(self) -> Path:
        return self.home / FILE

    def _read(self) -> dict[str, dict[str, Json]]:
        try:
            known = orjson.loads(read_regular(self._path))
        except (OSError, ValueError):
            return {}
        if not isinstance(known, dict):
            return {}
        return {name: one for name, one in known.items() if isinstance(one, dict)}
