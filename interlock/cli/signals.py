"""Ctrl-C and SIGTERM: the first stops the run, which then closes its transcript by itself.

Plain handlers, not the event loop's: they must also work before there is a loop, and while a
write to a reader that does not read holds it up.
"""

from __future__ import annotations

import asyncio
import os
import signal
import termios
import threading
from collections.abc import Callable
from errno import EIO
from types import FrameType

from attrs import define, field

from interlock.cli.main import complain

_CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
_GRACE_S = 4.0  # who sends SIGTERM sends SIGKILL some five seconds later; then we are gone


class Stopped(KeyboardInterrupt):
    """A signal came while nothing was running that would have to be closed."""

    def __init__(self, code: int) -> None:
        self.code = code
        super().__init__()


@define
class Signals:
    """`code` is the exit code that the first signal asks for, or None."""

    code: int | None = None
    _count: int = 0
    _stop: Callable[[], None] | None = None
    _loop: asyncio.AbstractEventLoop | None = field(default=None, repr=False)

    def install(self) -> None:
        for number in _CODES:
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup wants it ignored
                signal.signal(number, self._came)

    def attach(self, loop: asyncio.AbstractEventLoop, stop: Callable[[], None]) -> None:
        """From now on a signal calls `stop`, on the loop's own time."""
        self._loop, self._stop = loop, stop

    def forget(self) -> None:
        """What a Ctrl-C has stopped is over: the next one is a first one again."""
        if self.code == _CODES[signal.SIGINT]:
            self.code, self._count = None, 0

    def settled(self) -> None:
        """The exit code stands: one more signal, while Python itself ends, changes nothing."""
        if self.code is not None:
            for number in _CODES:
                signal.signal(number, signal.SIG_IGN)

    def _came(self, number: int, frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            _leave_closed_terminal()
        code = _CODES[signal.Signals(number)]
        self.code = self.code or code
        self._count += 1
        if self._loop is None or self._stop is None:
            raise Stopped(code)
        if self._count >= 3:
            os._exit(code)
        if self._count == 2:
            complain("already stopping; once more to leave at once")
        if number != signal.SIGINT:
            watchdog = threading.Timer(_GRACE_S, os._exit, (code,))
            watchdog.daemon = True
            watchdog.start()
        self._loop.call_soon_threadsafe(self._stop)


def _leave_closed_terminal() -> None:
    """Put what would be written to a terminal that is closed nowhere: else each write fails, those
    that save the session behind them."""
    for stream in (1, 2):
        try:
            termios.tcgetattr(stream)
        except termios.error as error:
            if error.args[0] == EIO:
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream)
                os.close(nowhere)
