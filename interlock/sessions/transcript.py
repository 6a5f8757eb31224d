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

from interlock.durability import Disk, Moment, mend_of
from interlock.errors import FolderError, SessionBusy, TranscriptError
from interlock.sessions.entries import Entry, boundary_of, entries_of, mended_of
from interlock.sessions.facts import Facts
from interlock.sessions.names import Names
from interlock.sessions.reading import Reading, read
from phases.world.messages import Kind, Message, ToolUse, encoded
from phases.world.updates import Notice, Recorded, Show, Update

_LAST_PROMPT = 200  # characters; session lists show one line
_LAYERS = 4  # folders whose names lead to a transcript and may be new: those of home, and its own
_LOCK_WAITS_S = (0.01, 0.05, 0.2, 0.3, 0.5)  # before a lock counts as another's


def _nobody(update: Update) -> None:
    """Nobody watches."""


def _nothing() -> None:
    """It stands alone."""


class Transcript:
    """The `History` port over one file.

    The file is made with the first message: a session in which nothing was said leaves none. A
    file that is there is continued, unless the session is `new`. `show` and `now` may be replaced
    between prompts; `disk` says when what was written is forced onto it.
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
        disk: Disk | None = None,
        new: bool = False,
    ) -> None:
        self.path = path
        self.disk = disk or Disk()
        self.facts = Facts.of(
            session_id,
            cwd,
            entrypoint=entrypoint,
            permission_mode=permission_mode,
            agent_id=agent_id,
        )
        self.show = show
        self.now = now
        self.beside = _nothing  # forces what lies beside it onto the disk, at the same moments
        self._known: set[str] = set()
        self._ahead: set[str] = set()  # written before messages that stand in front of them
        self._calls: dict[str, str] = {}
        self._tip: str | None = None
        self._begun = False  # whether the history that goes on holds anything
        self._prompt: Message | None = None
        self._file: int | None = None
        self._identity: tuple[int, int] | None = None  # of the file, for who replaces it
        self._new = new  # a file that is there already is then another session's
        self._torn = False
        self._names = Names()
        self._unsynced = False
        self._new_names: list[Path] = []  # folders that the disk may not have as they are now

    async def record(self, messages: tuple[Message, ...]) -> None:
        """Write those at the end that are not written yet, in order, and show them.

        A first message that was never written stands for all before it. All is with the operating
        system when this returns, and on the disk as far as `disk` wants it. Raises
        TranscriptError.
        """
        if not messages:
            return
        try:
            self._open()
        except TranscriptError as error:
            error.unwritten = tuple(one for one in messages if not self._settled(one))
            raise
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
        unheard = first.id not in self._known and first.replaces is None
        if unheard and self._begun and self._tip is not None:
            entry = boundary_of(messages, after=self._tip)
            self._append([entry])
            self._tip = entry["uuid"]
            self._calls.clear()  # hung on a call from before, a result would lead around it
        for written, message in enumerate(new):
            try:
                self._add(message)
            except TranscriptError as error:
                error.unwritten = tuple(one for one in new[written:] if not self._settled(one))
                raise

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
        replacing = [message for message in messages if message.replaces is not None]
        if not replacing:
            return
        self._open()
        for message in replacing:
            if message.id not in self._known:
                self._add(message)

    def settle(self, moment: Moment) -> None:
        """Wait for the disk, if the policy wants it at this moment. Raises TranscriptError."""
        if self._file is None or not self.disk.wants(moment):
            return
        self.beside()
        try:
            if self._unsynced:
                self.disk.sync(self._file)
                self._unsynced = False
            if self._new_names:
                self.disk.sync_folders(self._new_names)
                self._new_names.clear()
        except OSError as error:
            raise self._failed(error) from error

    def end_run(self) -> None:
        """Wait for the disk likewise; a run that is over can only tell that it fails."""
        try:
            self.settle(Moment.END)
        except TranscriptError as error:
            self.show(Notice("error", str(error)))

    def take_up(self, at: str | None = None) -> Reading:
        """What the file holds, up to the message `at` if one is named: new ones hang below it.

        From here on nobody else may write it. Raises TranscriptError.
        """
        self.close()
        return self._open(at) or Reading()

    @property
    def tip(self) -> str | None:
        """The entry that the next one hangs on."""
        return self._tip

    def turn_back(self, marker: Entry) -> Reading:
        """Write an entry that hangs further up, and go on from there; what now is the history.

        Nothing is taken away: what is left behind is a branch that ends.
        """
        self._open()
        self._append([marker])
        self.settle(Moment.PROMPT)
        return self._go_on_from(read(self.path))

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
            self._close()

    def _close(self) -> None:
        if self._file is not None:
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
        self._known.add(message.id)
        self._begun = True
        self._tip = entries[-1]["uuid"]
        if message.replaces is None:
            for entry, block in zip(entries, message.content, strict=False):
                if isinstance(block, ToolUse):
                    self._calls[block.id] = entry["uuid"]
        try:
            self.settle(Moment.PROMPT if message.kind is Kind.PROMPT else Moment.RECORD)
        finally:  # a disk that fails then takes nothing back: the file has it
            self.show(Recorded(message))

    def _append(self, entries: tuple[Entry, ...] | list[Entry]) -> None:
        moment = datetime.fromtimestamp(self.now(), UTC)
        stamp = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        lines = [encoded(self._whole(entry, stamp)) + b"\n" for entry in entries]
        data = b"".join(lines)
        self._write(data)
        if self._file is not None and (names := self._names.due(self._file, len(data))):
            self._write(names)

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
        self._insist_on_its_place()
        if self._torn:
            data = b"\n" + data
        rest = memoryview(data)
        try:
            while rest and self._file is not None:
                rest = rest[os.write(self._file, rest) :]
                self._unsynced = True
        except OSError as error:
            self._torn = self._torn or len(rest) < len(data)
            raise self._failed(error) from error
        self._torn = False

    def _open(self, at: str | None = None) -> Reading | None:
        """Be its one writer; what was written before, where that is read now."""
        if self._file is not None:
            return None
        try:
            private_folder(self.path.parent)
            self._file = self._locked()
            there = os.fstat(self._file)
            self._identity, size = (there.st_dev, there.st_ino), there.st_size
            # A crash may have cut the last line: ours must not be glued to it.
            self._torn = bool(size) and os.pread(self._file, 1, size - 1) != b"\n"
        except OSError as error:
            raise self._failed(error) from error
        self._new, self._unsynced = False, True
        self._new_names = list(self.path.parents[:_LAYERS])
        if not size:
            return None
        self._names.take_up(self._file)
        return self._go_on_from(read(self.path, at))

    def _go_on_from(self, earlier: Reading) -> Reading:
        self._known |= earlier.known
        self._calls |= earlier.calls
        self._tip = earlier.tip
        self._begun = bool(earlier.messages)
        return earlier

    def _locked(self) -> int:
        """The file, ours alone until it is closed."""
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        try:
            file = os.open(self.path, flags | (os.O_EXCL if self._new else 0), 0o600)
        except FileExistsError:
            raise TranscriptError(
                str(self.path),
                "another process has just begun this session: leave --session-id out, or go on in "
                "a branch (--resume with --fork-session)",
            ) from None
        try:
            _lock(file)
        except BlockingIOError:
            os.close(file)
            raise SessionBusy(
                str(self.path),
                "another process is writing this session: end that one, or go on in a branch "
                "(--fork-session)",
            ) from None
        except OSError:
            pass  # a file system without locks
        return file

    def _insist_on_its_place(self) -> None:
        """Raise TranscriptError where the file is not the one at its path any more.

        It could still be written, but nobody would ever find it.
        """
        try:
            there = self.path.stat()
        except FileNotFoundError:
            self._let_go()
            problem = "was removed while it was being written"
            raise TranscriptError(str(self.path), problem) from None
        except OSError as error:
            raise self._failed(error) from error
        if self._identity != (there.st_dev, there.st_ino):
            problem = "another file has taken its place; move that one away"
            raise TranscriptError(str(self.path), problem)

    def _let_go(self) -> None:
        """Begin anew with the next message: then all that is still known is written again."""
        self._close()
        self._tip, self._begun, self._names = None, False, Names()
        for known in (self._known, self._ahead, self._calls):
            known.clear()

    def _failed(self, error: OSError) -> TranscriptError:
        return unwritable(self.path, error, TranscriptError)


def unwritable(path: Path, error: OSError, kind: type[TranscriptError]) -> TranscriptError:
    """The error for a file of this `kind`, or for the folder on its way that is at fault."""
    where = str(error.filename or path)
    why = f"cannot be written: {error.strerror or error}; {mend_of(error)}"
    return (kind if where == str(path) else FolderError)(where, why)


def private_folder(path: Path) -> None:
    """Make `path`, and each folder above it that is missing, for its owner's eyes only."""
    missing = []
    while not path.is_dir():
        missing.append(path)
        path = path.parent
    for folder in reversed(missing):
        folder.mkdir(mode=0o700, exist_ok=True)


def _lock(file: int) -> None:
    """Lock it. Raises BlockingIOError where another process has it.

    A process that was killed while it started a command leaves a copy of itself for a moment, and
    that holds what it held: such a lock is gone with the next try.
    """
    for wait in (*_LOCK_WAITS_S, None):
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if wait is None:
                raise
            time.sleep(wait)
