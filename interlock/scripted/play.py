"""Puts one answer on a connection, with its pauses and faults.

Which answer it is, and what is thought of the request, was decided before (server.py).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import orjson

from interlock.scripted import stream
from interlock.scripted.replies import Answer, End, RawSse, Reply, Status
from interlock.scripted.wire import Connection

_SSE = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}
_FRAMING = ("content-length", "transfer-encoding", "connection")
_STATUS_OF = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "overloaded_error": 529,
}


@attrs.frozen(kw_only=True)
class Turn:
    """What an answer needs to know of the request it answers."""

    number: int
    request_id: str
    model: str
    streaming: bool
    usage: Mapping[str, Any]
    blocks: tuple[dict[str, Any], ...]  # of a Reply, settled


class ClientLeft(Exception):
    """The client went away before its answer was whole."""


async def play(connection: Connection, answer: Answer, turn: Turn) -> None:
    """Send the answer. Raises ClientLeft when nobody listens any more."""
    await _pause(connection, answer.delay_s)
    match answer:
        case Status():
            await _status(connection, answer, turn)
        case RawSse():
            await _raw(connection, answer, turn)
        case Reply() if turn.streaming:
            await _events(connection, answer, turn)
        case Reply():
            await _message(connection, answer, turn)


async def _pause(connection: Connection, seconds: float) -> None:
    if seconds and not await connection.wait(seconds):
        raise ClientLeft


async def _status(connection: Connection, answer: Status, turn: Turn) -> None:
    headers = {"content-type": "application/json", "request-id": turn.request_id}
    headers |= {name: told for name, told in answer.headers.items() if name not in _FRAMING}
    if answer.raw_body is not None:
        body = answer.raw_body.encode()
    elif isinstance(answer.body, dict) and answer.body.get("type") == "error":
        body = orjson.dumps({**answer.body, "request_id": turn.request_id})
    else:
        body = b"" if answer.body is None else orjson.dumps(answer.body)
    await connection.answer(answer.status, headers, body)


async def _message(connection: Connection, reply: Reply, turn: Turn) -> None:
    if event := reply.error_event:
        error = stream.error_body(event.type, event.message, turn.request_id)
        status = _STATUS_OF.get(event.type, 500)
        await _status(connection, Status(status=status, body=error), turn)
        return
    message = stream.message(
        reply, turn.blocks, message_id=_id(turn), model=turn.model, usage=turn.usage
    )
    body = orjson.dumps(message)
    headers = {"content-type": "application/json", "request-id": turn.request_id}
    if reply.cut_after is None:
        await connection.answer(200, headers, body)
        return
    # Half a body under a whole length: the nearest thing to a cut stream.
    await connection.begin(200, {**headers, "content-length": str(len(body))})
    await connection.send(body[: len(body) // 2])
    await _finish(connection, reply.end if reply.end is End.STALL else End.RESET)


async def _events(connection: Connection, reply: Reply, turn: Turn) -> None:
    sent = stream.events(
        reply, turn.blocks, message_id=_id(turn), model=turn.model, usage=turn.usage
    )
    if reply.cut_after is not None:
        sent = sent[: reply.cut_after]
    if event := reply.error_event:
        sent.append(stream.error_event(event.type, event.message, turn.request_id))
    if not reply.drip_s and reply.end is End.CLOSE:
        await connection.stream(_head(turn), (b"".join(sent),))
        return
    await _paced(connection, sent, turn, reply.drip_s)
    await _finish(connection, reply.end)


async def _raw(connection: Connection, raw: RawSse, turn: Turn) -> None:
    await _paced(connection, stream.raw_pieces(raw, raw.lines), turn, 0.0)
    if raw.end is not End.REPEAT:
        await _finish(connection, raw.end)
        return
    again = b"".join(stream.raw_pieces(raw, raw.repeat))
    while await connection.wait(raw.every_s):
        await connection.send(again)
    raise ClientLeft


async def _paced(
    connection: Connection, pieces: Sequence[bytes], turn: Turn, drip_s: float
) -> None:
    await connection.begin(200, _head(turn))
    for at, piece in enumerate(pieces):
        await _pause(connection, drip_s if at else 0.0)
        await connection.send(piece)
        await asyncio.sleep(0)  # lets a client in the same loop see the pieces as pieces


async def _finish(connection: Connection, end: End) -> None:
    match end:
        case End.RESET:
            connection.reset()
        case End.STALL:
            await connection.wait(None)
            raise ClientLeft
        case _:
            await connection.end()


def _head(turn: Turn) -> dict[str, str]:
    return {**_SSE, "request-id": turn.request_id}


def _id(turn: Turn) -> str:
    return f"msg_{turn.number:08d}"
