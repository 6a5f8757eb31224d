"""Glob: files by the pattern of their path, newest first."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

import anyio.to_thread

from interlock.tools import search
from interlock.tools.paths import BadPath, absolute, near, resolved, shown
from interlock.tools.tool import Arguments, Output, Tool, ToolContext, ToolError, Touches

_MAX_SHOWN = 200
_MAX_FOUND = 100_000  # files remembered in order to sort them
_MAGIC = frozenset("*?[{\\")


class Glob(Tool):
    name = "Glob"
    description = (
        "Finds files by name, newest first. `**` stands for any folders, `*` and `?` for a part"
        " of a name, `{a,b}` for either: `src/**/*.ts`, `**/test_*.py`. A pattern without a"
        " slash matches at any depth. What .gitignore leaves out is not found; hidden files"
        " are. `path` is the folder to look in, by default the working folder. To search what"
        " files hold use Grep. Links to"
        " folders are followed where `pattern` or `path` names them: `link/**`."
    )
    input_schema = {  # noqa: RUF012 (never changed)
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "description": "The pattern of the path."},
            "path": {"type": "string", "description": "The folder to look in."},
        },
        "required": ["pattern"],
        "additionalProperties": False,
    }

    def effects(self, arguments: Arguments) -> bool:
        return False

    def concurrency_safe(self, arguments: Arguments) -> bool:
        return True

    def touches(self, arguments: Arguments, cwd: Path) -> Touches:
        start, _ = _split(arguments, cwd)
        return Touches(reads=(resolved(start, cwd),), named=(absolute(start, cwd),))

    async def run(self, arguments: Arguments, context: ToolContext) -> Output:
        start, rest = _split(arguments, context.cwd)
        folder = context.path(start)
        if not folder.exists():
            raise ToolError(f"{folder} does not exist.{near(folder)}")
        if not folder.is_dir():
            raise ToolError(f"{folder} is a file, not a folder.")
        wanted = search.pattern(rest)
        found: list[str] = []

        def take(record: bytes) -> bool:
            name = os.fsdecode(record).removeprefix("./")
            if wanted.matches(PurePosixPath(name).parts) and not context.hides(folder / name):
                found.append(name)
            return len(found) < _MAX_FOUND

        ended = await search.Search(
            arguments=[search.find_rg(), "--files", "--null", *search.COMMON, "./"],
            folder=folder,
            records=search.ending_in(b"\0"),
            take=take,
            progress=lambda: context.progress(f"{len(found)} found so far\n"),
        ).run()
        notes = search.told(ended, arguments["pattern"], not found)
        paths = await anyio.to_thread.run_sync(_newest_first, folder, found)
        lines = [shown(path, context.cwd) for path in paths[:_MAX_SHOWN]]
        if len(paths) > _MAX_SHOWN:
            notes.append(f"{len(paths) - _MAX_SHOWN} more files match; narrow the pattern.")
        told = [f"({note})" for note in notes]
        return Output("\n".join([*(lines or ["No files found."]), *told]))


def _split(arguments: Arguments, cwd: Path) -> tuple[str, str]:
    """The folder to start in and the pattern below it. A pattern may begin with `/` or `..`, or
    lead through a link; then its fixed beginning is a part of the folder, and judged as such."""
    start, text = arguments.get("path") or ".", arguments["pattern"]
    parts = PurePosixPath(text).parts
    fixed = next((at for at, part in enumerate(parts) if _MAGIC & set(part)), len(parts) - 1)
    if not text.startswith(("/", "..", "~")):
        through = [at for at in range(1, fixed + 1) if _is_link(cwd, start, parts[:at])]
        if not through:
            return start, text.removeprefix("./")
        fixed = through[-1]
    fixed = max(fixed, sum(part == ".." for part in parts)) if ".." in parts else fixed
    head = str(PurePosixPath(*parts[:fixed])) if fixed else "."
    # With the leading slash the rest counts from that folder and not from any below.
    return os.path.join(start, head), "/" + "/".join(parts[fixed:] or ("**",))  # noqa: PTH118


def _is_link(cwd: Path, start: str, parts: tuple[str, ...]) -> bool:
    try:
        return absolute(str(PurePosixPath(start, *parts)), cwd).is_symlink()
    except (OSError, BadPath):
        return False


def _newest_first(folder: Path, names: list[str]) -> list[Path]:
    def key(name: str) -> tuple[float, str]:
        try:
            return -(folder / name).lstat().st_mtime, name
        except OSError:
            return 0.0, name

    return [folder / name for name in sorted(names, key=key)]
