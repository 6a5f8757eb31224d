"""What a recorder writes on: one line for each thing a port gave, in the order of the run.

The interrupt is no port that gives something: it comes at some moment. That moment is told by
what stands around it, and by how often the run had looked for it since the line before.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import IO, Any, TypeVar

import anyio
from attrs import define

from interlock.drive import one_line
from interlock.recording.codec import Pool
from interlock.recording.form import Json, line_of
from phases.world.ports import Interrupt

T = TypeVar("T")


@define
class Tape:
    """Lines of one run on their way into its file; `problem` once one could not be written."""

    file: IO[bytes]
    interrupt: Interrupt
    pool: Pool
    problem: OSError | None = None
    _looks: int = 0  # since the last line
    _told: bool = False  # the interrupt is on it

    def __attrs_post_init__(self) -> None:
        self.pool.added = lambda _, said: self.put({"message": said})

    def put(self, line: dict[str, Json]) -> None:
        """One line. A disk that is full ends the recording, never the run."""
        if self.problem is not None:
            return
        try:
            self.file.write(line_of(line))
        except OSError as error:
            self.problem = error

    def close(self) -> None:
        """Close the file. What a full disk has refused does not come back as an error here."""
        try:
            self.file.close()
        except OSError as error:
            self.problem = self.problem or error

    def flush(self) -> None:
        """Behind this a kill takes away nothing of what was put."""
        if self.problem is not None:
            return
        try:
            self.file.flush()
        except OSError as error:
            self.problem = error

    def piece(self, said: Json) -> None:
        """A piece of an answer. It decides nothing, so it need not outlive a kill by itself."""
        self._tell_interrupt()
        self.put({"on": "model.event", "gave": said})
        self._looks = 0

    def look(self) -> None:
        """The run is about to look whether the user wants to stop."""
        self._tell_interrupt()
        self._looks += 1

    def gave(self, on: str, value: Json = None) -> None:
        """`value` is JSON already."""
        self._line(on, {"gave": value})

    def raised(self, on: str, error: BaseException) -> None:
        """Cancelled, or broken by an exception."""
        if isinstance(error, anyio.get_cancelled_exc_class()):
            self._line(on, {"cut": True})
        elif isinstance(error, Exception):
            self._line(on, {"raised": one_line(error)})

    async def through(self, on: str, work: Awaitable[T]) -> T:
        """What `work` gives, on the tape as well."""
        try:
            value = await work
        except BaseException as error:  # noted, cancelled or broken, and on its way
            self.raised(on, error)
            raise
        self.gave(on, self.pool.encoded(value))
        return value

    def at_once(self, on: str, work: Callable[[], T]) -> T:
        """The same where nothing waits."""
        try:
            value = work()
        except Exception as error:  # noted, and on its way; where nothing waits nothing is cut
            self.raised(on, error)
            raise
        self.gave(on, self.pool.encoded(value))
        return value

    def _line(self, on: str, said: dict[str, Any]) -> None:
        self._tell_interrupt()
        self.put({"on": on, **said})
        self.flush()
        self._looks = 0

    def _tell_interrupt(self) -> None:
        if self._told or not self.interrupt.requested:
            return
        self._told = True
        self.put({"on": "interrupt", "after": self._looks})
        self._looks = 0
