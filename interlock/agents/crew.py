"""The children of one agent: started, counted, watched, and all ended before their parent is.

A child runs inside the call that asked for it, or in the background: beside its parent, in a task
group that its parent owns. Either way it ends with its parent, and its result is on disk before
anyone is told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import Self

import anyio
from anyio.abc import TaskGroup
from attrs import define, evolve, field

from fsm import decide
from interlock.agents import disk
from interlock.agents.catalogue import Catalogue
from interlock.agents.errand import Errand, Report, Seat, Spawner
from interlock.agents.lifecycle import (
    BACKGROUND_AGENT,
    ENDINGS,
    Known,
    Reported,
    Stage,
    StopAsked,
)
from interlock.agents.telling import told
from interlock.agents.watching import Heard
from interlock.home import AgentPaths, SessionPaths
from interlock.hooks import subagent_started
from interlock.inbox import Mail
from interlock.interrupt import InterruptSignal
from interlock.quiet import Quiet
from interlock.running import Worker
from interlock.tools import ToolError
from interlock.tools.excerpt import shortened
from phases.world.limits import Limits
from phases.world.updates import Show, Update

_log = Quiet(__name__)


def _nobody(update: Update) -> None:
    """Nobody watches between two prompts."""


@define(kw_only=True)
class Tree:
    """What all agents of a session have to count together. `show` is replaced with each prompt."""

    catalogue: Catalogue
    limits: Limits
    paths: SessionPaths
    spawners: dict[str | None, Spawner] = field(factory=dict)  # by isolation; None: none
    show: Show = _nobody
    running: int = 0
    started: int = 0  # in this prompt

    def new_prompt(self, show: Show) -> None:
        self.started, self.show = 0, show

    def insist_on_depth(self, depth: int) -> None:
        """Raise ToolError where agents would be too deep below the main one."""
        most = self.limits.max_agent_depth
        if depth > most:
            raise ToolError(
                f"Not started: agents may be {most} deep below the main one, and this one would"
                f" be {depth} deep. Do the work yourself. (INTERLOCK_MAX_AGENT_DEPTH)"
            )

    @contextmanager
    def place(self) -> Iterator[None]:
        """Be one of those that are at work. Raises ToolError where there are too many."""
        limits = self.limits
        if self.started >= limits.max_agents_started:
            raise ToolError(
                f"Not started: {self.started} agents were started for this prompt already, and"
                " that is the limit. Go on without more. (INTERLOCK_MAX_AGENTS_STARTED)"
            )
        if self.running >= limits.max_agents_running:
            raise ToolError(
                f"Not started: {self.running} agents are at work, and that is the limit. Wait for"
                " some to end, or do the work yourself. (INTERLOCK_MAX_AGENTS_RUNNING)"
            )
        self.started += 1
        self.running += 1
        try:
            yield
        finally:
            self.running -= 1


@define(eq=False, kw_only=True)
class BackgroundAgent:
    """One that runs beside its parent. `over` is set once its report is on disk."""

    errand: Errand
    heard: Heard
    stop: Callable[[], None]  # asks it to end; it ends by itself then
    over: anyio.Event = field(factory=anyio.Event)
    report: Report | None = None
    waited_for: int = 0  # calls that wait for it: what they are told needs no notice
    collected: bool = False  # its parent has been told the result
    _stage: Stage = Stage.RUNNING
    _began: float = field(factory=monotonic)

    @property
    def id(self) -> str:
        return self.errand.agent_id

    @property
    def stage(self) -> Stage:
        return self._stage

    @property
    def is_over(self) -> bool:
        return self._stage in ENDINGS

    def ask_to_stop(self) -> None:
        if not self.is_over:
            self._move(StopAsked())
            self.stop()

    def ended(self, report: Report) -> None:
        self.report = report
        self._move(Reported(whole=report.error is None, interrupted=report.interrupted))
        self.over.set()

    def status(self) -> str:
        """How it stands, as the end of a sentence that its id begins."""
        seconds = self.report.seconds if self.report is not None else monotonic() - self._began
        match self._stage:
            case Stage.RUNNING:
                return f"has been running for {seconds:.0f} s"
            case Stage.STOPPING:
                return "is being stopped"
            case Stage.COMPLETED:
                return f"finished after {seconds:.0f} s"
            case Stage.FAILED:
                return f"ended without a whole answer after {seconds:.0f} s"
            case Stage.STOPPED:
                return f"was stopped after {seconds:.0f} s"

    def _move(self, outcome: StopAsked | Reported) -> None:
        step = decide(BACKGROUND_AGENT, self._stage, Known(self.id), outcome)
        self._stage = Stage(step.edge.destination)


@define(eq=False, kw_only=True)
class Crew:
    """The children of one agent. Leave it, and none is left."""

    tree: Tree
    parent: Worker | None = None  # once it is there
    spawns: tuple[str, ...] | None = None  # the types it may start; None: any
    _background: dict[str, BackgroundAgent] = field(factory=dict)
    _tasks: TaskGroup | None = None

    async def __aenter__(self) -> Self:
        self._tasks = await anyio.create_task_group().__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        tasks, self._tasks = self._tasks, None
        assert tasks is not None
        with anyio.CancelScope(shield=True):
            await self.end()
        if isinstance(error, Exception):
            # All have ended, so it is none of theirs: told as it is, and not as one of a group.
            await tasks.__aexit__(None, None, None)
            return None
        return await tasks.__aexit__(kind, error, traceback)

    def __iter__(self) -> Iterator[BackgroundAgent]:
        return iter(tuple(self._background.values()))

    def find(self, id_: str) -> BackgroundAgent | None:
        return self._background.get(id_)

    async def run(self, errand: Errand, heard: Heard | None = None) -> Report:
        """Run a child to its end in the task that calls this. Raises ToolError."""
        assert self.parent is not None
        with self.parent.interrupt.part() as interrupt:
            return await self._run(errand, heard or Heard(errand, self.tree), interrupt)

    def start(self, errand: Errand) -> BackgroundAgent:
        """Run a child beside its parent. Raises ToolError."""
        assert self._tasks is not None
        stopped = anyio.Event()
        heard = Heard(errand, self.tree)
        one = BackgroundAgent(errand=errand, heard=heard, stop=stopped.set)
        self._background[one.id] = one
        self._tasks.start_soon(self._follow, one, stopped)
        return one

    def transcript(self, one: BackgroundAgent) -> Path:
        return self.tree.paths.agent(one.id).transcript

    async def wait(self, one: BackgroundAgent, seconds: float | None = None) -> None:
        """Wait for its end, so long at most. Whoever waits tells its parent the result."""
        one.waited_for += 1
        waited = False
        try:
            with anyio.move_on_after(seconds):
                await one.over.wait()
            waited = True
        finally:
            one.waited_for -= 1
            if not waited and one.is_over:
                self._notify(one)

    async def end(self) -> tuple[str, ...]:
        """End all that still run; a line for each of those."""
        left = [one for one in self if not one.is_over]
        for one in left:
            one.collected = True  # told by whoever calls this
            one.ask_to_stop()
        for one in left:
            await one.over.wait()
        return tuple(
            f"The agent {one.id} ({one.errand.description}) {one.status()}: whoever had started"
            " it was done, and nothing outlives that."
            for one in left
        )

    async def _run(self, errand: Errand, heard: Heard, interrupt: InterruptSignal) -> Report:
        parent, tree = self.parent, self.tree
        assert parent is not None
        paths, cut = tree.paths.agent(errand.agent_id), list[Report]()
        began = monotonic()
        with tree.place():
            disk.begin(paths, errand)
            heard.begin()
            report = Report(text="", error="failed", why="an internal error ended it")
            try:
                told_first = await subagent_started(
                    parent.shared.hooks, errand.agent_id, errand.agent_type
                )
                seat = Seat(
                    parent=parent,
                    interrupt=interrupt,
                    show=heard,
                    told=told_first,
                    ended=cut.append,
                )
                report = await tree.spawners[errand.isolation].run(errand, seat)
            except anyio.get_cancelled_exc_class():
                report = cut[-1] if cut else Report(text="", error="aborted_streaming")
                raise
            except Exception as problem:  # on its way to whoever asked: kept with the child first
                known = cut[-1] if cut else report
                report = evolve(known, error="failed", why=str(problem) or type(problem).__name__)
                raise
            finally:
                report = heard.completed(report, monotonic() - began)
                _keep(paths, errand, report)
                heard.end(report, str(paths.transcript))
        return report

    async def _follow(self, one: BackgroundAgent, stopped: anyio.Event) -> None:
        assert self.parent is not None
        report = Report(text="", error="aborted_streaming")
        try:
            with self.parent.interrupt.part() as interrupt:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_stops, stopped, interrupt)
                    report = await self._run(one.errand, one.heard, interrupt)
                    tasks.cancel_scope.cancel()
        except Exception as problem:  # a fault of ours must not take the parent along
            _log.debug("background agent broke", exc_info=True)
            report = one.heard.completed(_broken(problem), 0.0)
        finally:
            one.ended(report)
            self._notify(one)

    def _notify(self, one: BackgroundAgent) -> None:
        """Tell its parent, unless it is told already."""
        parent, report = self.parent, one.report
        if one.waited_for or one.collected or parent is None or report is None:
            return
        one.collected = True
        said = told(one.errand, report)
        paths = self.tree.paths.agent(one.id)
        cap = self.tree.limits.tool_output_cap
        text = shortened(said, cap, paths.tool_results / "result.txt")
        head = f"The background agent {one.id} ({one.errand.description}) {one.status()}."
        Mail(parent.shared.waiting, parent.who.agent_id).notify(f"{head}\n\n{text}")


async def _stops(stopped: anyio.Event, interrupt: InterruptSignal) -> None:
    await stopped.wait()
    interrupt.request()


def _broken(problem: BaseException) -> Report:
    while isinstance(problem, ExceptionGroup) and len(problem.exceptions) == 1:
        problem = problem.exceptions[0]
    why = str(problem) or type(problem).__name__
    return Report(text="", error="failed", why=why)


def _keep(paths: AgentPaths, errand: Errand, report: Report) -> None:
    try:
        disk.end(paths, errand, report)
    except OSError as error:  # a full disk must not cost the result that is still to be told
        _log.warning("result not kept", agent=errand.agent_id, error=str(error))
