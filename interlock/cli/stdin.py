"""The prompt from standard input, without ever waiting for what may not come.

With no prompt argument there is nothing else to wait for: all of it is read. Beside one, a file
is read whole, and a pipe only if data arrives within `FIRST_S`: a script may well have started
us with a pipe that nobody will ever write to or close. What has begun is read on until a pause
of `PAUSE_S`.
"""

from __future__ import annotations

import os
import select
import stat
from collections.abc import Callable

FIRST_S = 1.0  # a shell starts both ends of a pipe at once; who writes later writes too late
TELL_S = 3.0  # then say what we wait for
PAUSE_S = 60.0  # long enough for a build to pause, short enough to end some day


def read_beside_argument(descriptor: int, tell: Callable[[str], None]) -> str:
    """What standard input holds beside a prompt that was given as an argument."""
    try:
        if os.isatty(descriptor):
            return ""
        mode = os.fstat(descriptor).st_mode
    except OSError:
        return ""
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
        return _text(_until_end(descriptor))
    if not _ready(descriptor, FIRST_S):
        tell(
            f"nothing came on standard input within {FIRST_S:g} s, going on without it "
            "(< /dev/null says at once that nothing will)"
        )
        return ""
    read = bytearray()
    while _ready(descriptor, PAUSE_S):
        chunk = _chunk(descriptor)
        if not chunk:
            return _text(read)
        read += chunk
    tell(f"standard input paused for {PAUSE_S:g} s, going on with what came")
    return _text(read)


def read_alone(descriptor: int, tell: Callable[[str], None]) -> str:
    """All of standard input, where the prompt can come from nowhere else; "" at a terminal."""
    try:
        if os.isatty(descriptor):
            return ""
        if not _ready(descriptor, TELL_S):
            tell("waiting for the prompt on standard input")
        return _text(_until_end(descriptor))
    except OSError:
        return ""


def joined(argument: str | None, piped: str) -> str:
    """One prompt from both: the argument says what to do, the rest is what with."""
    return "\n\n".join(part for part in (argument or "", piped.rstrip("\n")) if part.strip())


def _until_end(descriptor: int) -> bytes:
    read = bytearray()
    while chunk := _chunk(descriptor):
        read += chunk
    return bytes(read)


def _chunk(descriptor: int) -> bytes:
    while True:
        try:
            return os.read(descriptor, 1 << 16)
        except BlockingIOError:
            select.select([descriptor], [], [])
        except OSError:  # a folder, or a reader that may not read
            return b""


def _ready(descriptor: int, seconds: float) -> bool:
    waiting = select.poll()  # unlike select: any descriptor number, and it tells of a hang-up
    waiting.register(descriptor, select.POLLIN)
    return bool(waiting.poll(seconds * 1000))


def _text(data: bytes | bytearray) -> str:
    return data.decode("utf-8", "replace")
