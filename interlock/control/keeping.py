"""Permission rules that a host wants kept beyond the session: written to settings files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from attrs import frozen

from interlock.configuration import Source
from interlock.configuration.editing import Behaviour, add_rule, destination, remove_rule
from interlock.errors import InterlockError
from interlock.permissions import Update, UpdateKind
from interlock.permissions.updates import Destination

_SOURCES = {
    Destination.USER: Source.USER,
    Destination.PROJECT: Source.PROJECT,
    Destination.LOCAL: Source.LOCAL,
}
_WRITTEN = (UpdateKind.ADD_RULES, UpdateKind.REMOVE_RULES)


@frozen(kw_only=True)
class Keeper:
    """Writes for one session. `tell` hears of what could not be written; it counts all the same
    until the session is over."""

    cwd: Path
    home: Path
    tell: Callable[[str], None]

    def keep(self, update: Update) -> None:
        source = _SOURCES.get(update.destination)
        if source is None:
            return
        if update.kind not in _WRITTEN:
            self.tell(f"{update.kind} is kept for this session only, not in {source} settings")
            return
        file = destination(source, self.cwd, self.home, os.environ)
        change = add_rule if update.kind is UpdateKind.ADD_RULES else remove_rule
        try:
            for rule in update.rules:
                change(file, Behaviour(update.behavior.value), str(rule))
        except (InterlockError, OSError) as error:
            self.tell(f"a permission rule is not kept in {file.shown}: {error}")
