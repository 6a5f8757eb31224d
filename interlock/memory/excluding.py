"""Which note files the user does not want: patterns over their whole paths, as .gitignore's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from attrs import frozen

from interlock.permissions.globs import BadPattern, compiled


@frozen
class Excluded:
    """`**/vendor/CLAUDE.md`, `/srv/monorepo/other/**`, `AGENTS.md`."""

    patterns: tuple[str, ...] = ()
    copy: tuple[Path, Path] | None = None  # of a folder, and that folder: patterns may name either

    def __call__(self, path: Path) -> bool:
        return any(
            _covers(pattern, name.parts[1:])
            for name in self._names(path.absolute())
            for pattern in self.patterns
        )

    def _names(self, path: Path) -> Iterator[Path]:
        yield path
        if self.copy is not None and path.is_relative_to(self.copy[0]):
            yield self.copy[1] / path.relative_to(self.copy[0])


NOTHING = Excluded()


def _covers(pattern: str, parts: tuple[str, ...]) -> bool:
    try:
        return compiled(str(Path(pattern).expanduser())).covers(parts)
    except (BadPattern, RuntimeError):
        return False


def problem_of(pattern: str) -> str | None:
    """Why a pattern matches nothing, or None."""
    try:
        compiled(pattern)
    except BadPattern as error:
        return str(error)
    return None
