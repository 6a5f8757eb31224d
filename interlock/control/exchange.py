"""Requests of both sides under way at once: who asked what, and where its answer goes.

Each is answered once, in any order, and none waits for another. Knows the envelope and nothing of
what is asked.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias
from uuid import uuid4

import anyio
from anyio.abc import TaskGroup
from attrs import define, field

from interlock.control.wire import Answered, Asked
from interlock.errors import InterlockError
from interlock.quiet import Quiet

_log = Quiet(__name__)

Json: TypeAlias = dict[str, Any]
Handler: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[Json | None]]


class HostRefused(Exception):
    """The host answered a request of ours with an error; the text is its own."""


class HostGone(HostRefused):
    """Nobody is there to answer: the host has closed its side."""


@define(eq=False)
class _Pending:
    answer: Answered | None = None
    came: anyio.Event = field(factory=anyio.Event)


@define(eq=False, kw_only=True)
class Exchange:
    """`write` sends one frame. `handlers` does what the host asks, by its subtype."""

    write: Callable[[Json], None]
    handlers: dict[str, Handler] = field(factory=dict)
    _tasks: TaskGroup | None = None
    _pending: dict[str, _Pending] = field(factory=dict)
    _serving: dict[str, anyio.CancelScope] = field(factory=dict)
    _gone: bool = False

    def begin(self, tasks: TaskGroup) -> None:
        """What the host asks is done in these tasks."""
        self._tasks = tasks

    # --- ours ----------------------------------------------------------------------------------

    async def ask(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """Ask the host. Cancelled, it withdraws the question. Raises HostRefused."""
        if self._gone:
            raise HostGone("the program that drives this session has closed its side")
        id_, pending = str(uuid4()), _Pending()
        self._pending[id_] = pending
        self.write({"type": "control_request", "request_id": id_, "request": dict(request)})
        try:
            await pending.came.wait()
        finally:
            del self._pending[id_]
            if not pending.came.is_set():
                self.write({"type": "control_cancel_request", "request_id": id_})
        if pending.answer is None:
            raise HostGone("the program that drives this session closed its side unasked")
        if pending.answer.error is not None:
            raise HostRefused(pending.answer.error)
        return pending.answer.response

    def take(self, answer: Answered) -> None:
        """An answer came; one that nobody waits for any more is passed over."""
        pending = self._pending.get(answer.request_id)
        if pending is not None:
            pending.answer = answer
            pending.came.set()

    def close(self) -> None:
        """The host says nothing more: what waits for it waits in vain."""
        self._gone = True
        for pending in self._pending.values():
            pending.came.set()

    # --- the host's ----------------------------------------------------------------------------

    def serve(self, asked: Asked) -> None:
        """Do what is asked, beside all else, and answer."""
        assert self._tasks is not None
        self._tasks.start_soon(self._served, asked)

    def withdraw(self, request_id: str) -> None:
        """The host no longer wants to know."""
        scope = self._serving.get(request_id)
        if scope is not None:
            scope.cancel()

    async def _served(self, asked: Asked) -> None:
        with anyio.CancelScope() as scope:
            self._serving[asked.request_id] = scope
            try:
                await self._answer(asked)
            finally:
                self._serving.pop(asked.request_id, None)

    async def _answer(self, asked: Asked) -> None:
        handler = self.handlers.get(asked.subtype)
        if handler is None:
            self.refuse(asked.request_id, f"a request {asked.subtype!r} is not known here")
            return
        try:
            response = await handler(asked.fields)
        except (InterlockError, ValueError) as error:
            self.refuse(asked.request_id, str(error))
        except Exception as error:  # one request that breaks must not end the session
            _log.debug("control request broke", subtype=asked.subtype, exc_info=True)
            self.refuse(asked.request_id, f"internal error: {type(error).__name__}: {error}")
        else:
            self.answer(asked.request_id, response or {})

    def answer(self, request_id: str, response: Json) -> None:
        body = {"subtype": "success", "request_id": request_id, "response": response}
        self.write({"type": "control_response", "response": body})

    def refuse(self, request_id: str, error: str) -> None:
        body = {"subtype": "error", "request_id": request_id, "error": error}
        self.write({"type": "control_response", "response": body})
