"""Which note files the user does not want: patterns over their whole paths, as .gitignore's."""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

from interlock.permissions.globs import BadPattern, compiled


@frozen
class Excluded:
    """`**/vendor/CLAUDE.md`, `/srv/monorepo/other/**`, `AGENTS.md`."""

    patterns: tuple[str, ...] = ()

    def __call__(self, path: Path) -> bool:
        parts = path.absolute().parts[1:]
        return any(_covers(pattern, parts) for pattern in self.patterns)


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
