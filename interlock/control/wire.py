"""What a host may say, one JSON object a line: read from a descriptor, checked, made values.

Unknown types are passed over, so that newer hosts can say more. A line that is no JSON is the end:
nobody can tell what was meant by it, or by what follows.
"""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import anyio
import anyio.from_thread
import orjson
from attrs import define, frozen

from interlock.errors import UsageError
from interlock.sessions.blocks import block_of
from phases.world.messages import Media, Opaque, Text

_CHUNK = 1 << 16
_SHOWN = 60  # characters of a line that cannot be read


class BadLine(UsageError):
    """A line that cannot be understood."""


@frozen(kw_only=True)
class Said:
    """A prompt. `verbatim`: a program wrote it, so no word of it is a command or names a file."""

    content: tuple[Text | Media | Opaque, ...]
    uuid: str | None = None
    verbatim: bool = False


@frozen(kw_only=True)
class Asked:
    """The host wants something done. `fields` are the request's own."""

    request_id: str
    subtype: str
    fields: Mapping[str, Any]


@frozen(kw_only=True)
class Answered:
    """The host's answer to a request of ours; `error` None: it succeeded."""

    request_id: str
    response: Mapping[str, Any]
    error: str | None = None


@frozen(kw_only=True)
class Withdrawn:
    """The host no longer wants the answer to a request of its own."""

    request_id: str


Frame = Said | Asked | Answered | Withdrawn


def frame_of(line: bytes) -> Frame | None:
    """What a line says; None where it says nothing to us. Raises BadLine."""
    if not line.strip():
        return None
    try:
        raw = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        shown = line.strip()[:_SHOWN].decode("utf-8", "replace")
        raise BadLine(
            f"standard input: {shown!r} is no JSON ({error}); write one object a line"
        ) from None
    if not isinstance(raw, dict):
        raise BadLine(f"standard input: {line.strip()[:_SHOWN]!r} is no JSON object")
    try:
        return _frame(raw)
    except (KeyError, TypeError, AttributeError) as error:
        kind = raw.get("type")
        raise BadLine(f"standard input: a {kind} message that cannot be read: {error!r}") from None


def _frame(raw: Mapping[str, Any]) -> Frame | None:
    match raw.get("type"):
        case "user":
            return _said(raw)
        case "control_request":
            request = raw["request"]
            return Asked(
                request_id=str(raw["request_id"]),
                subtype=str(request["subtype"]),
                fields=request,
            )
        case "control_response":
            return _answered(raw["response"])
        case "control_cancel_request":
            return Withdrawn(request_id=str(raw["request_id"]))
    return None


def _answered(response: Mapping[str, Any]) -> Answered:
    error = None
    if response.get("subtype") == "error":
        error = str(response.get("error") or "it gave no reason")
    given = response.get("response")
    return Answered(
        request_id=str(response["request_id"]),
        response=given if isinstance(given, dict) else {},
        error=error,
    )


def _said(raw: Mapping[str, Any]) -> Said:
    content = raw["message"]["content"]
    uuid = raw.get("uuid")
    return Said(
        content=(Text(content),) if isinstance(content, str) else tuple(map(_part, content)),
        uuid=uuid if isinstance(uuid, str) and uuid else None,
        verbatim=raw.get("client_composed") is True,
    )


def _part(raw: Mapping[str, Any]) -> Text | Media | Opaque:
    # Where the cache is marked is our affair: a request may hold four marks and no more.
    block = block_of({key: value for key, value in raw.items() if key != "cache_control"})
    if not isinstance(block, Text | Media | Opaque):
        raise TypeError(f"a {raw.get('type')} block in a prompt")
    return block


@define(eq=False)
class Feed:
    """The lines of a descriptor, whatever it is: read by a thread, which nobody has to wait for.

    A thread, since a file or a terminal cannot be waited for like a pipe.
    """

    descriptor: int = 0

    async def frames(self) -> AsyncIterator[Frame]:
        """Each frame as it comes, until the end of input. Raises BadLine."""
        into, out = anyio.create_memory_object_stream[bytes]((1 << 31) - 1)
        token = anyio.lowlevel.current_token()

        def read() -> None:
            try:
                for line in self._lines():
                    anyio.from_thread.run_sync(into.send_nowait, line, token=token)
                anyio.from_thread.run_sync(into.close, token=token)
            except (RuntimeError, anyio.ClosedResourceError, anyio.BrokenResourceError):
                return  # the session is over: nobody reads any more

        threading.Thread(target=read, name="stdin", daemon=True).start()
        async with out:
            async for line in out:
                frame = frame_of(line)
                if frame is not None:
                    yield frame

    def _lines(self) -> Iterator[bytes]:
        rest = bytearray()
        while chunk := self._chunk():
            rest += chunk
            if b"\n" in chunk:
                *lines, last = bytes(rest).split(b"\n")
                yield from lines
                rest = bytearray(last)
        yield bytes(rest)

    def _chunk(self) -> bytes:
        try:
            return os.read(self.descriptor, _CHUNK)
        except OSError:
            return b""
