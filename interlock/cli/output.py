"""Standard output for results and nothing else: bytes, UTF-8, whole lines, no encoding errors."""

from __future__ import annotations

import os
import select
from collections.abc import Callable

from attrs import define


@define
class Output:
    """Writes to one descriptor. Once its reader has left it swallows everything.

    `on_gone` is called then, once: what nobody reads need not be made. `problem` says what else
    can make writing impossible, such as a full disk.
    """

    descriptor: int = 1
    on_gone: Callable[[], None] | None = None
    gone: bool = False
    problem: str | None = None

    def write(self, data: bytes) -> None:
        """Write all of `data`, however slowly it is read."""
        rest = memoryview(data)
        while rest and not self.gone:
            try:
                rest = rest[os.write(self.descriptor, rest) :]
            except BlockingIOError:  # somebody made the pipe non-blocking
                select.select([], [self.descriptor], [])
            except (BrokenPipeError, ConnectionResetError):
                self._gone(None)
            except OSError as error:
                self._gone(error.strerror or str(error))

    def text(self, text: str) -> None:
        self.write(text.encode("utf-8", "replace"))

    def _gone(self, problem: str | None) -> None:
        self.gone, self.problem = True, problem
        if self.on_gone is not None:
            self.on_gone()
