"""The note files that are read at a session's start: what they are, where from, how much of each.

The user's own, then those of the folders from the top of the project down to the working folder,
each `CLAUDE.md` and `AGENTS.md`, then the user's own ones for the project (`CLAUDE.local.md`). The
nearest stands last: where two disagree, it is the one to follow. Knows nothing of requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from attrs import frozen

NAMES = ("CLAUDE.md", "AGENTS.md")
LOCAL = "CLAUDE.local.md"
# A file of rules that a person wrote and reads is far smaller; what is larger is no such file.
LARGEST = 100_000  # bytes


@frozen(kw_only=True)
class NoteFile:
    """One file: what of it is told, and why that may not be all."""

    path: Path
    kind: str  # user, project or local
    text: str
    size: int  # bytes of the file
    problem: str | None = None


def found(cwd: Path, home: Path) -> tuple[NoteFile, ...]:
    """The note files for a session in `cwd`, each once, in the order in which they are told."""
    seen: set[Path] = set()
    notes: list[NoteFile] = []
    for path, kind in _places(cwd, home):
        real = path.resolve()
        if real not in seen and path.is_file():
            seen.add(real)
            notes.append(_read(path, kind))
    return tuple(notes)


def told(notes: Sequence[NoteFile]) -> str:
    """The files as one text, each under its path; "" where there is none."""
    parts = []
    for note in notes:
        head = f"Contents of {note.path} ({_WHOSE[note.kind]}):"
        tail = f"\n({note.problem})" if note.problem else ""
        if note.text.strip() or tail:
            parts.append(f"{head}\n\n{note.text.strip()}{tail}")
    return "\n\n".join(parts)


_WHOSE = {
    "user": "the user's own instructions, for all projects",
    "project": "instructions of the project, checked in",
    "local": "the user's own instructions for this project, not checked in",
}


def _places(cwd: Path, home: Path) -> Iterator[tuple[Path, str]]:
    for name in NAMES:
        yield home / name, "user"
    for folder in _from_the_top(cwd):
        for name in NAMES:
            yield folder / name, "project"
            yield folder / ".claude" / name, "project"
        yield folder / LOCAL, "local"


def _from_the_top(cwd: Path) -> list[Path]:
    """The folders from the top of the git working tree down to `cwd`; without git, `cwd` alone."""
    folders = [cwd, *cwd.parents]
    tops = [at for at, folder in enumerate(folders) if (folder / ".git").exists()]
    return folders[tops[0] :: -1] if tops else [cwd]


def _read(path: Path, kind: str) -> NoteFile:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
            size = path.stat().st_size
    except OSError as error:
        why = f"it cannot be read: {error.strerror or error}"
        return NoteFile(path=path, kind=kind, text="", size=0, problem=why)
    if b"\0" in data:
        why = "it is no text, and left out"
        return NoteFile(path=path, kind=kind, text="", size=size, problem=why)
    text = data[:LARGEST].decode("utf-8-sig", "replace")
    problem = None
    if len(data) > LARGEST:
        problem = f"the first {LARGEST:,} of {size:,} bytes; use Read for the rest"
    return NoteFile(path=path, kind=kind, text=text, size=size, problem=problem)
