"""A disk whose power can go: what it has then is what was forced onto it, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from attrs import define, field, frozen

from interlock.durability import Disk, Fsync


@frozen
class Image:
    """What the disk held at one moment."""

    contents: Mapping[Path, bytes]
    names: Mapping[Path, frozenset[str]]

    def restored(self, folder: Path, to: Path) -> None:
        """Put what of `folder` survived into `to`: a file does if all names on its way did."""
        for path, content in self.contents.items():
            way = [path, *path.parents]
            way = way[: way.index(folder) + 1]
            if all(one.name in self.names.get(one.parent, ()) for one in way):
                target = to / path.relative_to(folder)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(content)


@define
class Power:
    """Stands in for `os.fsync`, and remembers what each call of it made safe."""

    contents: dict[Path, bytes] = field(factory=dict)
    names: dict[Path, frozenset[str]] = field(factory=dict)
    synced: list[Path] = field(factory=list)

    def disk(self, policy: Fsync) -> Disk:
        return Disk(policy, self.fsync)

    def fsync(self, file: int) -> None:
        path = Path(f"/proc/self/fd/{file}").readlink()
        self.synced.append(path)
        if path.is_dir():
            self.names[path] = frozenset(one.name for one in path.iterdir())
        else:
            self.contents[path] = path.read_bytes()

    def goes(self) -> Image:
        return Image(dict(self.contents), dict(self.names))
