"""The model port over the Anthropic SDK, which is used as a bare transport.

The SDK gives the connection, the credentials and the error classes. The request bytes are ours
(`request.py`, `turns.py`), and so is the reading of the stream (`sse.py`, `reply.py`): its own
builder and accumulator cost several times the CPU and take a cut reply for a whole one. It never
retries: trying again is an edge of the loop. The SDK is imported when the first request leaves;
`loading` does it earlier.
"""

from __future__ import annotations

import copy
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, cast

import anyio
import orjson
from attrs import evolve

from interlock.model.answer import Answer, foreseen
from interlock.model.connection import Connection
from interlock.model.loading import loaded
from interlock.model.prices import facts
from interlock.model.refusals import names_context, names_deferral
from interlock.model.request import Gate, ToolSource
from interlock.model.thinks import Thinks
from phases.world.limits import Limits
from phases.world.messages import encoded
from phases.world.ports import Clock, Failed, Ids, ModelEvent, Request

if TYPE_CHECKING:
    import httpx2

_COUNT_S = 5.0  # a count saves a little room; it is not worth a longer wait
_CANNOT = (404, 405, 501)  # answers of servers that know no such address
# Internal to the SDK, and pinned by a test: the answer comes back as a live httpx2.Response.
RAW_RESPONSE = {"X-Stainless-Raw-Response": "stream"}
# Without this the API refuses `context_management`.
EDITING_BETA = "context-management-2025-06-27"
TASK_BUDGET_BETA = "task-budgets-2026-03-13"  # and this one for a budget of the task


