"""The transcript of a session: append-only JSON lines, and what the watcher is shown.

Writing and showing are one act (law 9): a message is shown when, and only when, its entries are
written. Writes are synchronous on purpose: a cancellation cannot come between the two, nor cut
a message in half. Nothing is ever truncated. Read `entries` for the form, `reading` for the way
back.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from interlock.errors import TranscriptError
from interlock.sessions.entries import Entry, boundary_of, entries_of, mended_of
from interlock.sessions.facts import Facts
from interlock.sessions.reading import Reading, read
from phases.world.messages import Kind, Message, ToolUse, encoded
from phases.world.updates import Recorded, Show, Update

_LAST_PROMPT = 200  # characters; session lists show one line


def _nobody(update: Update) -> None:
    """Nobody watches."""


class Transcript:
    """The `History` port over one file.

    The file is made with the first message: a session in which nothing was said leaves none. A
    file that is there is continued. `show` and `now` may be replaced between prompts.
    """

    def __init__(
        self,
        path: Path,
        *,
        session_id: str,
        cwd: Path,
        entrypoint: str = "cli",
        permission_mode: str | None = None,
        agent_id: str | None = None,
        show: Show = _nobody,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.path = path
        self.facts = Facts.of(
            session_id,
            cwd,
            entrypoint=entrypoint,
            permission_mode=permission_mode,
            agent_id=agent_id,
        )
        self.show = show
        self.now = now
        self._known: set[str] = set()
        self._ahead: set[str] = set()  # written before messages that stand in front of them
        self._calls: dict[str, str] = {}
        self._tip: str | None = None
        self._prompt: Message | None = None
        self._file: int | None = None
        self._torn = False

    async def record(self, messages: tuple[Message, ...]) -> None:
        """Write those at the end that are not written yet, in order, and show them.

        A first message that was never written stands for all before it. Prompts are on the disk
        when this returns, all else is with the operating system. Raises TranscriptError.
        """
        if not messages:
            return
        self._open()
        start = len(messages)
        while start and not self._settled(messages[start - 1]):
            start -= 1
        new = messages[start:]
        if start and messages[0].id not in self._known:  # something in front of what was kept
            new = messages
        new = tuple(message for message in new if message.id not in self._known)
        self._ahead.clear()
        if not new:
            return
        first = messages[0]
        if first.id not in self._known and first.replaces is None and self._tip is not None:
            entry = boundary_of(messages, after=self._tip)
            self._append([entry])
            self._tip = entry["uuid"]
            self._calls.clear()  # hung on a call from before, a result would lead around it
        for message in new:
            self._add(message)

    async def record_results(self, results: tuple[Message, ...]) -> None:
        """Write results as their tools finish, whatever their place will be: a crash then
        finds what was done. `record` fills in those that stand in front of them."""
        self._open()
        for message in results:
            if message.id not in self._known:
                self._add(message)
                self._ahead.add(message.id)

    async def record_mended(self, messages: tuple[Message, ...]) -> None:
        """Write, for each message that replaces one, that it does."""
        self._open()
        for message in messages:
            if message.replaces is not None and message.id not in self._known:
                self._add(message)

    def take_up(self) -> Reading:
        """What the file holds; from here on nobody else may write it. Raises TranscriptError."""
        self.close()
        return self._open() or Reading()

    async def aclose(self) -> None:
        self.close()

    def close(self) -> None:
        """Name the last prompt, for session lists, and close the file. May be called twice."""
        if self._file is None:
            return
        try:
            if self._prompt is not None:
                words = " ".join(self._prompt.text.split())[:_LAST_PROMPT]
                line = {
                    "type": "last-prompt",
                    "lastPrompt": words,
                    "leafUuid": self._tip,
                    "sessionId": self.facts.session_id,
                }
                self._write(encoded(line) + b"\n")
        except TranscriptError:
            pass  # a full disk: the messages are there, only the list lacks a line
        finally:
            os.close(self._file)
            self._file = None

    def _settled(self, message: Message) -> bool:
        """Whether this message and all in front of it are written."""
        return message.id in self._known and message.id not in self._ahead

    def _add(self, message: Message) -> None:
        if message.replaces is not None:
            entries: tuple[Entry, ...] = (mended_of(message, parent=self._tip),)
        else:
            entries = entries_of(message, parent=self._tip, calls=self._calls)
        if message.kind is Kind.PROMPT and message.replaces is None:
            self._prompt = message  # what the user said, whatever became of it
        self._append(entries)
        if message.kind is Kind.PROMPT:
            self._sync()
        self._known.add(message.id)
        self._tip = entries[-1]["uuid"]
        if message.replaces is None:
            for entry, block in zip(entries, message.content, strict=False):
                if isinstance(block, ToolUse):
                    self._calls[block.id] = entry["uuid"]
        self.show(Recorded(message))

    def _append(self, entries: tuple[Entry, ...] | list[Entry]) -> None:
        moment = datetime.fromtimestamp(self.now(), UTC)
        stamp = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        lines = [encoded(self._whole(entry, stamp)) + b"\n" for entry in entries]
        self._write(b"".join(lines))

    def _whole(self, entry: Entry, stamp: str) -> Entry:
        # The common keys stand before the message: readers that scan a line as text find these.
        keys = dict(entry)
        message = keys.pop("message", None)
        keys |= {"timestamp": stamp} | self.facts.keys
        if entry["type"] == "user":
            keys["promptId"] = self._prompt.id if self._prompt else None
            if self.facts.permission_mode is not None:
                keys["permissionMode"] = self.facts.permission_mode
        return keys if message is None else keys | {"message": message}

    def _write(self, data: bytes) -> None:
        if self._torn:
            data = b"\n" + data
        rest = memoryview(data)
        try:
            while rest and self._file is not None:
                rest = rest[os.write(self._file, rest) :]
        except OSError as error:
            self._torn = self._torn or len(rest) < len(data)
            raise self._failed(error) from error
        self._torn = False

    def _open(self) -> Reading | None:
        """Be its one writer; what was written before, where that is read now."""
        if self._file is not None:
            return None
        try:
            self._file, is_new = self._locked()
            size = os.fstat(self._file).st_size
            # A crash may have cut the last line: ours must not be glued to it.
            self._torn = bool(size) and os.pread(self._file, 1, size - 1) != b"\n"
            if is_new:
                _sync_folder(self.path.parent)
        except OSError as error:
            raise self._failed(error) from error
        if not size:
            return None
        earlier = read(self.path)
        self._known |= earlier.known
        self._calls |= earlier.calls
        self._tip = earlier.tip
        return earlier

    def _locked(self) -> tuple[int, bool]:
        """The file, ours alone until it is closed; and whether it is new."""
        private_folder(self.path.parent)
        is_new = not self.path.exists()
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        file = os.open(self.path, flags, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            raise TranscriptError(
                str(self.path),
                "another process is writing this session: end that one, or go on in a branch "
                "(--fork-session)",
            ) from None
        except OSError:
            pass  # a file system without locks
        return file, is_new

    def _sync(self) -> None:
        if self._file is None:
            return
        try:
            os.fsync(self._file)
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> TranscriptError:
        return TranscriptError(str(self.path), f"cannot be written: {error.strerror or error}")


def private_folder(path: Path) -> None:
    """Make `path`, and each folder above it that is missing, for its owner's eyes only."""
    missing = []
    while not path.is_dir():
        missing.append(path)
        path = path.parent
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)


def _sync_folder(path: Path) -> None:
    # A new file is only safe on the disk when the folder that names it is.
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder)
    except OSError:
        pass  # some file systems know no such thing
    finally:
        os.close(folder)
