"""A whole agent over real HTTP, without a key: a scripted model, a home and a folder of its own.

    async with scene([reply("", tool_use("Read", {"file_path": "a.txt"})), reply("alpha")]) as s:
        (s.work / "a.txt").write_text("alpha")
        run = await s.run("What is in a.txt?")
        run.way.took("abort_check", "tools").never("recovery.backoff").ended("completed")

The server refuses what the real API refuses; leaving the block fails the test for that, and for
answers that nobody asked for. Waits between tries are short.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from interlock.api.messages import AnyMessage
from interlock.api.options import AgentOptions
from interlock.api.query import query
from interlock.api.result import Result
from interlock.counted import counted
from interlock.scripted import ScriptedServer
from interlock.scripted.sources import Answers, SentRequest
from interlock.testing.way import Way

MODEL = "claude-sonnet-4-5"
_QUICK = {"INTERLOCK_BACKOFF_FIRST_S": "0.001", "INTERLOCK_BACKOFF_CAP_S": "0.01"}


@frozen(kw_only=True)
class Ran:
    """One prompt that came to its end."""

    messages: tuple[AnyMessage, ...]
    result: Result

    @property
    def way(self) -> Way:
        """Its way through the machine, to be asserted about."""
        return Way.of(self.result)


@frozen(kw_only=True)
class Scene:
    """Where a test's agents live. `work` is their working folder."""

    server: ScriptedServer
    home: Path
    work: Path

    @property
    def requests(self) -> tuple[SentRequest, ...]:
        """What the model was sent."""
        return self.server.requests

    def options(self, options: AgentOptions | None = None, /, **more: Any) -> AgentOptions:
        """`options` (or these fields) with the scene around them: no settings file is read."""
        asked = AgentOptions(model=MODEL, **more) if options is None else evolve(options, **more)
        return evolve(
            asked,
            cwd=self.work,
            home=self.home,
            base_url=self.server.base_url,
            api_key="scripted",
            setting_sources=() if asked.setting_sources is None else asked.setting_sources,
            env={**_QUICK, **asked.env},
        )

    async def run(
        self,
        prompt: str,
        options: AgentOptions | None = None,
        *,
        on: Callable[[AnyMessage], None] | None = None,
    ) -> Ran:
        """Run one prompt; `on` is told each message as it comes."""
        messages: list[AnyMessage] = []
        async for message in query(prompt, self.options(options)):
            messages.append(message)
            if on is not None:
                on(message)
        result = messages[-1]
        assert isinstance(result, Result)
        return Ran(messages=tuple(messages), result=result)


@asynccontextmanager
async def scene(answers: Answers, folder: Path | None = None) -> AsyncIterator[Scene]:
    """A scene in `folder` (a test's `tmp_path`: then edge coverage finds its traces), or in a
    temporary one. Raises AssertionError at its end for what the server found wrong."""
    with tempfile.TemporaryDirectory(prefix="interlock-") as temporary:
        place = Path(temporary) if folder is None else folder
        home, work = place / "home", place / "work"
        work.mkdir(parents=True, exist_ok=True)
        async with ScriptedServer(answers) as server:
            yield Scene(server=server, home=home, work=work)
        faults = [*server.verdict(), *_unused(answers, len(server.requests))]
        assert not faults, "the scripted model: " + "; ".join(faults)


def _unused(answers: Answers, asked: int) -> list[str]:
    if not isinstance(answers, Sequence) or asked >= len(answers):
        return []
    return [f"it was asked {counted(asked, 'time')}, and had {counted(len(answers), 'answer')}"]
