"""Servers as real processes, and sessions that have them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import define, field

from interlock.mcp import Definition, McpSettings, Scope, parsed
from interlock.options import Options, PermissionMode
from interlock.scripted import ByFunction, Reply, SentRequest, reply, tool_use
from interlock.tools import UserAnswer, UserQuestion
from tests.agent.support import MODEL

FAKE = Path(__file__).with_name("fake_server.py")
GUARDED = Path(__file__).with_name("guarded_server.py")
WHOLE = Path(__file__).with_name("whole_server.py")


@contextmanager
def listening(program: Path, kind: str) -> Iterator[str]:
    """The address of a server that is a process of its own and prints its port."""
    process = subprocess.Popen([sys.executable, str(program), kind], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def fake(
    *modes: str,
    name: str = "fake",
    env: Mapping[str, str] | None = None,
    scope: Scope = Scope.USER,
    **more: Any,
) -> Definition:
    """The fake server in these modes."""
    raw = {
        "command": sys.executable,
        "args": ["-S", str(FAKE), *modes],
        "env": dict(env or {}),
        **more,
    }
    return parsed(name, raw, scope=scope, environ={})


def with_servers(*definitions: Definition, **more: Any) -> Options:
    """Options of a session that may do everything and has these servers."""
    more.setdefault("permission_mode", PermissionMode.BYPASS_PERMISSIONS)
    return Options(model=MODEL, mcp=McpSettings(definitions=definitions), **more)


def calls(*made: tuple[str, Mapping[str, Any]], end: str = "Done.") -> ByFunction:
    """A model that makes these calls, one in each reply, and then says `end`."""

    def answer(request: SentRequest) -> Reply:
        if request.index <= len(made):
            name, arguments = made[request.index - 1]
            return reply(tool_use(name, dict(arguments)))
        return reply(end)

    return ByFunction(answer)


def tools_of(request: SentRequest) -> list[str]:
    """The names of the tools that a request offers."""
    return [tool["name"] for tool in request.body["tools"]]


@define
class Answering:
    """A person who always chooses this."""

    choice: str
    asked: list[str] = field(factory=list)

    async def answer(self, questions: Sequence[UserQuestion]) -> Sequence[UserAnswer] | None:
        self.asked += [one.question for one in questions]
        return [UserAnswer(chosen=(self.choice,)) for _ in questions]
