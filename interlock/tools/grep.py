"""Grep: lines by a regular expression, with ripgrep."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

import anyio.to_thread
from attrs import define, field

from interlock.permissions.globs import Glob, expanded
from interlock.tools import search
from interlock.tools.paths import absolute, near, resolved, shown
from interlock.tools.tool import Arguments, Output, Tool, ToolContext, ToolError, Touches

_DEFAULT_SHOWN = 250
_MAX_SHOWN = 5_000  # with head_limit 0 or a very high one; the executor caps the characters
_MAX_COLUMNS = 500  # bytes of a line; minified files have lines of megabytes
_NUMBER = re.compile(rb"(\d+)([:-])(.*)", re.DOTALL)
_FLAGS = {"-A": "--after-context", "-B": "--before-context", "-C": "--context"}


class Grep(Tool):
    name = "Grep"
    description = (
        "Searches what files hold, with ripgrep. `pattern` is a regular expression of Rust's"
        " kind: braces and brackets meant literally need a backslash. What .gitignore leaves out"
        " and binary files are not searched; hidden files are.\n"
        "- `path`: the file or folder to search, by default the working folder. `glob` keeps to"
        " files like `*.py` or `src/**/*.{ts,tsx}`, `type` to a kind like `py`, `js`, `rust`.\n"
        "- `output_mode`: `files_with_matches` (default; newest first), `content` (the lines; with"
        " `-A`, `-B` or `-C` lines after, before or around; `-n` false leaves the numbers out) or"
        " `count`.\n"
        "- `-i` ignores case. `multiline` lets a match span lines, `.` included.\n"
        "- `head_limit`: how many lines or files at most; by default 250, 0 means as many as fit."
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
        if not target.exists():
            raise ToolError(f"{target} does not exist.{near(target)}")
        for name in ("pattern", "glob", "type"):
            if "\0" in arguments.get(name, ""):
                raise ToolError(f"`{name}` cannot hold a NUL character.")
        folder, inside = (target, "./") if target.is_dir() else (target.parent, f"./{target.name}")
        mode = arguments.get("output_mode", "files_with_matches")
        hits = _Hits(
            folder=folder,
            context=context,
            most=_most(arguments),
            wanted=search.pattern(arguments["glob"].removeprefix("!"))
            if arguments.get("glob")
            else None,
            excluded=arguments.get("glob", "").startswith("!"),
            numbers=arguments.get("-n", True),
        )
        take = {"content": hits.line, "count": hits.count}.get(mode, hits.file)
        ended = await search.Search(
            arguments=[self._rg or search.find_rg(), *_options(arguments, mode), "--", inside],
            folder=folder,
            end_of_record=b"\0" if mode == "files_with_matches" else b"\n",
            take=take,
        ).run()
        notes = search.told(ended, arguments["pattern"], not hits.found)
        if hits.more:
            notes.append(f"Only the first {hits.most} are shown; narrow the search for the rest.")
        if mode == "files_with_matches":
            await anyio.to_thread.run_sync(hits.newest_first)
        return Output("\n".join([*(hits.told or ["No matches found."]), *_bracketed(notes)]))


def _bracketed(notes: list[str]) -> list[str]:
    return [f"({note})" for note in notes]


def _most(arguments: Arguments) -> int:
    limit: int = arguments.get("head_limit", _DEFAULT_SHOWN)
    return min(limit, _MAX_SHOWN) if limit > 0 else _MAX_SHOWN


def _options(arguments: Arguments, mode: str) -> list[str]:
    # Sorted: the same search gives the same answer, whatever the threads did.
    options = [*search.COMMON, "--null", "--with-filename", "--sort=path"]
    match mode:
        case "content":
            options += ["--line-number", "--no-heading", "--context-separator=--"]
            options += [f"--max-columns={_MAX_COLUMNS}", "--max-columns-preview"]
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
    # `-e`, so that a pattern which looks like a flag is none.
    return [*options, "-e", arguments["pattern"]]


def _prefilter(glob: str) -> list[str]:
    """Options that spare ripgrep files of other names; what it finds is matched exactly later.

    Not its own --glob, which would bring files back that .gitignore leaves out.
    """
    if glob.startswith("!"):
        return []
    names = [one.rstrip("/").rpartition("/")[2] for one in expanded(glob)]
    if any(not name or "**" in name for name in names):
        return []
    return [*(f"--type-add=interlock:{name}" for name in names), "--type=interlock"]


@define(kw_only=True)
class _Hits:
    """Takes ripgrep's records, leaves out what must not be seen, and words the rest."""

    folder: Path
    context: ToolContext
    most: int
    wanted: Glob | None
    excluded: bool  # `wanted` says what to leave out
    numbers: bool
    told: list[str] = field(factory=list)
    found: int = 0
    more: bool = False
    _paths: list[Path] = field(factory=list)
    _asked: dict[bytes, str | None] = field(factory=dict)
    _gap: bool = False

    def file(self, record: bytes) -> bool:
        name = self._name(record)
        if name is None or not self._room():
            return not self.more
        self.told.append(name)
        self._paths.append(self.folder / os.fsdecode(record))
        return True

    def count(self, record: bytes) -> bool:
        path, _, number = record.partition(b"\0")
        name = self._name(path)
        if name is None or not self._room():
            return not self.more
        self.told.append(f"{name}:{number.decode()}")
        return True

    def line(self, record: bytes) -> bool:
        path, nul, rest = record.partition(b"\0")
        if not nul:
            self._gap = bool(self.told)  # shown before the next line, if one is shown
            return True
        name, parts = self._name(path), _NUMBER.fullmatch(rest)
        if name is None or parts is None or not self._room():
            return not self.more
        if self._gap:
            self.told.append("--")
            self._gap = False
        number, mark, text = parts[1].decode(), parts[2].decode(), parts[3]
        shown_text = text.rstrip(b"\r").decode(errors="replace")
        place = f"{name}{mark}{number}{mark}" if self.numbers else f"{name}{mark}"
        self.told.append(f"{place}{shown_text}")
        return True

    def newest_first(self) -> None:
        def key(at: int) -> tuple[float, str]:
            try:
                return -self._paths[at].lstat().st_mtime, self.told[at]
            except OSError:
                return 0.0, self.told[at]

        self.told = [self.told[at] for at in sorted(range(len(self.told)), key=key)]

    def _room(self) -> bool:
        self.found += 1
        self.more = self.found > self.most
        return not self.more

    def _name(self, path: bytes) -> str | None:
        """The file as it is told, None if it is not to be seen; one answer per file."""
        if path not in self._asked:
            name = os.fsdecode(path).removeprefix("./")
            real = self.folder / name
            out = self.wanted is not None and (
                self.wanted.matches(PurePosixPath(name).parts) is self.excluded
            )
            hidden = out or self.context.hides(real)
            self._asked[path] = None if hidden else shown(real, self.context.cwd)
        return self._asked[path]
