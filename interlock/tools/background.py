"""Commands that run beside the session: started, listed, looked at, ended.

They are followed in an event loop of their own, in a thread, so that they go on between two
prompts and while the session's loop is busy. Their news go to the session's loop. All of them
end with the session; the watchdog ends them if it is killed.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal
from attrs import define, field

from fsm import decide
from interlock.tools.background_lifecycle import (
    BACKGROUND_COMMAND,
    ENDINGS,
    EndAsked,
    Ended,
    Known,
    Stage,
)
from interlock.tools.background_log import Log
from interlock.tools.ending import how_it_ended
from interlock.tools.seams import Notices
from interlock.tools.shell import Command, Finished
from interlock.tools.tool import ToolError
from phases.world.updates import CommandEnded, CommandStarted

MOST_RUNNING = 32  # a model that starts more has lost count of them


@define(kw_only=True)
class BackgroundCommand:
    """One command. What it says is in `log`; `over` is set in the session's loop at its end."""

    id: str
    use_id: str  # of the call that started it
    line: str
    log: Log
    over: anyio.Event = field(factory=anyio.Event)
    seen: int = 0  # how far the model has looked
    finished: Finished | None = None
    problem: str | None = None  # why it could not be followed
    _command: Command
    _on_end: Callable[[BackgroundCommand], None]
    _stage: Stage = Stage.RUNNING
    _began: float = field(factory=time.monotonic)
    _seconds: float | None = None
    _scope: anyio.CancelScope | None = None
    _lock: threading.Lock = field(factory=threading.Lock)

    @property
    def stage(self) -> Stage:
        return self._stage

    @property
    def is_over(self) -> bool:
        return self._stage in ENDINGS

    @property
    def unfinished_line(self) -> str:
        return "" if self.is_over else self._command.unfinished_line

    @property
    def seconds(self) -> float:
        return self._seconds if self._seconds is not None else time.monotonic() - self._began

    @property
    def outcome(self) -> str:
        """Of one that is over, in a word: completed, failed or stopped."""
        if self._stage is Stage.KILLED and self.problem is None:
            return "stopped"
        code = None if self.finished is None else self.finished.code
        return "completed" if self._stage is Stage.FINISHED and code == 0 else "failed"

    def status(self) -> str:
        """How it stands, as the end of a sentence that its id begins."""
        seconds = self.seconds
        match self._stage:
            case Stage.RUNNING:
                return f"has been running for {seconds:.0f} s"
            case Stage.ENDING:
                return "is being ended"
            case Stage.TIMED_OUT:
                return f"was ended at its time limit of {self._command.time_limit:g} s"
            case Stage.KILLED:
                return self.problem or f"was ended after {seconds:.0f} s"
            case Stage.FINISHED:
                assert self.finished is not None
                return f"finished with {how_it_ended(self.finished.code)} after {seconds:.0f} s"

    async def follow(self) -> None:
        """Runs in the loop of the background."""
        try:
            with anyio.CancelScope() as self._scope:
                if self._stage is Stage.ENDING:  # asked for before we came here
                    self._scope.cancel()
                self.finished = await self._command.follow()
        except Exception as problem:  # a fault of ours must not take the other commands along
            self.problem = f"could not be followed any longer: {problem}"
        finally:
            self.log.close()
            self._seconds = time.monotonic() - self._began
            ended = self.finished
            self._move(
                Ended(
                    by_itself=ended is not None and not ended.timed_out,
                    timed_out=ended is not None and ended.timed_out,
                )
            )
            self._on_end(self)

    def ask_to_end(self, portal: BlockingPortal) -> None:
        """From the session's thread. Does nothing to one that is over."""
        with self._lock:
            if self.is_over:
                return
            self._stage = _moved(self, EndAsked())
        portal.start_task_soon(self._cancel)

    def _cancel(self) -> None:
        if self._scope is not None:
            self._scope.cancel()

    def _move(self, outcome: Ended) -> None:
        with self._lock:
            self._stage = _moved(self, outcome)


