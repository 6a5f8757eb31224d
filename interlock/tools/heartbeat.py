"""A sign of life from calls that run long, whether they print or not.

One task for all calls of a run, and only while one runs. Who watches decides what to show.
"""

from __future__ import annotations

import anyio
from anyio.abc import TaskGroup
from attrs import define, field

from phases.world.messages import ToolUse
from phases.world.updates import Show, ToolRunning


@define
class _Beat:
    call: ToolUse
    began: float
    next: float


@define(eq=False)
class Heartbeat:
    """Shows `ToolRunning` for each call that runs, every `every` seconds."""

    every: float
    _show: Show
    _tasks: TaskGroup
    _running: dict[str, _Beat] = field(factory=dict)
    _ticking: bool = False

    def begin(self, call: ToolUse) -> None:
        now = anyio.current_time()
        self._running[call.id] = _Beat(call, now, now + self.every)
        if not self._ticking:
            self._ticking = True
            self._tasks.start_soon(self._tick)

    def end(self, call: ToolUse) -> None:
        self._running.pop(call.id, None)

    async def _tick(self) -> None:
        try:
            while self._running:
                await anyio.sleep_until(min(beat.next for beat in self._running.values()))
                self._tell(anyio.current_time())
        finally:
            self._ticking = False

    def _tell(self, now: float) -> None:
        for beat in self._running.values():
            if beat.next <= now:
                self._show(ToolRunning(beat.call, now - beat.began))
                beat.next = now + self.every
