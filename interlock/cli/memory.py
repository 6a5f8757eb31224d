"""`interlock memory`: which note files and which memory a session here is told, how large each.

`/memory` at the terminal tells the same of the session under way.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from interlock.cli.flags import Parser, decoded
from interlock.cli.place import folder_of, insist_on_stdout
from interlock.counted import counted
from interlock.errors import UsageError
from interlock.memory import AutoMemory, LazyNotes, NoteFile
from interlock.prompt import estimated_tokens


def run(argv: Sequence[str]) -> int:
    """Run the command. Raises ConfigurationError, SettingsError for what cannot be used."""
    from interlock.cli.main import complain
    from interlock.configuration import Flags, sources_of
    from interlock.configured import configured
    from interlock.knowledge import memory_of, notes_of
    from interlock.options import Options
    from interlock.permissions.explain import judge_of

    asked = _parser().parse_args([decoded(each) for each in argv])
    insist_on_stdout()
    folder = folder_of(asked.cwd)
    flags = Flags(settings=asked.settings, sources=sources_of(asked.setting_sources))
    found = configured(Options(cwd=folder), flags, os.environ, key=False)
    options, settings = found.options, found.settings
    withheld = judge_of(options).withholds
    notes = notes_of(options, settings, folder, withheld)
    notes.touched([_in_the_project(path, folder, notes.places.top) for path in asked.path])
    for line in told(notes, memory_of(options, settings, folder, withheld)):
        print(line)
    for warning in found.configuration.warnings:
        complain(warning)
    return 0


def _in_the_project(written: str, folder: Path, top: Path) -> Path:
    """A path that notes may belong to. Raises UsageError."""
    path = folder / Path(written).expanduser()
    if not os.path.lexists(path):
        raise UsageError(f"no such file or folder: {written}")
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(top)):
        raise UsageError(f"{written} lies outside the project {top}: no notes belong to it")
    return path


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="interlock memory", allow_abbrev=False)
    add = parser.add_argument
    add("path", nargs="*", help="also what work on this file or in this folder would bring up")
    add("--cwd", metavar="DIR", help="the working folder")
    add("--settings", metavar="FILE|JSON", help="as for a run")
    add("--setting-sources", metavar="S,S", help="as for a run")
    return parser


def told(notes: LazyNotes, memory: AutoMemory | None) -> Iterator[str]:
    """The report, line by line, in the order in which the model is told."""
    yield from _memory(memory)
    yield "note files, from the first request on"
    yield from (_line(note) for note in notes.start)
    if not notes.start:
        yield "  none: CLAUDE.md and AGENTS.md are looked for from the top of the project down"
    later = notes.later()
    if later:
        yield "note files of what was worked with"
        yield from (_line(note) for note in later)


def _memory(memory: AutoMemory | None) -> Iterator[str]:
    if memory is None:
        yield "memory: switched off"
        return
    yield f"memory: {memory.folder}"
    index = memory.beginning()
    if index is None:
        yield f"  {memory.index.name} is not there yet"
    elif index.problem is not None:
        yield f"  {memory.index.name}: {index.problem}"
    else:
        cut = f" ({index.cut})" if index.cut else ""
        size = f"{counted(index.lines, 'line')}, {counted(index.size, 'byte')}"
        yield f"  {memory.index.name}: {size}, about {estimated_tokens(index.text):,} tokens{cut}"
    for path in memory.topics():
        size = counted(path.stat().st_size, "byte")
        yield f"  {path.relative_to(memory.folder)}: {size}, read on demand"


def _line(note: NoteFile) -> str:
    whose = f"imported by {note.importer}" if note.importer else note.kind
    problem = f" ({note.problem})" if note.problem else ""
    if note.waits:
        return f"  {note.path}: {note.kind}{problem}"
    size = f"{counted(note.size, 'byte')}, about {estimated_tokens(note.text):,} tokens"
    return f"  {note.path}: {whose}, {size}{problem}"
