"""The SDK, imported when it is needed and not before: it is 4,000 modules.

Knows nothing of what is done with it.
"""

from __future__ import annotations

import gc
import importlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import anyio

_imported = threading.Event()


def preload() -> threading.Thread:
    """Import the SDK in a thread, so that the first request need not wait for it."""
    thread = threading.Thread(target=_import, name="preload-anthropic", daemon=True)
    thread.start()
    return thread


async def loaded() -> None:
    """Return once the SDK is imported; the event loop goes on meanwhile."""
    if not _imported.is_set():
        await anyio.to_thread.run_sync(_import)


def _import() -> None:
    with _nothing_to_collect():
        importlib.import_module("anthropic")
    _imported.set()


@contextmanager
def _nothing_to_collect() -> Iterator[None]:
    """Look for no garbage: an import of the SDK makes 200,000 objects that all stay.

    At the end they count as old, else the first look behind it would go through all of them.
    """
    if not gc.isenabled() or gc.get_freeze_count():  # somebody else has taken care of it
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.unfreeze()
        gc.enable()
