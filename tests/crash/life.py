"""One life of a session: a process that opens it, gives it its prompts and dies, or does not.

What was shown is written down as it is shown, in a file that outlives the process.
"""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any, cast

from attrs import define, evolve, frozen

from interlock import drive
from interlock.agent import Agent
from interlock.hooks import HookMatcher, parse
from interlock.options import Resume
from interlock.summary import RunSummary
from interlock.testing import FakeClock
from phases.world.loop import Loop
from phases.world.messages import Message
from phases.world.outcomes import Drained
from phases.world.ports import Model as ModelPort
from phases.world.ports import ModelEvent, Request
from phases.world.states import State
from phases.world.updates import Ended, Notice, Recorded, Update
from tests.agent.support import Room
from tests.crash.fork import Child, fork
from tests.crash.plays import Play
from tests.crash.seam import Event, Point, Seam, watch
from tests.faults.play import StopHook, Watcher, environ_of, options_of
from tests.faults.script import Prompt


@frozen(kw_only=True)
class Life:
    """What one process of a session does."""

    play: Play
    prompts: tuple[Prompt, ...]
    points: tuple[Point, ...] = ()
    resume: Resume | None = None
    twisted: bool = False  # what the play says beside its script happens in this life
    noted: bool = False
    words: str = "prompted"


@frozen(kw_only=True)
class Lived:
    """What a life that came to its end leaves to be judged."""

    session_id: str
    ended: tuple[Ended, ...]
    summaries: tuple[RunSummary | None, ...]
    opened_with: tuple[Message, ...]
    history: tuple[Message, ...]
    cost: float | None
    cost_taken_up: float | None
    notices: tuple[str, ...]
    events: tuple[Event, ...]


def begin(life: Life, room: Room, url: str, folder: Path, name: str) -> Child:
    """Fork the process."""
    return fork(lambda: asyncio.run(_live(life, room, url, folder, name)), folder / f"{name}.log")


def lived(folder: Path, name: str) -> Lived | None:
    """What a life with this name left; None if it was killed."""
    path = folder / f"{name}.pickle"
    found: Lived | None = pickle.loads(path.read_bytes()) if path.exists() else None
    return found


def shown(folder: Path) -> list[Message]:
    """The messages that were shown, by all lives together."""
    found = []
    for path in sorted(folder.glob("*.shown")):
        with path.open("rb") as file:
            while True:
                try:
                    found.append(pickle.load(file))
                except EOFError:
                    break
    return found


async def _live(life: Life, room: Room, url: str, folder: Path, name: str) -> None:
    play, scene = life.play, life.play.script.scene
    events: list[Event] = []
    told = (folder / f"{name}.shown").open("ab", buffering=0)
    points = (*life.points, *([play.stop] if play.stop and life.twisted else ()))
    seam = Seam(room.home, points, noted=events if life.noted else None)
    hook = StopHook(list(scene.stop_hook) if life.twisted else [])
    agents: list[Agent] = []
    seam.stop = lambda: agents[0].interrupt()
    watch(seam)
    if life.twisted:
        _twist(play, seam)
    environ = {**environ_of(play.script), "INTERLOCK_RECORD": "1", **play.environ}
    if not life.twisted:  # nothing stands still any more, so a busy machine may take its time
        environ |= {"INTERLOCK_FIRST_EVENT_S": "30", "INTERLOCK_STREAM_IDLE_S": "30"}
    opened = room.open(
        url,
        options=evolve(options_of(scene), permission_mode=play.mode, resume=life.resume),
        clock=FakeClock(),
        environ=environ,
        hooks=[HookMatcher(event="Stop", hooks=[hook])] if hook.does else (),
        configured_hooks=parse(dict(play.hooks), "tests") if life.twisted else (),
    )
    updates: list[Update] = []

    def saw(update: Update) -> None:
        updates.append(update)
        if isinstance(update, Recorded):
            told.write(pickle.dumps(update.message))
        seam.passes(f"shown {type(update).__name__}")

    summaries = []
    async with opened as agent:
        agents.append(agent)
        ledger = agent._worker.ledger
        ledger.model = Asked(ledger.model, seam)
        taken_up, history = agent._worker.ledger.cost, agent._messages
        for prompt in life.prompts:
            summaries.append(await _prompted(agent, prompt, life.words, saw))
        cost, last = agent._worker.ledger.cost, agent._messages
    left = Lived(
        session_id=agent.session_id,
        ended=tuple(one for one in updates if isinstance(one, Ended)),
        summaries=tuple(summaries),
        opened_with=history,
        history=last,
        cost=cost,
        cost_taken_up=taken_up,
        notices=tuple(one.text for one in updates if isinstance(one, Notice)),
        events=tuple(events),
    )
    (folder / f"{name}.pickle").write_bytes(pickle.dumps(left))


@define
class Asked:
    """A Model port around another: each request and each event of an answer is a point."""

    model: ModelPort
    seam: Seam

    async def ask(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        self.seam.passes(f"asked {request.purpose}")
        async with aclosing(self.model.ask(request)) as events:
            async for event in events:
                self.seam.passes(f"heard {request.purpose}")
                yield event


async def _prompted(
    agent: Agent, prompt: Prompt, words: str, saw: Callable[[Update], None]
) -> RunSummary | None:
    task: asyncio.Task[RunSummary]

    def say(priority: str) -> None:
        agent.queue("By the way.", priority)

    watcher = Watcher(
        prompt=prompt,
        stop=lambda how: task.cancel() if how == "cancel" else agent.interrupt(),
        asked=lambda: 0,
        queue=say,
    )

    def show(update: Update) -> None:
        saw(update)
        watcher(update)

    text = " ".join([words, *["word"] * (prompt.words - 1)])
    task = asyncio.create_task(agent.prompt(text, show))
    await asyncio.wait([task])
    watcher.over = True
    return None if task.cancelled() else task.result()


def _twist(play: Play, seam: Seam) -> None:
    """No phase breaks by itself, and no collapse is void when a test wants it: so one is made to.

    For a forked child only: the table of acts stays so.
    """
    acts = cast("dict[State, drive.Act]", drive.ACTS)

    async def raises(loop: Loop, ports: Any) -> Any:
        if play.breaks_stopped:
            seam.stop()
        raise RuntimeError("this phase broke")

    async def drains_nothing(loop: Loop, ports: Any) -> Drained:
        return Drained(view=loop.now.view, committed=0)

    if play.drains_nothing:
        acts[State.RECOVERY_COLLAPSE_DRAIN] = drains_nothing
    if play.breaks is not None:
        acts[play.breaks] = raises
