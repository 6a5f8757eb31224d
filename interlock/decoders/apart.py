"""The near side: give a decoder's process its bytes, get its answer, end it in any case."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Any

import anyio
import orjson
from anyio.abc import ByteReceiveStream, ByteSendStream
from attrs import frozen

TIME_LIMIT_S = 30.0
_MOST_SAID = 64 << 20  # bytes; no decoder makes that much of a file that may be read
_ROOT = Path(__file__).parent.parent.parent  # where the package `interlock` lies


class Decoder(StrEnum):
    """A module of this package that can be run."""

    PICTURE = "picture"
    PDF = "pdf"
    PAGE = "page"


class Undecodable(Exception):
    """The bytes are not what they claim, or too much; the text ends a sentence about them."""


@frozen
class Decoded:
    """`facts` is JSON, `data` what goes with it."""

    facts: Mapping[str, Any]
    data: bytes


async def decoded(
    decoder: Decoder, data: bytes, ask: Mapping[str, Any], *, time_limit: float = TIME_LIMIT_S
) -> Decoded:
    """Have `data` decoded as `ask` says. Raises `Undecodable`."""
    said = b""
    with anyio.move_on_after(time_limit) as limit:
        said = await _answer(decoder, orjson.dumps(ask) + b"\n" + data)
    if limit.cancelled_caught:
        raise Undecodable(f"it took over {time_limit:g} s to decode")
    head, _, rest = said.partition(b"\n")
    try:
        facts = orjson.loads(head)
    except orjson.JSONDecodeError as error:
        raise Undecodable("the program that decodes it crashed on it") from error
    if "problem" in facts:
        raise Undecodable(facts["problem"])
    return Decoded(facts, rest)


async def _answer(decoder: Decoder, question: bytes) -> bytes:
    # Cancelled while it starts, it would be killed but not waited for.
    with anyio.CancelScope(shield=True):
        process = await anyio.open_process(
            [sys.executable, "-P", "-m", f"interlock.decoders.{decoder}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # No keys, no proxies: nothing of ours for a file that takes the decoder over.
            env={"PYTHONPATH": str(_ROOT), "PATH": os.environ.get("PATH", "")},
            start_new_session=True,
        )
    async with process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_give, process.stdin, question)
                answer = await _all(process.stdout)
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
                with anyio.CancelScope(shield=True):
                    await process.wait()
    return answer


async def _give(stream: ByteSendStream, data: bytes) -> None:
    with suppress(anyio.BrokenResourceError):  # it has read enough, or is gone
        await stream.send(data)
        await stream.aclose()


async def _all(stream: ByteReceiveStream) -> bytes:
    pieces, size = [], 0
    async for piece in stream:
        size += len(piece)
        if size > _MOST_SAID:
            raise Undecodable("what it decodes to is too large")
        pieces.append(piece)
    return b"".join(pieces)
