"""Calling a function of the caller's: an async one here, any other in a thread of its own."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

import anyio.to_thread

G = TypeVar("G")
R = TypeVar("R")


async def called(function: Callable[[G], R | Awaitable[R]], given: G) -> R:
    """What it returns. A thread that is cancelled is left behind: nothing can end one."""
    if inspect.iscoroutinefunction(function):
        return cast("R", await function(given))
    said = await anyio.to_thread.run_sync(function, given, abandon_on_cancel=True)
    return cast("R", await said) if inspect.isawaitable(said) else said
