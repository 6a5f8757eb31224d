"""One note file as it is told: read in bounded size, and with words for what is not told of it."""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

from interlock.regular_files import read_regular

# A file of rules that a person wrote and reads is far smaller; what is larger is no such file.
LARGEST = 100_000  # bytes
NO_TEXT = "it is no text, and left out"


@frozen(kw_only=True)
class NoteFile:
    """One file: what of it is told, and why that may not be all."""

    path: Path
    kind: str  # user, project, rule or local
    text: str
    size: int  # bytes of the file
    problem: str | None = None
    importer: Path | None = None  # the file that asked for it
    waits: bool = False  # a rule for some files: until one is touched, its problem alone is told


def left_out(path: Path, kind: str, why: str, size: int = 0) -> NoteFile:
    """A file that is named, and no more."""
    return NoteFile(path=path, kind=kind, text="", size=size, problem=why)


def read_note(path: Path, kind: str) -> NoteFile:
    """The file's text, or why there is none."""
    try:
        data = read_regular(path, LARGEST + 1)
        size = path.stat().st_size
    except OSError as error:
        return left_out(path, kind, f"it cannot be read: {error.strerror or error}")
    if b"\0" in data:
        return left_out(path, kind, NO_TEXT, size)
    text = data[:LARGEST].decode("utf-8-sig", "replace")
    problem = None
    if len(data) > LARGEST:
        problem = f"the first {LARGEST:,} of {size:,} bytes; use Read for the rest"
    return NoteFile(path=path, kind=kind, text=text, size=size, problem=problem)
