"""A session's hooks without an agent, and what they show."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from attrs import define, field

from interlock.hooks import (
    Event,
    Hook,
    HookMatcher,
    SessionFacts,
    SessionHooks,
    Trees,
    parse,
    registered,
)
from interlock.hooks.outcome import Said
from interlock.interrupt import InterruptSignal
from interlock.tools import processes
from interlock.world import RandomIds
from phases.world.updates import Notice, Update

TREES = Trees(variable=processes.MARK, end=processes.end)


@define
class Bench:
    """Hooks, and all they have shown."""

    hooks: SessionHooks
    interrupt: InterruptSignal
    shown: list[Update] = field(factory=list)

    async def ask(
        self, event: Event = Event.PRE_TOOL_USE, about: str | None = "Bash", **told: Any
    ) -> Said:
        return await self.hooks.ask(event, about, told)

    @property
    def notices(self) -> list[str]:
        return [one.text for one in self.shown if isinstance(one, Notice)]


@asynccontextmanager
async def bench(
    folder: Path, hooks: Sequence[Hook] = (), functions: Sequence[HookMatcher] = ()
) -> AsyncIterator[Bench]:
    interrupt, shown = InterruptSignal(), list[Update]()
    session = SessionHooks(
        hooks=(*hooks, *registered(functions)),
        facts=SessionFacts(session_id="s", transcript=folder / "s.jsonl", root=folder, model="m"),
        trees=TREES,
        ids=RandomIds(),
        interrupt=interrupt,
        permission_mode="default",
        stop=interrupt.request,
        show=shown.append,
    )
    try:
        yield Bench(session, interrupt, shown)
    finally:
        await session.aclose()


def commands(
    *lines: str | Mapping[str, Any], event: str = "PreToolUse", matcher: str = ""
) -> tuple[Hook, ...]:
    """Hooks of one event, from command lines or whole entries."""
    entries = [
        {"type": "command", **({"command": line} if isinstance(line, str) else line)}
        for line in lines
    ]
    return parse({event: [{"matcher": matcher, "hooks": entries}]}, "settings.json:1")
