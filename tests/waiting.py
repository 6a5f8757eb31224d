"""Waiting for what another process does and has no way to tell us: it is looked for by the clock.

Everything else in these tests is waited for by an event.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable

import anyio

PATIENCE_S = 60.0  # a busy machine may need long; a good one needs milliseconds
_LOOK_S = 0.01


async def until(holds: Callable[[], object]) -> None:
    """Return as soon as it is so. Raises TimeoutError where it never is."""
    with anyio.fail_after(PATIENCE_S):
        while not holds():  # noqa: ASYNC110 - what sets no event
            await anyio.sleep(_LOOK_S)


def wait_until(
    holds: Callable[[], object], process: subprocess.Popen[bytes] | None = None
) -> None:
    """The same, in a thread that may wait; in vain once this `process` is over."""
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert process is None or process.poll() is None
        assert time.monotonic() < end
        time.sleep(_LOOK_S)
