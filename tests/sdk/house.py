"""A working folder, a command to drive and a scripted model: what each test of the SDK needs."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import orjson
from anyio import fail_after, open_process
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream
from attrs import define, field, frozen
from claude_agent_sdk import ClaudeAgentOptions, ClaudeSDKClient, Message, ResultMessage, query

from interlock.scripted import ServerThread
from tests.waiting import PATIENCE_S

ROOT = Path(__file__).parents[2]
M = TypeVar("M")


@frozen
class House:
    """One test's own."""

    folder: Path
    server: ServerThread

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def command(self) -> Path:
        """The command as an executable file, as the SDK wants it."""
        path = self.folder / "interlock"
        if not path.exists():
            path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m interlock "$@"\n')
            path.chmod(0o755)
        return path

    @property
    def environ(self) -> dict[str, str]:
        return {
            "HOME": str(self.folder),
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "CLAUDE_CONFIG_DIR": str(self.home),
            "ANTHROPIC_API_KEY": "key",
            "ANTHROPIC_BASE_URL": self.server.base_url,
            "INTERLOCK_MAX_RETRIES": "1",
        }

    def options(self, **more: Any) -> ClaudeAgentOptions:
        self.work.mkdir(exist_ok=True)
        env = {**self.environ, **more.pop("env", {})}
        return ClaudeAgentOptions(cli_path=self.command, cwd=self.work, env=env, **more)

    async def query(
        self, prompt: str | AsyncIterable[dict[str, Any]], **more: Any
    ) -> list[Message]:
        """All that the SDK's `query` yields."""
        with fail_after(PATIENCE_S):
            options = self.options(**more)
            return [message async for message in query(prompt=prompt, options=options)]

    def file(self, name: str, text: str = "") -> Path:
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


async def said(client: ClaudeSDKClient, prompt: str | None = None) -> list[Message]:
    """The messages up to the next result."""
    with fail_after(PATIENCE_S):
        if prompt is not None:
            await client.query(prompt)
        return [message async for message in client.receive_response()]


def of(kind: type[M], messages: Iterable[object]) -> list[M]:
    return [message for message in messages if isinstance(message, kind)]


def result_of(messages: Iterable[object]) -> ResultMessage:
    (result,) = of(ResultMessage, messages)
    return result


@define
class Line:
    """The command driven by hand, line by line, for what the SDK never says itself."""

    process: Process
    _out: BufferedByteReceiveStream = field(init=False)

    def __attrs_post_init__(self) -> None:
        assert self.process.stdout is not None
        self._out = BufferedByteReceiveStream(self.process.stdout)

    async def say(self, frame: dict[str, Any] | bytes) -> None:
        assert self.process.stdin is not None
        data = frame if isinstance(frame, bytes) else orjson.dumps(frame)
        await self.process.stdin.send(data + b"\n")

    async def prompt(self, content: Any, **more: Any) -> None:
        body = {"role": "user", "content": content}
        await self.say({"type": "user", "message": body, "session_id": "", **more})

    async def ask(self, subtype: str, **fields: Any) -> dict[str, Any]:
        """A request, and its answer; whatever is told meanwhile is passed over."""
        request = {"subtype": subtype, **fields}
        await self.say({"type": "control_request", "request_id": subtype, "request": request})
        while True:
            frame = await self.hear("control_response")
            if frame["response"]["request_id"] == subtype:
                return dict(frame["response"])

    async def hear(self, kind: str, subtype: str | None = None) -> dict[str, Any]:
        """The next message of this type."""
        while True:
            frame = await self.next()
            if frame["type"] == kind and subtype in (None, frame.get("subtype")):
                return frame

    async def next(self) -> dict[str, Any]:
        with fail_after(PATIENCE_S):
            line = await self._out.receive_until(b"\n", 1 << 24)
        return dict(orjson.loads(line))

    async def leave(self) -> int:
        """Close our side, and wait for the other: its exit code."""
        assert self.process.stdin is not None
        await self.process.stdin.aclose()
        with fail_after(PATIENCE_S):
            return await self.process.wait()


async def line(house: House, *flags: str, **env: str) -> Line:
    house.work.mkdir(exist_ok=True)
    usual = ("--output-format", "stream-json", "--verbose", "--input-format", "stream-json")
    process = await open_process(
        [str(house.command), *usual, *flags],
        cwd=house.work,
        env={"PATH": "/usr/bin:/bin", **house.environ, **env},
    )
    return Line(process)