def _moved(command: BackgroundCommand, outcome: EndAsked | Ended) -> Stage:
    step = decide(BACKGROUND_COMMAND, command.stage, Known(command.id), outcome)
    return Stage(step.edge.destination)


@define
class Background:
    """All background commands of one session. Use it from the session's event loop."""

    notices: Notices | None  # where the end of a command is told
    mind: Callable[[str], None]  # told by what a command, and what it left running, can be found
    _commands: dict[str, BackgroundCommand] = field(factory=dict, init=False)
    _portal: BlockingPortal | None = field(default=None, init=False)
    _stack: ExitStack = field(factory=ExitStack, init=False)
    _last: int = field(default=0, init=False)
    _closed: bool = field(default=False, init=False)

    def start(
        self, command: Callable[[Log], Command], path: Path, use_id: str
    ) -> BackgroundCommand:
        """Start what is made for its log, kept at `path`. Raises ToolError or OSError."""
        running = [one.id for one in self if not one.is_over]
        if len(running) >= MOST_RUNNING:
            raise ToolError(
                f"{MOST_RUNNING} commands run in the background already, no more can."
                f" TaskStop ends one: {', '.join(running)}."
            )
        portal = self._opened()
        self._last += 1
        log = Log(path)
        made = command(log)
        loop = asyncio.get_running_loop()

        def on_end(one: BackgroundCommand) -> None:
            with suppress(RuntimeError):  # the session's loop is closed
                loop.call_soon_threadsafe(self._ended, one)

        one = BackgroundCommand(
            id=f"bash_{self._last}",
            use_id=use_id,
            line=made.line,
            log=log,
            command=made,
            on_end=on_end,
        )
        made.start()
        self.mind(made.output)
        self._commands[one.id] = one
        self._show_start(one)
        portal.start_task_soon(one.follow)
        return one

    def find(self, id_: str) -> BackgroundCommand:
        """Raises ToolError."""
        found = self._commands.get(id_)
        if found is None:
            known = ", ".join(self._commands) or "none was started"
            raise ToolError(f"There is no background command {id_!r}. There are: {known}.")
        return found

    def __iter__(self) -> Iterator[BackgroundCommand]:
        return iter(tuple(self._commands.values()))

    async def end(self, one: BackgroundCommand) -> None:
        """End it with everything it has started; return when that is done."""
        if self._portal is not None:
            one.ask_to_end(self._portal)
        await one.over.wait()

    def close(self) -> None:
        """End all of them. Blocks for that, half a second for those that ignore TERM."""
        self._closed = True
        portal, self._portal = self._portal, None
        if portal is None:
            return
        for one in self:
            one.ask_to_end(portal)
        self._stack.close()

    def _opened(self) -> BlockingPortal:
        if self._portal is None:
            self._closed = False
            name = "interlock-background"
            self._portal = self._stack.enter_context(start_blocking_portal(name=name))
        return self._portal

    def _ended(self, one: BackgroundCommand) -> None:
        """In the session's loop. Who asked for the end is told by the answer to that."""
        one.over.set()
        if one.finished is not None and one.finished.running:
            self.mind(str(one.finished.session))
        if self._closed or self.notices is None:
            return
        self._show_end(one)
        if one.stage is Stage.KILLED and one.problem is None:
            return
        line = " ".join(one.line.split())
        shown = line if len(line) <= 200 else f"{line[:200]}..."
        self.notices.notify(
            f"The background command {one.id} {one.status()}. TaskOutput shows what it printed"
            f" since you last looked. It was: {shown}"
        )

    def _show_start(self, one: BackgroundCommand) -> None:
        if self.notices is not None:
            whose = self.notices.agent_id
            self.notices.show(
                CommandStarted(id=one.id, agent_id=whose, tool_use_id=one.use_id, line=one.line)
            )

    def _show_end(self, one: BackgroundCommand) -> None:
        assert self.notices is not None
        self.notices.show(
            CommandEnded(
                id=one.id,
                agent_id=self.notices.agent_id,
                tool_use_id=one.use_id,
                line=one.line,
                status=one.outcome,
                summary=f"{one.id} {one.status()}",
                output=str(one.log.path),
                seconds=one.seconds,
            )
        )
