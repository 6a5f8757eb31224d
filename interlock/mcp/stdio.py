"""A server as a child process: its life, its words on stderr, and the messages on its pipes.

In place of the package's own transport, which can tell neither the exit code nor what stderr said,
takes each line of plain text on stdout for a fault, and leaves what it started behind if we are
killed. The process and all it starts are marked, so that `processes` finds and ends them.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from anyio.abc import ObjectReceiveStream, ObjectSendStream
from attrs import define, field

from interlock import children
from interlock.mcp.definitions import Definition
from interlock.mcp.unreadable import answered
from interlock.tools import processes
from interlock.tools.ending import how_it_ended

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage

LARGEST_LINE = 64 << 20  # bytes of one message: pictures come whole, in base64
_TAIL = 2_000  # characters of stderr that are kept
_SHOWN = 5  # lines of them that are told
_LEAVE_S = 1.0  # from closing its input to TERM: enough for an interpreter to end
_DRAIN_S = 0.5  # after its end, for what is still in its pipes
# What a server is given of our environment: keys and tokens of other programs are not its affair.
_PASSED = """
    COLORTERM CURL_CA_BUNDLE HOME LANG LANGUAGE LOGNAME NODE_EXTRA_CA_CERTS PATH REQUESTS_CA_BUNDLE
    SHELL SSL_CERT_DIR SSL_CERT_FILE TEMP TERM TMP TMPDIR TZ USER VIRTUAL_ENV XDG_CACHE_HOME
    XDG_CONFIG_HOME XDG_DATA_HOME XDG_RUNTIME_DIR http_proxy https_proxy no_proxy HTTP_PROXY
    HTTPS_PROXY NO_PROXY ALL_PROXY all_proxy
"""


def environment(definition: Definition, environ: Mapping[str, str], mark: str) -> dict[str, str]:
    """The variables of a server: the plain ones of ours, those of its definition, and its mark."""
    known = frozenset(_PASSED.split())
    passed = {
        name: value
        for name, value in environ.items()
        if name in known or name.startswith(("LC_", "npm_config_", "PIP_", "UV_"))
    }
    return {**passed, **definition.env, processes.MARK: mark}


@define(kw_only=True)
class Process:
    """What is known of a server's process. `closed` is set when nothing more will come from it."""

    exit_code: int | None = None
    noise: int = 0  # lines on stdout that were no messages
    closed: anyio.Event = field(factory=anyio.Event)
    ended: anyio.Event = field(factory=anyio.Event)
    fault: str | None = None  # why we gave up reading
    by_us: bool = False  # it was still there when we ended it
    _stderr: deque[str] = field(factory=deque)
    _kept: int = 0

    def hear(self, text: str) -> None:
        """Keep what it says on stderr, the newest of it."""
        self._stderr.append(text)
        self._kept += len(text)
        while self._kept > _TAIL and len(self._stderr) > 1:
            self._kept -= len(self._stderr.popleft())

    @property
    def tail(self) -> str:
        """The last lines on stderr."""
        lines = "".join(self._stderr)[-_TAIL:].strip().splitlines()
        return "\n".join(lines[-_SHOWN:])

    def told(self) -> str:
        """How it ended, in words."""
        if self.fault is not None:
            return self.fault
        if self.exit_code is None:
            return "it closed its output"
        return f"it ended with {how_it_ended(self.exit_code)}"


Heard = Callable[[str], None]


@asynccontextmanager
async def connected(
    definition: Definition,
    process: Process,
    *,
    environ: Mapping[str, str],
    mark: str,
    heard: Heard,
) -> AsyncIterator[
    tuple[ObjectReceiveStream[SessionMessage | Exception], ObjectSendStream[SessionMessage]]
]:
    """Start the server: a transport as the package's client takes one.

    `heard` is told lines on stdout that are no messages. Raises OSError if it cannot be started.
    """
    from mcp.shared.message import SessionMessage

    child = subprocess.Popen(  # noqa: ASYNC220 (a vfork; anyio's own way loses exit codes)
        [definition.command, *definition.args],
        cwd=definition.cwd,
        env=environment(definition, environ, mark),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )
    into, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, out_of = anyio.create_memory_object_stream[SessionMessage](0)
    pipes = _Pipes(child, process, heard)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(pipes.take_messages, into)
            tasks.start_soon(pipes.give_messages, out_of)
            tasks.start_soon(pipes.take_complaints)
            tasks.start_soon(pipes.see_the_end, into)
            try:
                yield incoming, outgoing
            finally:
                with anyio.CancelScope(shield=True):
                    await pipes.end(mark)
                tasks.cancel_scope.cancel()
    finally:
        for stream in (into, incoming, outgoing, out_of):
            stream.close()
        pipes.close()


