"""The files of a plugin: found where the layout or the manifest says, and never outside of it.

A link or a `..` that leads out of the folder would make something part of a plugin that whoever
looked at the folder has not seen.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from attrs import define, field

from interlock.plugins.plugin import Problem, Sort

MOST = 500  # files of one folder; a plugin with more holds something else


@define(kw_only=True)
class Contained:
    """One plugin's folder, and what was found to be wrong in it."""

    folder: Path
    plugin: str = ""
    problems: list[Problem] = field(factory=list)
    _real: str = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.plugin = self.plugin or self.folder.name
        self._real = os.path.realpath(self.folder)

    def refuse(self, words: str, sort: Sort = Sort.COMPONENT) -> None:
        self.problems.append(Problem(plugin=self.plugin, sort=sort, words=words))

    def named(self, written: str, where: str) -> Path | None:
        """What a path of the manifest means; None, and a problem, where it cannot be."""
        path = self.folder / written
        if "\0" in written or not written.strip():
            self.refuse(f'{where}: {written!r} is no path; write "./folder"')
        elif Path(written).is_absolute() or not self._holds(path):
            self.refuse(
                f"{where}: {written!r} leads out of the plugin; move it into {self.folder}"
            )
        elif not os.path.exists(path):  # noqa: PTH110 (Path.exists raises for a closed folder)
            self.refuse(
                f"{where}: {written!r} is not there; write the path from {self.folder}",
                Sort.FOLDER,
            )
        else:
            return path
        return None

    def files(self, folder: Path, pattern: str) -> list[Path]:
        """The files of a folder that match, those that lie in the plugin."""
        found = list(islice(self._matching(folder, pattern), MOST + 1))
        if len(found) > MOST:
            self.refuse(f"{folder}: more than {MOST} files; the others are left out")
        return [path for path in sorted(found[:MOST]) if self.keeps(path)]

    def keeps(self, path: Path) -> bool:
        """Whether this file is the plugin's own; a problem where it is not."""
        if self._holds(path):
            return True
        self.refuse(
            f"{path}: leads out of the plugin, to {os.path.realpath(path)}; put the file there"
        )
        return False

    def _matching(self, folder: Path, pattern: str) -> Iterator[Path]:
        try:
            yield from (path for path in folder.glob(pattern) if not path.is_dir())
        except OSError as error:
            self.refuse(f"{folder}: cannot be read ({error.strerror}); make it readable")

    def _holds(self, path: Path) -> bool:
        return Path(os.path.realpath(path)).is_relative_to(self._real)
