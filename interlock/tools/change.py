"""One file changed by one call: planned, shown to a person, made, told.

What all tools that change a file have in common, so that none forgets a part: the model must
have seen what it changes, a person approves the very change that is made, what others wrote is
never lost, and a failure leaves the file as it was and says so.
"""

from __future__ import annotations

import contextlib
import errno
import os
from abc import abstractmethod
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import ClassVar

import anyio.to_thread
from attrs import frozen

from interlock.tools import disk
from interlock.tools.diff import FOR_MODEL, FOR_PERSON, Size, diff
from interlock.tools.filetext import FileText, NotText
from interlock.tools.paths import absolute, near, resolved, shown
from interlock.tools.reads import NotAsRead, digest
from interlock.tools.tool import Arguments, Output, Tool, ToolContext, ToolError, Touches

_REASONS = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the file would be larger than files may be here",
    errno.EROFS: "the file system is read-only",
    errno.ENOTDIR: "a part of the path is a file, not a folder",
}


@frozen(kw_only=True)
class Change:
    """A change that was worked out and not yet made.

    `old` and `new` are what the diff is about, with LF line ends; `None` if there is nothing to
    show. `label` names them.
    """

    before: bytes | None  # None: there is no file
    after: bytes
    said: str  # what is done, as the beginning of the answer
    old: str | None = None
    new: str = ""
    label: str = ""  # behind the path in the diff

    def diff(self, name: str, size: Size) -> str:
        return "" if self.old is None else diff(name + self.label, self.old, self.new, size)


class FileChange(Tool):
    """A tool that changes one file."""

    path_argument: ClassVar[str] = "file_path"

    @abstractmethod
    def plan(self, path: Path, arguments: Arguments, context: ToolContext) -> Change:
        """Work the change out from what the file holds now. Writes nothing."""

    def touches(self, arguments: Arguments, cwd: Path) -> Touches:
        written = arguments[self.path_argument]
        return Touches(writes=(resolved(written, cwd),), named=(absolute(written, cwd),))

    async def preview(self, arguments: Arguments, context: ToolContext) -> str:
        path = context.path(arguments[self.path_argument])
        change = await self._worked_out(path, arguments, context)
        context.reads.show(context.call_id, change.before)
        found = change.diff(shown(path, context.cwd), FOR_PERSON)
        return found or f"({change.said}: no line changes)"

    async def run(self, arguments: Arguments, context: ToolContext) -> Output:
        path = context.path(arguments[self.path_argument])
        change = await self._worked_out(path, arguments, context)
        # Not abandoned on cancel: a write is seen to its end, then the interrupt counts.
        return await anyio.to_thread.run_sync(partial(self._made, path, change, context))

    async def _worked_out(self, path: Path, arguments: Arguments, context: ToolContext) -> Change:
        """Nothing is written yet: an interrupt leaves the thread behind."""
        planned = partial(self._planned, path, arguments, context)
        return await anyio.to_thread.run_sync(planned, abandon_on_cancel=True)

    def _planned(self, path: Path, arguments: Arguments, context: ToolContext) -> Change:
        with _told(path):
            return self.plan(path, arguments, context)

    def _made(self, path: Path, change: Change, context: ToolContext) -> Output:
        with _told(path):
            context.reads.require_shown(path, context.call_id, change.before)
            if change.after == change.before:
                return Output(f"{shown(path, context.cwd)} holds just that; nothing was written.")
            context.keep(path, change.before, change.after)
            if change.before is None:
                written = disk.create(path, change.after)
            else:
                written = disk.replace(path, change.after, change.before)
        context.reads.remember(path, digest(change.after))
        said = f"{change.said}.{_notes(written)}"
        found = change.diff(shown(path, context.cwd), FOR_MODEL) if change.before else ""
        return Output(f"{said}\n\n{found}" if found else said)


def current(path: Path) -> bytes | None:
    """What the file holds; None if there is none."""
    try:
        return disk.whole(path)
    except FileNotFoundError:
        return None


def existing(path: Path, context: ToolContext) -> tuple[bytes, FileText]:
    """A file that the model has seen as it is, as bytes and as text."""
    data = current(path)
    if data is None:
        raise FileNotFoundError(errno.ENOENT, "does not exist", str(path))
    context.reads.require(path, data)
    return data, FileText.of(data)


def require_letters(source: FileText, new: str, old: str = "", name: str = "new_string") -> None:
    """Raise unless `new` can be written into such a file without mixing encodings."""
    if any("\ud800" <= letter <= "\udfff" for letter in new):
        raise ToolError(f"{name} holds half a character (a lone surrogate).")
    if source.bad_byte is None or new.isascii():
        return
    # Letters that were there and stay there are UTF-8 already.
    strange = {letter for letter in new if not letter.isascii()} - set(old)
    if strange:
        raise ToolError(
            f"The file is not UTF-8 ({source.bad_byte}), so other characters than ASCII cannot"
            " be put in without mixing encodings. Nothing was changed. Convert the file first"
            " (with iconv, say), or keep to ASCII."
        )


def bad_byte_note(source: FileText) -> str:
    if source.bad_byte is None:
        return ""
    return f" (it is not valid UTF-8, first at {source.bad_byte}; such bytes were kept)"


def _notes(written: disk.Written) -> str:
    """What the model should know about how the file was written."""
    if written.links > 1:
        return (
            f" The file has {written.links} names (hard links); all of them show the change,"
            " which was written in place."
        )
    return " It was written in place, since it could not be renamed." if written.in_place else ""


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    """Whatever can go wrong with a file, as one line for the model."""
    try:
        yield
    except (NotAsRead, NotText, disk.NotAFile, disk.HalfWritten) as error:
        raise ToolError(_sentence(str(error))) from error
    except disk.ChangedMeanwhile as error:
        raise ToolError(
            f"{path} was changed by someone else while this call ran. Nothing was written. Read"
            " it again, then decide anew."
        ) from error
    except FileNotFoundError as error:
        raise ToolError(f"{path} does not exist.{near(path)}") from error
    except OSError as error:
        why = _REASONS.get(error.errno or 0) or error.strerror or os.strerror(error.errno or 0)
        raise ToolError(f"{path} could not be written: {why}. It is as it was.") from error


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."
