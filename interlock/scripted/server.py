"""ScriptedServer: the Messages API on loopback, answering from a script.

Decides what each request gets: a refusal the real API would give, or the script's next answer.
The parts: wire.py (HTTP), look.py and validate.py (is it a good request), cache.py (usage),
sources.py (which answer), play.py (sending it), journal.py (what was seen).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any, Self

import attrs
import orjson

from interlock.scripted import stream
from interlock.scripted.cache import PromptCache, Reading
from interlock.scripted.journal import Journal
from interlock.scripted.look import Seen, look
from interlock.scripted.play import ClientLeft, Turn, play
from interlock.scripted.replies import Answer, RawSse, Reply, Status
from interlock.scripted.script import Script, Settings
from interlock.scripted.signatures import SignatureBook
from interlock.scripted.sources import Answers, SentRequest, source_of, unmet
from interlock.scripted.validate import Refused
from interlock.scripted.wire import BUFFER, Connection, HttpRequest

_HOST = "127.0.0.1"
_NOTHING_READ = Reading(read=0, written=0, fresh=0)
# A refusal that the script itself plans (a picture too large) is no fault of the test.
_FORESEEN = (400, 413)


class ScriptedServer:
    """`async with ScriptedServer(script) as server:` serves until the block ends."""

    def __init__(
        self,
        answers: Answers,
        settings: Settings | None = None,
        *,
        signatures: SignatureBook | None = None,
    ) -> None:
        own = answers.settings if isinstance(answers, Script) else Settings()
        self.settings = settings or own
        self.signatures = signatures or SignatureBook()
        self._source = source_of(answers)
        self._cache = PromptCache(self.settings.cache_minimum)
        self._journal = Journal()
        self._asked = 0  # HTTP requests of any kind
        self._number = 0  # of POST /v1/messages
        self._lines: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self.port = self.settings.port

    # Living

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._connected, _HOST, self.settings.port, limit=BUFFER
        )
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        lines = [*self._lines]
        for line in lines:
            line.cancel()
        await asyncio.gather(*lines, return_exceptions=True)
        await self._server.wait_closed()

    # Looking back

    @property
    def base_url(self) -> str:
        return f"http://{_HOST}:{self.port}"

    @property
    def requests(self) -> tuple[SentRequest, ...]:
        """Each POST /v1/messages so far, refused ones included."""
        return self._journal.requests

    @property
    def counts(self) -> tuple[SentRequest, ...]:
        """Each POST /v1/messages/count_tokens so far."""
        return self._journal.counts

    @property
    def disconnected(self) -> tuple[int, ...]:
        """Indexes of the requests whose client left before the answer was whole."""
        return self._journal.disconnected

    def verdict(self) -> tuple[str, ...]:
        """All that went wrong: bad requests, requests beyond the script, unmet expectations."""
        return self._journal.faults

    async def wait_for_request(self, index: int) -> SentRequest:
        """The request with this index (the first is 1), as soon as it is there."""
        await self._journal.until(lambda: len(self.requests) >= index)
        return self.requests[index - 1]

    async def wait_for_disconnect(self, index: int) -> None:
        """Return when the client of this request has left before its answer was whole."""
        await self._journal.until(lambda: index in self.disconnected)

    # Serving

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A task of our own: the one that streams would make logs its cancellation as an error.
        line = asyncio.ensure_future(self._serve(reader, writer))
        self._lines.add(line)
        line.add_done_callback(self._lines.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(reader, writer, self.settings.max_request_bytes)
        try:
            while (request := await connection.next_request()) is not None:
                await self._route(connection, request)
                if not connection.recycle():
                    return
        except (ClientLeft, ConnectionError):
            pass  # noted where it matters: in _messages
        except asyncio.CancelledError:
            writer.transport.abort()  # closing politely would wait for a client that stalls
            raise
        finally:
            writer.close()

    async def _route(self, connection: Connection, request: HttpRequest) -> None:
        self._asked += 1
        request_id = f"req_scripted_{self._asked:08d}"
        match request.method, request.path:
            case "POST", "/v1/messages":
                await self._messages(connection, request, request_id)
            case "POST", "/v1/messages/count_tokens":
                await self._count(connection, request, request_id)
            case "GET", "/health":
                body = orjson.dumps({"status": "ok", "scripted": True})
                await connection.answer(200, _json(request_id), body)
            case _, "/v1/messages" | "/v1/messages/count_tokens" | "/health":
                refused = Refused(
                    status=405, type="invalid_request_error", message="Method Not Allowed"
                )
                await _refuse(connection, refused, request_id)
            case _:
                refused = Refused(
                    status=404, type="not_found_error", message=f"Not found: {request.path}"
                )
                await _refuse(connection, refused, request_id)

    async def _messages(
        self, connection: Connection, request: HttpRequest, request_id: str
    ) -> None:
        self._number += 1
        number = self._number
        seen = look(request, self.settings, self.signatures)
        sent, reading = self._recorded(request, seen, number)
        refused = seen.refused
        foreseen = refused and _foreseen(self._source.upcoming(sent))
        if refused and not foreseen:
            self._journal.fault(f"request {number}: {refused.message}")
            await _refuse(connection, refused, request_id)
            return
        answer = self._answer(sent)
        turn = self._turn(answer, number, request_id, seen.body, reading)
        try:
            await play(connection, answer, turn)
        except (ClientLeft, ConnectionError):
            self._journal.left(number)
            raise

    async def _count(self, connection: Connection, request: HttpRequest, request_id: str) -> None:
        seen = look(request, self.settings, self.signatures, counting=True)
        self._recorded(request, seen, len(self.counts) + 1, counting=True)
        if seen.refused:
            self._journal.fault(f"count_tokens {len(self.counts)}: {seen.refused.message}")
            await _refuse(connection, seen.refused, request_id)
            return
        body = orjson.dumps({"input_tokens": seen.prompt.tokens if seen.prompt else 0})
        await connection.answer(200, _json(request_id), body)

    # Deciding

    def _recorded(
        self, request: HttpRequest, seen: Seen, number: int, *, counting: bool = False
    ) -> tuple[SentRequest, Reading]:
        reading = _NOTHING_READ
        if seen.prompt is not None and not counting:
            reading = self._cache.settle(seen.prompt)
        sent = SentRequest(
            index=number,
            path=request.path,
            headers=request.headers,
            body=seen.body,
            raw=request.body,
            problems=seen.problems,
            cache_read_share=reading.share,
            received_at=time.monotonic(),
        )
        kept = sent if self.settings.record_bodies else attrs.evolve(sent, body={}, raw=b"")
        self._journal.request(kept, counting=counting)
        return sent, reading

    def _answer(self, sent: SentRequest) -> Answer:
        try:
            answer = self._source.take(sent)
        except Exception as error:  # the user's function: its bug must not look like a hang
            answer = None
            what = f"the answering function raised {error!r}"
        else:
            what = "overrun: the script has no answer left"
        if answer is not None:
            broken = unmet(answer.expect, sent.body) if answer.expect else None
            if broken is None:
                return answer
            what = broken
        self._journal.fault(f"request {sent.index}: {what}")
        return _failure(f"scripted server, request {sent.index}: {what}")

    def _turn(
        self, answer: Answer, number: int, request_id: str, body: dict[str, Any], reading: Reading
    ) -> Turn:
        model = str(body.get("model", "scripted"))
        blocks = stream.settled(answer, number) if isinstance(answer, Reply) else ()
        if isinstance(answer, RawSse):
            self.signatures.issue(model, stream.raw_thinking(answer))
        else:
            self.signatures.issue(model, blocks)
            if isinstance(answer, Reply) and answer.stop_reason == "pause_turn":
                self.signatures.pause(blocks)
        return Turn(
            number=number,
            request_id=request_id,
            model=model,
            streaming=body.get("stream") is True,
            usage=self._usage(answer, blocks, reading),
            blocks=blocks,
        )

    def _usage(
        self, answer: Answer, blocks: tuple[dict[str, Any], ...], reading: Reading
    ) -> Mapping[str, Any]:
        if not isinstance(answer, Reply):
            return {}
        if answer.usage is not None:
            none = {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
            return {"input_tokens": 10, **none, "output_tokens": 5, **answer.usage}
        if not self.settings.cache:
            return Reading(read=0, written=0, fresh=10).usage(5)
        return reading.usage(max(1, len(orjson.dumps(blocks)) // 4))


async def _refuse(connection: Connection, refused: Refused, request_id: str) -> None:
    body = orjson.dumps(stream.error_body(refused.type, refused.message, request_id))
    await connection.answer(refused.status, _json(request_id), body)


def _foreseen(answer: Answer | None) -> bool:
    return isinstance(answer, Status) and answer.status in _FORESEEN


def _failure(message: str) -> Status:
    body = {"type": "error", "error": {"type": "api_error", "message": message}}
    return Status(status=500, headers={"x-should-retry": "false"}, body=body)


def _json(request_id: str) -> dict[str, str]:
    return {"content-type": "application/json", "request-id": request_id}
