"""Grep: lines by a regular expression, with ripgrep."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

import anyio.to_thread
from attrs import define, field

from interlock.permissions.globs import Glob, expanded
from interlock.tools import line_ends, search
from interlock.tools.paths import absolute, near, resolved, shown
from interlock.tools.tool import Arguments, Output, Tool, ToolContext, ToolError, Touches

_DEFAULT_SHOWN = 250
_MAX_UNSORTED = 20_000  # lines put in order here
_MAX_FILES = 100_000  # put in order by their time
_MAX_SHOWN = 5_000  # with head_limit 0 or a very high one; the executor caps the characters
_MAX_COLUMNS = 500  # bytes of a line; minified files have lines of megabytes
_NUMBER = re.compile(rb"(\d+)([:-])(.*)", re.DOTALL)
_NOTE = re.compile(rb"(\./.*?):( (?:binary file matches|WARNING: ).*)", re.DOTALL)
_OTHERWISE = frozenset("[]{}\\")
_FLAGS = {"-A": "--after-context", "-B": "--before-context", "-C": "--context"}


class Grep(Tool):
    name = "Grep"
    description = (
        "Searches what files hold, with ripgrep. `pattern` is a regular expression of Rust's"
        " kind: braces and brackets meant literally need a backslash. What .gitignore leaves out"
        " and binary files are not searched; hidden files are. CRLF line ends count as LF.\n"
        "- `path`: the file or folder to search, by default the working folder. `glob` keeps to"
        " files like `*.py` or `src/**/*.{ts,tsx}`, `type` to a kind like `py`, `js`, `rust`.\n"
        "- `output_mode`: `files_with_matches` (default; newest first), `content` (the lines; with"
        " `-A`, `-B` or `-C` lines after, before or around; `-n` false leaves the numbers out) or"
        " `count`.\n"
        "- `-i` ignores case. `multiline` lets a match span lines, `.` included.\n"
        "- `head_limit`: how many lines or files at most; by default 250, 0 means as many as fit."
        " `offset` leaves out the first so many, to go on where an answer ended."
    )
    input_schema = {  # noqa: RUF012 (never changed)
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "The regular expression."},
            "path": {"type": "string", "description": "The file or folder to search."},
            "glob": {"type": "string", "description": "Only files whose path matches."},
            "type": {"type": "string", "description": "Only files of this kind."},
            "output_mode": {
                "type": "string",
                "enum": ["files_with_matches", "content", "count"],
                "description": "What to return.",
            },
            "-i": {"type": "boolean", "description": "Ignore case."},
            "-n": {"type": "boolean", "description": "Show line numbers; default true."},
            "-A": {"type": "integer", "minimum": 0, "description": "Lines after a match."},
            "-B": {"type": "integer", "minimum": 0, "description": "Lines before a match."},
            "-C": {"type": "integer", "minimum": 0, "description": "Lines around a match."},
            "head_limit": {
                "type": "integer",
                "minimum": 0,
                "description": "How many lines or files at most.",
            },
            "offset": {
                "type": "integer",
                "minimum": 0,
                "description": "How many lines or files to leave out at the beginning.",
            },
            "multiline": {"type": "boolean", "description": "Let a match span lines."},
        },
        "required": ["pattern"],
        "additionalProperties": False,
    }

    def __init__(self, rg: str | None = None) -> None:
        self._rg = rg

    def effects(self, arguments: Arguments) -> bool:
        return False

    def concurrency_safe(self, arguments: Arguments) -> bool:
        return True

    def touches(self, arguments: Arguments, cwd: Path) -> Touches:
        written = arguments.get("path") or "."
        return Touches(reads=(resolved(written, cwd),), named=(absolute(written, cwd),))

    async def run(self, arguments: Arguments, context: ToolContext) -> Output:
        target = context.path(arguments.get("path") or ".")
        _require_searchable(target)
        for name in ("pattern", "glob", "type"):
            if "\0" in arguments.get(name, ""):
                raise ToolError(f"`{name}` cannot hold a NUL character.")
        mode = arguments.get("output_mode", "files_with_matches")
        skipped, most = arguments.get("offset", 0), _most(arguments)
        enough = _MAX_FILES if mode == "files_with_matches" else max(_MAX_UNSORTED, skipped + most)
        hits, ended = await self._searched(arguments, mode, target, context, enough)
        if hits.full and mode != "files_with_matches":
            # Ripgrep's threads say what they find in any order. Where there is so much that it
            # cannot be put in order here, one that goes by the order has enough soon.
            hits, ended = await self._searched(
                arguments, mode, target, context, skipped + most + 1, "--sort=path"
            )
        notes = search.told(ended, arguments["pattern"], not hits.found)
        if mode == "files_with_matches":
            every = await anyio.to_thread.run_sync(hits.newest_first)
        else:
            every = hits.in_order(skipped + most + 1, numbers=arguments.get("-n", True))
        shown_ = every[skipped : skipped + most]
        if len(every) > skipped + most:
            first = "first" if not skipped else f"{len(shown_)} after the first {skipped}"
            count = f" {most}" if not skipped else ""
            notes.append(f"Only the {first}{count} are shown; narrow the search for the rest.")
        elif every and not shown_:
            notes.append(f"There are {len(every)} and none after them.")
        return Output("\n".join([*(shown_ or ["No matches found."]), *_bracketed(notes)]))

    async def _searched(
        self,
        arguments: Arguments,
        mode: str,
        target: Path,
        context: ToolContext,
        enough: int,
        *more: str,
    ) -> tuple[_Hits, search.Ended]:
        glob = arguments.get("glob") or ""
        folder, inside = (target, "./") if target.is_dir() else (target.parent, f"./{target.name}")
        hits = _Hits(
            folder=folder,
            context=context,
            enough=enough,
            wanted=search.pattern(glob.removeprefix("!")) if glob else None,
            excluded=glob.startswith("!"),
            apart=any(arguments.get(flag) for flag in _FLAGS),
        )
        ended = await search.Search(
            arguments=[
                self._rg or search.find_rg(),
                *more,
                *_options(arguments, mode),
                "--",
                inside,
            ],
            folder=folder,
            records=search.ending_in(b"\0")
            if mode == "files_with_matches"
            else search.named_lines,
            take=hits.take,
            progress=lambda: context.progress(f"{hits.found} found so far\n"),
        ).run()
        return hits, ended


def _require_searchable(target: Path) -> None:
    """Ripgrep would wait at a pipe that nobody writes to, and read a device without end."""
    if target.is_dir() or target.is_file():
        return
    if target.exists():
        raise ToolError(f"{target} is a device, pipe or socket, not a file: it is not searched.")
    raise ToolError(f"{target} does not exist.{near(target)}")


def _bracketed(notes: list[str]) -> list[str]:
    return [f"({note})" for note in notes]


def _most(arguments: Arguments) -> int:
    limit: int = arguments.get("head_limit", _DEFAULT_SHOWN)
    return min(limit, _MAX_SHOWN) if limit > 0 else _MAX_SHOWN


def _options(arguments: Arguments, mode: str) -> list[str]:
    options = [*search.COMMON, "--null", "--with-filename"]
    match mode:
        case "content":
            options += ["--line-number", "--no-heading", "--context-separator=--"]
            options += [f"--max-columns={_MAX_COLUMNS}", "--max-columns-preview"]
            options.append(f"--max-count={arguments.get('offset', 0) + _most(arguments) + 1}")
            options += [
                f"{flag}={arguments[name]}" for name, flag in _FLAGS.items() if name in arguments
            ]
        case "count":
            options.append("--count")
        case _:
            options.append("--files-with-matches")
    if arguments.get("-i"):
        options.append("--ignore-case")
    if arguments.get("multiline"):
        options += ["--multiline", "--multiline-dotall"]
    if arguments.get("type"):
        options.append(f"--type={arguments['type']}")
    elif arguments.get("glob"):
        options += _prefilter(arguments["glob"])
    multiline = bool(arguments.get("multiline"))
    return [*options, *line_ends.options(arguments["pattern"], multiline=multiline)]


def _prefilter(glob: str) -> list[str]:
    """Options that spare ripgrep files of other names; what it finds is matched exactly later.

    Not its own --glob, which would bring files back that .gitignore leaves out.
    """
    if glob.startswith("!"):
        return []
    names = [one.rstrip("/").rpartition("/")[2] for one in expanded(glob)]
    # What ripgrep might take otherwise than we do is not left to it.
    if any(not name or "**" in name or _OTHERWISE & set(name) for name in names):
        return []
    return [*(f"--type-add=interlock:{name}" for name in names), "--type=interlock"]


@define(kw_only=True)
class _Hits:
    """Takes ripgrep's records in any order, and leaves out what must not be seen."""

    folder: Path
    context: ToolContext
    enough: int  # records after which no more are taken
    wanted: Glob | None
    excluded: bool  # `wanted` says what to leave out
    apart: bool  # a line stands between those of two files
    found: int = 0
    full: bool = False
    _files: dict[bytes, list[tuple[bool, bytes]]] = field(factory=dict)
    _names: dict[bytes, str | None] = field(factory=dict)
    _gap: bool = False

    def take(self, record: bytes) -> bool:
        """A record is a path, and behind a NUL a line or a count; `--` stands between lines,
        and behind those of a binary file that it is one."""
        path, nul, rest = record.partition(b"\0")
        if record == b"--":
            self._gap = True
            return True
        note = None if nul else _NOTE.fullmatch(record)
        if note is not None:
            path, rest = note[1], note[2]
        gap, self._gap = self._gap or (self.apart and path not in self._files), False
        if self._name(path) is None:
            return True
        if self.found >= self.enough:
            self.full = True
            return False
        self.found += 1
        records = self._files.setdefault(path, [])
        records.append((gap, rest))
        return True

    def newest_first(self) -> list[str]:
        """The names of the files."""

        def key(path: bytes) -> tuple[float, bytes]:
            try:
                return -(self.folder / os.fsdecode(path)).lstat().st_mtime, path
            except OSError:
                return 0.0, path

        return [self._names[path] or "" for path in sorted(self._files, key=key)]

    def in_order(self, most: int, *, numbers: bool) -> list[str]:
        """The lines or counts, by the path of their file; the same whatever the threads did."""
        told: list[str] = []
        for path in sorted(self._files, key=lambda one: one.split(b"/")):
            if len(told) >= most:
                break
            name = self._names[path] or ""
            for gap, rest in self._files[path]:
                # A gap is no hit of its own, so it goes with the line behind it.
                told.append(
                    f"{'--' + chr(10) if gap and told else ''}{_line(name, rest, numbers)}"
                )
        return told[:most]

    def _name(self, path: bytes) -> str | None:
        """The file as it is told, None if it is not to be seen; one answer per file."""
        if path not in self._names:
            name = os.fsdecode(path).removeprefix("./")
            real = self.folder / name
            out = self.wanted is not None and (
                self.wanted.matches(PurePosixPath(name).parts) is self.excluded
            )
            hidden = out or self.context.hides(real)
            self._names[path] = None if hidden else shown(real, self.context.cwd)
        return self._names[path]


def _line(name: str, rest: bytes, numbers: bool) -> str:
    parts = _NUMBER.fullmatch(rest)
    if parts is None:
        return f"{name}:{rest.decode(errors='replace')}"  # a count or a note
    number, mark, text = parts[1].decode(), parts[2].decode(), parts[3]
    place = f"{name}{mark}{number}{mark}" if numbers else f"{name}{mark}"
    return place + text.rstrip(b"\r").decode(errors="replace")
