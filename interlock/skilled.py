"""Skills at the places of the loop where they are heard: between turns, in summaries, at entry."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from attrs import frozen

from interlock.context.keepsakes import Keepsake
from interlock.inbox import Found
from interlock.instructing import Instructing
from interlock.memory.rules import covers
from interlock.skills import Skill, SkillBook
from interlock.tools import Tool
from interlock.touching import touched
from phases.world.loop import Loop
from phases.world.size import BYTES_PER_TOKEN

LARGEST = 5_000  # tokens of one skill's text beside a summary
_HOLDERS = (".claude", ".interlock")


@frozen
class SkillNews:
    """Skills that were added, changed or taken away, or that lie in folders now worked in."""

    instructing: Instructing
    tools: Mapping[str, Tool]
    top: Path  # of the project

    async def news(self, loop: Loop) -> Sequence[str]:
        paths = touched(loop, self.tools)
        book = self.instructing.book
        text = self.instructing.news(_with_skills(paths, self.top))
        book.awake |= {skill.name for skill in book.asleep if _is_for(skill, paths, book.folders)}
        text = "\n".join(filter(None, (text, book.news())))
        return (text,) if text else ()


def _is_for(skill: Skill, paths: Sequence[Path], folders: Sequence[Path]) -> bool:
    """Whether it is for one of these files; patterns count from any folder that skills come from,
    the top of the project among them."""
    return any(
        covers(skill.paths, real, folder.resolve())
        for real in map(Path.resolve, paths)
        for folder in folders
    )


def _with_skills(paths: Sequence[Path], top: Path) -> tuple[Path, ...]:
    """The folders of the project above these paths that hold skills or commands."""
    folders = dict.fromkeys(folder for path in paths for folder in _holders(path, top))
    return tuple(
        folder
        for folder in folders
        if any((folder / name / part).is_dir() for name in _HOLDERS for part in _PARTS)
    )


_PARTS = ("skills", "commands")


def _holders(path: Path, top: Path) -> Iterator[Path]:
    for folder in (path, *path.parents):
        if folder != top and folder.is_relative_to(top):
            yield folder


@frozen
class UsedSkills:
    """The text of skills that were fetched, and how their list has changed since the start."""

    instructing: Instructing

    async def keepsakes(self, budget: int) -> Sequence[Keepsake]:
        kept = []
        difference = self.instructing.book.difference()
        if difference:
            kept.append(Keepsake("Skills", difference))
        room = min(LARGEST, budget // 2) * BYTES_PER_TOKEN
        for name, text in reversed(self.instructing.used.items()):
            data = text.encode()[: int(room)].decode(errors="ignore")
            whole = data == text
            tail = "" if whole else "\n[cut here; fetch it again with the Skill tool]"
            kept.append(Keepsake(f"Skill {name}, fetched before", data + tail))
        return kept


@frozen
class SkillSource:
    """Skills that may fit a prompt: a hint, not their text."""

    book: SkillBook
    name: str = "skill"

    async def find(self, prompt: str) -> tuple[Found, ...]:
        return tuple(
            Found(
                title=skill.name,
                text=f"It may fit: {skill.description}\nFetch it with the Skill tool.",
                path=skill.path,
            )
            for skill in self.book.fitting(prompt)
        )