@define
class _Pipes:
    child: subprocess.Popen[bytes]
    process: Process
    heard: Heard

    async def take_messages(self, into: ObjectSendStream[SessionMessage | Exception]) -> None:
        from mcp.shared.message import SessionMessage
        from mcp_types import jsonrpc_message_adapter

        assert self.child.stdout is not None
        begun = bytearray()
        with contextlib.suppress(anyio.ClosedResourceError, anyio.BrokenResourceError):
            while chunk := await _read(self.child.stdout):
                *lines, rest = chunk.split(b"\n")
                for line in lines:
                    begun += line
                    words, begun = bytes(begun).strip(), bytearray()
                    if not words:
                        continue
                    try:
                        message = jsonrpc_message_adapter.validate_json(words, by_name=False)
                    except ValueError as problem:
                        failed = answered(words, problem)
                        if failed is None:
                            self._noise(words)
                            continue
                        message = failed
                    await into.send(SessionMessage(message))
                begun += rest
                if len(begun) > LARGEST_LINE:
                    self.process.fault = f"it sent a line of over {LARGEST_LINE >> 20} MiB"
                    break
        self._close(into)

    def _noise(self, line: bytes) -> None:
        self.process.noise += 1
        self.heard(line[:200].decode(errors="replace"))

    def _close(self, into: ObjectSendStream[SessionMessage | Exception]) -> None:
        into.close()  # type: ignore[attr-defined]
        self.process.closed.set()

    async def give_messages(self, out_of: ObjectReceiveStream[SessionMessage]) -> None:
        assert self.child.stdin is not None
        with contextlib.suppress(OSError, anyio.ClosedResourceError):
            async for sent in out_of:
                text = sent.message.model_dump_json(by_alias=True, exclude_unset=True)
                await _write(self.child.stdin.fileno(), f"{text}\n".encode())

    async def take_complaints(self) -> None:
        assert self.child.stderr is not None
        while chunk := await _read(self.child.stderr):
            self.process.hear(chunk.decode(errors="replace"))

    async def see_the_end(self, into: ObjectSendStream[SessionMessage | Exception]) -> None:
        self.process.exit_code = await children.ended(self.child)
        self.process.ended.set()
        # What it started may hold its pipes open: nobody speaks for it any more.
        with anyio.move_on_after(_DRAIN_S):
            await self.process.closed.wait()
        self._close(into)

    async def end(self, mark: str) -> None:
        """Close its input, wait a little, and end what is left with all it started."""
        assert self.child.stdin is not None
        # One that closed its output may be just about to end: that is its own doing.
        leaving = self.process.closed.is_set()
        self.process.by_us = not leaving and self.child.poll() is None
        with contextlib.suppress(OSError):
            self.child.stdin.close()
        with anyio.move_on_after(_LEAVE_S):
            await children.ended(self.child)
        self.process.by_us |= self.child.poll() is None
        await anyio.to_thread.run_sync(processes.end, mark, (self.child.pid,))
        # The task that waits for it may be cancelled by now.
        self.process.exit_code = await children.ended(self.child)
        self.process.ended.set()

    def close(self) -> None:
        for pipe in (self.child.stdin, self.child.stdout, self.child.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()


async def _read(stream: object) -> bytes:
    try:
        return await children.read(stream)  # type: ignore[arg-type]
    except (OSError, ValueError):  # closed under us as all ends
        return b""


async def _write(number: int, data: bytes) -> None:
    """All of it, however slowly it is read."""
    os.set_blocking(number, False)
    left = memoryview(data)
    while left:
        try:
            left = left[os.write(number, left) :]
        except BlockingIOError:
            await anyio.wait_writable(number)
