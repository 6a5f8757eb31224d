"""Code that is not ours may raise anything; what it raises is its own failure.

A cancellation it made up itself, `sys.exit()` in a parser of arguments, a KeyboardInterrupt: let
through, each would end the run or the caller's loop. A cancellation that is really ours goes on,
and so does the person's second Ctrl-C, which is raised in whatever runs at that moment.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterator
from contextlib import contextmanager

import anyio


class Escaped(Exception):
    """What foreign code raised that is no `Exception`; the text is for the model."""


@contextmanager
def contained() -> Iterator[None]:
    """Raises nothing but `Exception`s, and what ends us for a reason of our own."""
    task = asyncio.current_task()
    before = task.cancelling() if task is not None else 0
    try:
        yield
    except (Exception, GeneratorExit):  # passed on: only what is neither is looked at below
        raise
    except BaseException as raised:  # what a tool may raise and only we may mean
        if not isinstance(raised, SystemExit) and _being_cancelled():
            raise
        # A tool that cancelled the task it runs in: what it asked for has been had.
        while task is not None and task.cancelling() > before:
            task.uncancel()
        raise Escaped(_told(raised)) from raised


def _being_cancelled() -> bool:
    """Whether a scope around us is cancelled: every cancellation of ours is one of a scope."""
    return anyio.current_effective_deadline() == -math.inf


def _told(raised: BaseException) -> str:
    said = f"{type(raised).__name__}: {raised}" if str(raised) else type(raised).__name__
    match raised:
        case asyncio.CancelledError():
            return f"it was cancelled, and not from here ({said})"
        case SystemExit():
            return f"it called for the end of the whole program ({said})"
    return said
