"""Auto memory: a folder per project that the agent keeps itself, with its ordinary file tools.

`MEMORY.md` in it is told at each start, whole or its beginning; what it points to lies beside it
and is read when it matters. All worktrees and sub-folders of a repository share one folder. The
text about it is made once per session, so what the agent writes is told from the next one on.
"""

from __future__ import annotations

import os
from pathlib import Path

from attrs import frozen

from interlock.memory.note_file import NO_TEXT
from interlock.memory.withheld import Withheld, is_text, told_freely, within_git
from interlock.regular_files import problem_of, read_regular

INDEX = "MEMORY.md"
# What fits beside everything else at the start of every session; an index needs no more.
MOST_LINES = 200
MOST_BYTES = 25_000

_HOW = """\
# Memory
You have a memory for {about}, kept from session to session, in the folder {folder}
- {index} there is its index: what it says stands below, at the start of each session. Keep it \
short, a line for each thing; more than {lines} lines or {size:,} bytes are not read.
- Details belong into files beside it, one for each matter (debugging.md, conventions.md), named \
in the index. Read them when they matter.
- Write down what will help next time and is not to be seen in the project itself: commands that \
work, decisions and why they were made, what the user prefers or has corrected. Not what is going \
on just now, no secrets, and nothing that the notes of the project say already.
- When the user asks you to remember or to forget something, do so at once. Mend or remove what \
has turned out wrong.
Write, Edit and Read work in this folder without approval; the folder is made with the first file.
"""
_WHOSE_READING = """\
# Memory
What is known from earlier sessions stands in {folder}
"""


@frozen(kw_only=True)
class Beginning:
    """What is told of the index, and what was left out."""

    text: str
    size: int  # bytes of the file
    lines: int  # of the file
    cut: str | None = None  # the note
    problem: str | None = None  # why nothing of it is told


@frozen(kw_only=True)
class AutoMemory:
    """One project's memory folder, or that of a type of agents."""

    folder: Path
    about: str = "this project"
    withheld: Withheld = told_freely

    @property
    def index(self) -> Path:
        return self.folder / INDEX

    def beginning(self) -> Beginning | None:
        """The index as it is told; None where there is none."""
        if not os.path.lexists(self.index):
            return None
        if (why := problem_of(self.index) or self._refusal()) is not None:
            return _not_told(why)
        try:
            data = read_regular(self.index)
        except OSError as error:
            return _not_told(f"it cannot be read: {error.strerror or error}")
        return _not_told(NO_TEXT, len(data)) if b"\0" in data else beginning(data)

    def _refusal(self) -> str | None:
        """Why the index must not be told, whatever is in it. The memory of a type of agents may
        come with a repository, links and all."""
        real, folder = (Path(os.path.realpath(path)) for path in (self.index, self.folder))
        if not real.is_relative_to(folder) and (within_git(real) or not is_text(real)):
            return f"left out: it is a link to {real}, outside the memory and no text"
        why = self.withheld(self.index)
        return None if why is None else f"left out: {why}"

    def told(self, *, writes: bool = True) -> str:
        """For the system prompt: how the memory is kept, and its index. Without tools that write
        it says nothing where there is nothing."""
        index = self.beginning()
        if index is None and not writes:
            return ""
        how = (_HOW if writes else _WHOSE_READING).format(
            about=self.about, folder=self.folder, index=INDEX, lines=MOST_LINES, size=MOST_BYTES
        )
        if index is not None and index.problem is not None:
            return f"{how}\n{INDEX} is not told: {index.problem}."
        if index is None or not index.text.strip():
            return f"{how}\n{INDEX} is not there yet."
        tail = f"\n({index.cut})" if index.cut else ""
        return f"{how}\nContents of {self.index}:\n\n{index.text.strip()}{tail}"

    def topics(self) -> tuple[Path, ...]:
        """The files beside the index, the newest first."""
        try:
            files = [
                path
                for path in self.folder.rglob("*.md")
                if path.is_file() and path != self.index and not path.is_symlink()
                if self.withheld(path) is None
            ]
            return tuple(sorted(files, key=lambda path: (-path.stat().st_mtime, str(path))))
        except OSError:
            return ()


def _not_told(problem: str, size: int = 0) -> Beginning:
    return Beginning(text="", size=size, lines=0, problem=problem)


def beginning(data: bytes) -> Beginning:
    """The first lines that are within both bounds; a line is told whole or not at all, unless the
    first one alone is too long."""
    size, text = len(data), data.decode("utf-8-sig", "replace")
    lines = text.splitlines(keepends=True)
    kept, room = list[str](), MOST_BYTES
    for line in lines[:MOST_LINES]:
        room -= len(line.encode())
        if room < 0:
            break
        kept.append(line)
    if len(kept) == len(lines):
        return Beginning(text=text, size=size, lines=len(lines))
    told = "".join(kept) or lines[0].encode()[:MOST_BYTES].decode(errors="ignore")
    of = f"{len(kept)} of {len(lines)} lines, {len(told.encode()):,} of {size:,} bytes"
    cut = f"only its beginning stands here: {of}. Make the index shorter, or Read the rest"
    return Beginning(text=told, size=size, lines=len(lines), cut=cut)


def project_of(cwd: Path) -> Path:
    """The folder that stands for the project: the main working tree of its repository, so that
    all its worktrees share one; without git the working folder."""
    real = cwd.resolve()
    for folder in (real, *real.parents):
        mark = folder / ".git"
        if mark.is_dir():
            return folder
        if mark.is_file():
            return _main_tree(mark) or folder
    return real


def _main_tree(mark: Path) -> Path | None:
    """The main tree of a linked worktree, whose file says `gitdir: …/.git/worktrees/x`."""
    try:
        said = read_regular(mark).decode(errors="replace").strip()
    except OSError:
        return None
    if not said.startswith("gitdir:"):
        return None
    lies = (mark.parent / said.removeprefix("gitdir:").strip()).resolve()
    if lies.parent.name == "worktrees" and lies.parent.parent.name == ".git":
        return lies.parent.parent.parent
    return None