class AnthropicModel:
    """Implements `phases.world.ports.Model` for one loop.

    What is None is read from the environment by the SDK, as its users know it. `api_key` goes
    before `auth_token`. `headers` go before all others. `context_management` is what each request
    then asks of the server: see `interlock/context/microcompact.py`. `undefer` is called once the
    server has refused deferred tools: `tools` then defers none. `user_context` stands in front of
    what the user says: see `interlock/context/inject.py`; `context_name` is what it is called
    where it is refused and left out.
    """

    def __init__(
        self,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        auth_token: str | None = None,
        system: tuple[str, ...] = (),
        tools: Sequence[Mapping[str, Any]] | ToolSource = (),
        undefer: Callable[[], None] | None = None,
        limits: Limits | None = None,
        thinking_budget: int | None = None,
        thinking_off: bool = False,
        thinking_display: str | None = None,
        output_config: Mapping[str, Any] | None = None,
        betas: Sequence[str] = (),
        headers: Mapping[str, str] | None = None,
        raw_events: bool = False,
        context_management: Mapping[str, Any] | None = None,
        user_context: str | None = None,
        context_name: str = "the user context",
        clock: Clock | None = None,
        ids: Ids | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.raw_events = raw_events
        self.time: Callable[[], float] = clock.time if clock else time.time
        self.new_id: Callable[[], str] = ids.new if ids else lambda: str(uuid.uuid4())
        self._thinking = Thinks(budget=thinking_budget, off=thinking_off, display=thinking_display)
        self._gate = Gate(
            system=system,
            tools=tools,
            thinking=self._thinking,
            user_context=user_context,
            context_name=context_name,
        )
        self._editing = _edits(context_management)
        self._output_config = dict(output_config or {})
        self._effort: str | None = None  # in place of what that says
        if "task_budget" in self._output_config:
            betas = (*betas, TASK_BUDGET_BETA)
        if context_management is not None:
            betas = (*betas, EDITING_BETA)
        key = api_key.strip() if api_key else None
        self._connection = Connection(
            base_url=base_url,
            api_key=key,
            auth_token=auth_token.strip() if auth_token and not key else None,
            headers=_with_betas(headers or {}, betas),
            most=self.limits.max_concurrent_requests,
        )
        self._undefer = undefer
        self._counts = True  # until the server has no such address

    def beside(
        self,
        *,
        system: tuple[str, ...],
        tools: Sequence[Mapping[str, Any]] | ToolSource,
        user_context: str | None = None,
        context_name: str = "the user context",
        context_management: Mapping[str, Any] | None = None,
        effort: str | None = None,
    ) -> AnthropicModel:
        """Another one on the same connections, for an agent that is told and offered other things.

        It need not be closed.
        """
        other = copy.copy(self)
        other._effort = effort or self._effort
        other._gate = Gate(
            system=system,
            tools=tools,
            thinking=self._thinking,
            user_context=user_context,
            context_name=context_name,
        )
        if context_management is not None:
            other._editing = _edits(context_management)
        return other

    def think(self, budget: int | None) -> None:
        """From the next prompt on with this budget; 0: not at all; None: as it was made."""
        self._gate.thinking = (
            self._thinking if budget is None else Thinks(budget=budget or None, off=budget == 0)
        )

    def spend(self, effort: str | None) -> None:
        """How much is spent on answers from the next request on; None: as the model has it."""
        self._effort = effort

    async def ask(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        """Make one request. The last event is `Replied` or `Failed`.

        Use `contextlib.aclosing`: a consumer that leaves early closes the connection with it.
        Raises HistoryError where the history cannot be sent, a bug of whoever made it.
        """
        known = facts(request.model)
        outgoing = self._gate.build(
            request,
            most_output=known.most_output if known else None,
            adaptive=known is not None and known.adaptive,
        )
        await loaded()
        config = dict(self._output_config)
        if self._effort is not None and (known is None or known.adaptive):  # others refuse it
            config["effort"] = self._effort
        if config:
            body = b'%b,"output_config":%b}' % (outgoing.body[:-1], encoded(config))
            outgoing = evolve(outgoing, body=body)
        answer = Answer(self, request, outgoing)
        try:
            while not answer.over:
                for event in await answer.more():
                    yield event
        finally:
            await answer.close()
        ended = answer.end()
        if isinstance(ended, Failed) and names_context(ended.failure):
            # In no history, so no one else can take it out. Whoever asks again asks without it.
            self._gate.leave_out_context()
        if isinstance(ended, Failed) and names_deferral(ended.failure) and self._undefer:
            self._undefer()
        yield ended

    async def count(self, request: Request) -> int | None:
        """The tokens that `request` would read, as the server counts them.

        None where it does not say so in time. A server that cannot count is asked once.
        """
        if not self._counts:
            return None
        known = facts(request.model)
        adaptive = known is not None and known.adaptive
        body = self._gate.build(request, counting=True, adaptive=adaptive).body
        await loaded()
        with anyio.move_on_after(_COUNT_S):
            try:
                async with aclosing(await self.post(body, counting=True)) as answer:
                    told = orjson.loads(await answer.aread()).get("input_tokens")
                return told if isinstance(told, int) and told > 0 else None
            except foreseen() as error:
                self._counts = getattr(error, "status_code", None) not in _CANNOT
            except (ValueError, AttributeError):
                self._counts = False  # an answer of something else than the Messages API
        return None

    async def post(self, body: bytes, *, counting: bool = False) -> httpx2.Response:
        """The live answer to a request; for `Answer`, which must close it."""
        import httpx2
        from anthropic import AsyncStream

        client = self._connection.client()
        kind = "application/json" if counting else "text/event-stream"
        headers = {**RAW_RESPONSE, "Accept": kind}
        if client.api_key is not None and "x-api-key" not in map(
            str.lower, self._connection.headers
        ):
            # The SDK sends the key as a bearer token only; servers like the API's own, and most
            # gateways, look for this header too.
            headers["x-api-key"] = client.api_key
        if self._editing and not counting:
            body = b"%b%b}" % (body[:-1], self._editing)
        answer = await client.post(
            "/v1/messages/count_tokens" if counting else "/v1/messages",
            content=body,
            cast_to=httpx2.Response,
            stream=True,
            stream_cls=AsyncStream[bytes],
            options={"headers": headers},
        )
        return cast(httpx2.Response, answer)  # what that header makes of it

    @property
    def address(self) -> str:
        """Where requests go, without path and credentials."""
        return self._connection.address

    async def aclose(self) -> None:
        """Close the connections. A later request opens new ones."""
        await self._connection.aclose()


def _edits(context_management: Mapping[str, Any] | None) -> bytes:
    """The end of a request that asks for these edits of its context."""
    if context_management is None:
        return b""
    return b',"context_management":%b' % encoded(dict(context_management))


def _with_betas(headers: Mapping[str, str], betas: Sequence[str]) -> dict[str, str]:
    """`headers` with more betas; what the user named stays."""
    if not betas:
        return dict(headers)
    name = next((name for name in headers if name.lower() == "anthropic-beta"), "anthropic-beta")
    named = [one.strip() for one in headers.get(name, "").split(",") if one.strip()]
    return {**headers, name: ",".join(dict.fromkeys((*named, *betas)))}
