"""ServerThread: a ScriptedServer in a thread and an event loop of its own.

For callers without a loop (command lines, demos) and for benchmarks, where the server must not
share the loop that is measured.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, Self, TypeVar

from interlock.scripted.script import Settings
from interlock.scripted.server import ScriptedServer
from interlock.scripted.signatures import SignatureBook
from interlock.scripted.sources import Answers, SentRequest

T = TypeVar("T")


class ServerThread:
    """`with ServerThread(script) as server:` serves until the block ends."""

    def __init__(
        self,
        answers: Answers,
        settings: Settings | None = None,
        *,
        signatures: SignatureBook | None = None,
    ) -> None:
        self._server = ScriptedServer(answers, settings, signatures=signatures)
        self._thread = threading.Thread(target=self._run, name="scripted-server", daemon=True)
        self._ready = threading.Event()
        self._failed: BaseException | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        if self._failed is not None:
            raise self._failed
        return self

    def __exit__(self, *_: object) -> None:
        assert self._loop is not None
        assert self._stop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        except (OSError, OverflowError) as error:  # a port that is taken, or none at all
            self._failed = error
        finally:
            self._ready.set()

    async def _main(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        async with self._server:
            self._ready.set()
            await self._stop.wait()

    @property
    def base_url(self) -> str:
        return self._server.base_url

    @property
    def port(self) -> int:
        return self._server.port

    @property
    def requests(self) -> tuple[SentRequest, ...]:
        return self._server.requests

    @property
    def counts(self) -> tuple[SentRequest, ...]:
        return self._server.counts

    @property
    def disconnected(self) -> tuple[int, ...]:
        return self._server.disconnected

    @property
    def signatures(self) -> SignatureBook:
        return self._server.signatures

    def verdict(self) -> tuple[str, ...]:
        return self._server.verdict()

    def wait_for_request(self, index: int, timeout: float = 10.0) -> SentRequest:
        """Block until the request is there; TimeoutError after `timeout` seconds."""
        return self._wait(self._server.wait_for_request(index), timeout)

    def wait_for_disconnect(self, index: int, timeout: float = 10.0) -> None:
        """Block until the client of this request has left; TimeoutError after `timeout`."""
        self._wait(self._server.wait_for_disconnect(index), timeout)

    def _wait(self, coroutine: Coroutine[Any, Any, T], timeout: float) -> T:
        assert self._loop is not None
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result(timeout)
        finally:
            future.cancel()
