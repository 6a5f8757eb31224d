"""What a scripted server has seen: requests, faults, clients that left. Safe from any thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from interlock.scripted.sources import SentRequest


class Journal:
    """Written by the server's loop, read by anyone, awaited only in the server's loop."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: list[SentRequest] = []
        self._counts: list[SentRequest] = []
        self._faults: list[str] = []
        self._disconnected: list[int] = []
        self._waiting: list[tuple[Callable[[], bool], asyncio.Future[None]]] = []

    @property
    def requests(self) -> tuple[SentRequest, ...]:
        with self._lock:
            return tuple(self._requests)

    @property
    def counts(self) -> tuple[SentRequest, ...]:
        with self._lock:
            return tuple(self._counts)

    @property
    def faults(self) -> tuple[str, ...]:
        with self._lock:
            return tuple(self._faults)

    @property
    def disconnected(self) -> tuple[int, ...]:
        with self._lock:
            return tuple(self._disconnected)

    def request(self, request: SentRequest, *, counting: bool) -> None:
        with self._lock:
            (self._counts if counting else self._requests).append(request)
        self._wake()

    def fault(self, line: str) -> None:
        with self._lock:
            self._faults.append(line)

    def left(self, number: int) -> None:
        with self._lock:
            self._disconnected.append(number)
        self._wake()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Return as soon as `holds` is true; it is asked again after each entry."""
        if holds():
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((holds, future))
        await future

    def _wake(self) -> None:
        for entry in [*self._waiting]:
            holds, future = entry
            if future.done() or holds():
                self._waiting.remove(entry)
                if not future.done():
                    future.set_result(None)
