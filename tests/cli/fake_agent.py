"""The command line over an agent that does what the environment says, for tests.

Run as a program: `python tests/cli/fake_agent.py ARGS...` is `interlock ARGS...`, with
`open_agent` replaced. FAKE names what the model does; the transcript is a real one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
from attrs import define, evolve, field, frozen

from interlock.cli.main import main
from interlock.errors import UsageError
from interlock.home import SessionPaths
from interlock.interrupt import InterruptSignal
from interlock.mcp import Status
from interlock.options import Options
from interlock.permissions import Asker
from interlock.sessions import Transcript
from interlock.settings import Settings
from interlock.summary import Denial, ModelUse, RunSummary
from interlock.tools import Person
from phases.world.failures import Failure, FailureKind
from phases.world.messages import Kind, Message, Origin, Text, ToolResult, ToolUse, derived_id
from phases.world.updates import (
    Ended,
    Notice,
    RequestStarted,
    Retrying,
    Show,
    StreamEvent,
    TextArrived,
    ToolStarted,
)
from phases.world.usage import Usage

USAGE = Usage(input_tokens=27, output_tokens=47, cache_read_input_tokens=1000)


def whole(session_id: str, text: str, messages: int = 1) -> RunSummary:
    """The summary of a prompt that was answered."""
    return RunSummary(
        session_id=session_id,
        run_id="run",
        reason="completed",
        error=None,
        error_text=None,
        text=text,
        stop_reason="end_turn",
        turns=1,
        messages=messages,
        usage=USAGE,
        models={
            "model-x": ModelUse(
                usage=USAGE, cost=0.25, context_window=200_000, max_output_tokens=64_000
            )
        },
        cost=0.25,
        duration_s=1.5,
        api_duration_s=1.0,
    )


@frozen
class NoServers:
    def status(self) -> list[Status]:
        return []


@define
class FakeAgent:
    """Answers one prompt as `does` says."""

    session_id: str
    model: str
    tools: tuple[str, ...]
    cwd: Path
    permission_mode: Any
    transcript_path: Path
    does: str
    _transcript: Transcript
    agents: tuple[str, ...] = ()
    servers: NoServers = field(factory=NoServers)
    _interrupt: InterruptSignal = field(factory=InterruptSignal)

    def interrupt(self) -> None:
        if self.does == "stubborn" and not self._interrupt.requested:
            print("told to stop", file=sys.stderr, flush=True)
        self._interrupt.request()

    async def prompt(self, text: str, show: Show, *, typed: str | None = None) -> RunSummary:
        self._transcript.show = show
        asked = Message(id=str(uuid4()), role="user", kind=Kind.PROMPT, content=(Text(text),))
        await self._transcript.record((asked,))
        show(RequestStarted(self.model, 1))
        match self.does.split(":", 1):
            case ["say", words]:
                return await self._say(asked, words, show)
            case ["repeat", words]:
                return await self._say(asked, words * 200_000, show)
            case ["echo"]:
                return await self._say(asked, text, show)
            case ["tool"]:
                return await self._tool(asked, show)
            case ["wait"]:
                return await self._wait(asked)
            case ["stubborn"]:
                with anyio.CancelScope(shield=True):
                    await anyio.sleep(60)
            case ["break"]:
                raise RuntimeError("a wheel\ncame off")
            case ["print"]:
                print("a library that prints")
                return await self._say(asked, "ok", show)
            case ["end", ending]:
                reason, error, line, kind, status = ending.split("|")
                return self._ended(show, reason, error, line, kind, status)
        raise AssertionError(self.does)

    async def settle(self, summary: RunSummary, show: Show) -> RunSummary:
        return summary

    async def _say(self, asked: Message, words: str, show: Show) -> RunSummary:
        show(StreamEvent({"type": "message_start"}))
        show(TextArrived(words))
        await self._transcript.record((asked, self._reply(Text(words))))
        show(Ended("completed", None, None))
        return whole(self.session_id, words)

    async def _tool(self, asked: Message, show: Show) -> RunSummary:
        call = ToolUse("toolu_1", "Bash", {"command": "ls"})
        failure = Failure(kind=FailureKind.OVERLOADED, message="overloaded", status=529)
        show(Retrying(failure, 1, 8, 0.5))
        answer = self._reply(Text("I look"), call, stop_reason="tool_use")
        await self._transcript.record((asked, answer))
        show(ToolStarted(call))
        result = Message(
            id=str(uuid4()),
            role="user",
            kind=Kind.RESULT,
            content=(ToolResult("toolu_1", (Text("one\ntwo"),)),),
            source=answer.id,
        )
        hint = Message(
            id=derived_id(result.id, "hint"), role="user", kind=Kind.NOTE, content=(Text("note"),)
        )
        last = self._reply(Text("two files"))
        await self._transcript.record((asked, answer, result, hint, last))
        show(Notice("info", "looked once"))
        denial = Denial(tool_name="Bash", tool_use_id="toolu_1", tool_input={"command": "ls"})
        return evolve(whole(self.session_id, "two files", messages=3), denials=(denial,))

    async def _wait(self, asked: Message) -> RunSummary:
        Path("started").touch()
        with self._interrupt.scope():
            await anyio.sleep(60)
        mark = Message(
            id=derived_id(asked.id, "interrupted"),
            role="user",
            kind=Kind.INTERRUPTION,
            content=(Text("[The user interrupted here.]"),),
        )
        await self._transcript.record((asked, mark))
        return evolve(
            whole(self.session_id, ""),
            reason="aborted_streaming",
            error="aborted_streaming",
            error_text="Interrupted while the model answered.",
            stop_reason=None,
        )

    def _ended(
        self, show: Show, reason: str, error: str, line: str, kind: str, status: str
    ) -> RunSummary:
        show(Ended(reason, error or None, line))
        return evolve(
            whole(self.session_id, "as far as I came"),
            reason=reason,
            error=error or None,
            error_text=line or None,
            api_error_type=kind or None,
            api_error_status=int(status) if status else None,
        )

    def _reply(self, *blocks: Text | ToolUse, stop_reason: str = "end_turn") -> Message:
        origin = Origin(
            api_id=f"msg_{uuid4().hex}",
            model=self.model,
            stop_reason=stop_reason,
            usage=USAGE,
            request_id="req_1",
        )
        return Message(
            id=str(uuid4()), role="assistant", kind=Kind.REPLY, content=blocks, origin=origin
        )


@asynccontextmanager
async def open_fake(
    options: Options, settings: Settings, *, asker: Asker, person: Person | None
) -> AsyncIterator[FakeAgent]:
    if settings.api_key is None:
        raise UsageError("no API key: set ANTHROPIC_API_KEY")
    session_id = options.session_id or str(uuid4())
    paths = SessionPaths.of(settings.home, options.cwd, session_id)
    transcript = Transcript(paths.transcript, session_id=session_id, cwd=options.cwd)
    try:
        yield FakeAgent(
            session_id=session_id,
            model=options.model or "model-x",
            tools=("Bash", "Read"),
            cwd=options.cwd,
            permission_mode=options.permission_mode,
            transcript_path=paths.transcript,
            does=os.environ.get("FAKE", "say:ok"),
            transcript=transcript,
        )
    finally:
        transcript.close()


if __name__ == "__main__":
    sys.exit(main(opener=open_fake))
