"""Plays a script with the whole agent, and keeps all that the laws ask about afterwards."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any

from attrs import define, evolve, field, frozen

from fsm import Trace, read_trace
from interlock.agent import Agent
from interlock.hooks import HookMatcher, parse
from interlock.options import Options, PermissionMode
from interlock.scripted import ScriptedServer, SentRequest
from interlock.summary import RunSummary
from interlock.testing import FakeClock
from phases.world.messages import Message
from phases.world.ports import Model as ModelPort
from phases.world.ports import ModelEvent, Request
from phases.world.updates import Ended, QueueChanged, Recorded, Update
from tests.agent.support import FALLBACK, MODEL, Room, living
from tests.faults.model import SMALL, Dealt, Effect, Model
from tests.faults.script import Prompt, Scene, Script, Stop
from tests.model.histories import PIXEL

_HANGS_S = 60.0  # real time; every wait of a script is far shorter
LAST = Prompt(words=1)  # what every session is asked at its end: does it live?


@frozen(kw_only=True)
class Run:
    """One prompt and what came of it."""

    prompt: Prompt
    summary: RunSummary | None  # None: cancelled from outside
    updates: tuple[Update, ...]
    trace: Trace
    dealt: tuple[Dealt, ...]
    asked: int  # requests that the loop and its helpers began to make
    asked_before_stop: int | None  # of these, before it was stopped; None: it was not
    after_stop: tuple[Update, ...]
    running: tuple[str, ...]  # processes left behind
    tasks: tuple[str, ...]  # and tasks

    @property
    def ended(self) -> Ended:
        (found,) = (one for one in self.updates if isinstance(one, Ended))
        return found


@frozen(kw_only=True)
class Session:
    """A whole script, played."""

    script: Script
    runs: tuple[Run, ...]
    requests: tuple[SentRequest, ...]
    verdict: tuple[str, ...]
    transcript: Path
    effects: tuple[Effect, ...]
    work: Path
    shown: tuple[Message, ...]
    queued: tuple[str, ...]  # ids
    waiting: tuple[str, ...]  # ids of those that nobody has read
    history: tuple[Message, ...]  # that the session would go on with
    left: tuple[str, ...]  # processes, tasks and sockets once it is closed
    complaints: tuple[str, ...]  # of the event loop


@define
class _Watched:
    """A Model port around another, that counts what is asked."""

    model: ModelPort
    count: Callable[[], None]

    async def ask(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        self.count()
        async with aclosing(self.model.ask(request)) as events:
            async for event in events:
                yield event


def play(script: Script, folder: Path) -> Session:
    """Play the script in a new event loop; nothing of it may be left there."""
    sockets = _sockets()
    room = Room.made(folder)
    (room.work / "pixel.png").write_bytes(base64.b64decode(PIXEL.data))
    session = asyncio.run(_Player(script, room).play())
    left = [*session.left, *(f"{one} is open" for one in _sockets() - sockets)]
    return evolve(session, left=tuple(left))


@define
class _Player:
    script: Script
    room: Room
    clock: FakeClock = field(factory=FakeClock)
    complaints: list[str] = field(factory=list)
    asked: int = 0

    async def play(self) -> Session:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, told: self.complaints.append(str(told)))
        model = Model(self.script, self.room.work)
        hook = StopHook(list(self.script.scene.stop_hook))
        runs: list[Run] = []
        queued: list[str] = []
        async with ScriptedServer(model) as server:
            opened = self.room.open(
                server,
                options=options_of(self.script.scene),
                clock=self.clock,
                environ=environ_of(self.script),
                hooks=[HookMatcher(event="Stop", hooks=[hook])] if hook.does else (),
                configured_hooks=_COMMANDS if hook.does else (),
            )
            async with opened as agent:
                self._watch(agent)
                for prompt in (*self.script.prompts, LAST):
                    if prompt is LAST:
                        hook.does.clear()
                    runs.append(await self._prompted(agent, server, model, prompt, queued))
                waiting = tuple(one.id for one in agent.waiting.messages)
                history = agent._messages
        left = [*living(self.room.work), *_tasks(())]
        return Session(
            script=self.script,
            runs=tuple(runs),
            requests=server.requests,
            verdict=server.verdict(),
            transcript=agent.transcript_path,
            effects=model.effects,
            work=self.room.work,
            shown=tuple(
                one.message for run in runs for one in run.updates if isinstance(one, Recorded)
            ),
            queued=tuple(queued),
            waiting=waiting,
            history=history,
            left=tuple(left),
            complaints=tuple(self.complaints),
        )

    def _watch(self, agent: Agent) -> None:
        ledger = agent._worker.ledger
        ledger.model = _Watched(ledger.model, self._count)
        ledger.helpers = {name: _Watched(one, self._count) for name, one in ledger.helpers.items()}

    def _count(self) -> None:
        self.asked += 1

    async def _prompted(
        self,
        agent: Agent,
        server: ScriptedServer,
        model: Model,
        prompt: Prompt,
        queued: list[str],
    ) -> Run:
        model.begin(prompt.says)
        self.clock.now += prompt.later
        task: asyncio.Task[RunSummary]
        began, dealt = self.asked, len(model.dealt)
        traces = set(self._traces())
        watcher = Watcher(
            prompt=prompt,
            stop=lambda how: task.cancel() if how == "cancel" else agent.interrupt(),
            asked=lambda: self.asked - began,
            queue=lambda priority: queued.append(agent.queue("By the way.", priority).id),
        )
        words = " ".join(["prompted", *["word"] * (prompt.words - 1)])
        task = asyncio.create_task(agent.prompt(words, watcher))
        done, _ = await asyncio.wait([task], timeout=_HANGS_S)
        watcher.over = True
        assert done, f"the run hangs; its last updates: {watcher.updates[-5:]}"
        summary = None if task.cancelled() else task.result()
        if watcher.asked_before_stop is not None:
            await asyncio.sleep(0.002)  # what left in spite of the stop arrives
        (path,) = set(self._traces()) - traces
        return Run(
            prompt=prompt,
            summary=summary,
            updates=tuple(watcher.updates),
            trace=read_trace(path),
            dealt=tuple(model.dealt[dealt:]),
            asked=self.asked - began,
            asked_before_stop=watcher.asked_before_stop,
            after_stop=tuple(watcher.after_stop),
            running=tuple(living(self.room.work)),
            tasks=_tasks(("ScriptedServer._serve",)),
        )

    def _traces(self) -> list[Path]:
        return list(self.room.home.rglob("*.trace.jsonl"))


@define(kw_only=True)
class Watcher:
    """Keeps every update; stops the run and queues input at their moments."""

    prompt: Prompt
    stop: Callable[[str], object]
    asked: Callable[[], int]
    queue: Callable[[str], None]
    updates: list[Update] = field(factory=list)
    after_stop: list[Update] = field(factory=list)
    asked_before_stop: int | None = None
    over: bool = False
    _seen: int = 0

    def __call__(self, update: Update) -> None:
        self.updates.append(update)
        if self.asked_before_stop is not None:
            self.after_stop.append(update)
        if isinstance(update, QueueChanged):
            return  # our own doing
        self._seen += 1
        stop = self.prompt.stop
        if stop is not None and self._seen == stop.at:
            _soon(stop.turns, lambda: self._act(stop))
        for at, priority in self.prompt.queued:
            if at == self._seen:
                _soon(1, partial(self._say, priority))

    def _act(self, stop: Stop) -> None:
        if self.over:
            return
        if self.asked_before_stop is None:
            self.asked_before_stop = self.asked()
            if stop.again is not None:
                _soon(stop.again, lambda: self._act(stop))
        self.stop(stop.how)

    def _say(self, priority: str) -> None:
        if not self.over:
            self.queue(priority)


FORBIDDEN = "forbidden by a hook"
# Beside the function: two that are processes.
_COMMANDS = parse(
    {
        "Stop": [{"hooks": [{"type": "command", "command": "sleep 0.01"}]}],
        "StopFailure": [{"hooks": [{"type": "command", "command": "cat >/dev/null"}]}],
    },
    "tests",
)


@define
class StopHook:
    """Does one thing after the other, and then nothing."""

    does: list[str]

    async def __call__(self, told: Mapping[str, Any]) -> Mapping[str, Any] | None:
        match self.does.pop(0) if self.does else "nothing":
            case "blocks":
                return {"decision": "block", "reason": "there is more to do"}
            case "prevents":
                return {"continue": False, "stopReason": FORBIDDEN}
            case "breaks":
                raise RuntimeError(FORBIDDEN)
            case "is slow":
                await asyncio.sleep(0.02)
        return None


def _soon(turns: int, act: Callable[[], object]) -> None:
    """Do it after so many turns of the event loop; 0 means now."""
    if turns == 0:
        act()
    else:
        asyncio.get_running_loop().call_soon(_soon, turns - 1, act)


# Named one by one, and no memory kept: what stands before the conversation then stays as large as
# it is, and the small windows of scenes go on filling where they do.
TOOLS = (
    *("Read", "Write", "Edit", "MultiEdit", "NotebookEdit", "Bash", "TaskOutput", "TaskStop"),
    *("Glob", "Grep", "WebFetch", "TodoWrite", "AskUserQuestion"),
    *("EnterPlanMode", "ExitPlanMode", "Sleep"),
)


def options_of(scene: Scene) -> Options:
    return Options(
        tools=TOOLS,
        auto_memory=False,
        model=MODEL,
        fallback_models=(FALLBACK,) if scene.fallback else (),
        permission_mode=PermissionMode.BYPASS_PERMISSIONS,
        include_partial_messages=scene.partial,
        max_turns=scene.max_turns,
        max_budget_usd=scene.budget_usd,
        token_budget=scene.token_budget,
    )


def environ_of(script: Script) -> dict[str, str]:
    scene = script.scene
    patience = "0.15" if script.stalls else "20"
    given: dict[str, Any] = {
        "INTERLOCK_MAX_RETRIES": scene.retries,
        "INTERLOCK_FIRST_EVENT_S": patience,
        "INTERLOCK_STREAM_IDLE_S": patience,
        "INTERLOCK_SMALL_MODEL": SMALL if scene.captions else "off",
        "MAX_THINKING_TOKENS": 1024 if scene.thinking else 0,
    }
    if scene.snip:
        given |= {"INTERLOCK_SNIP": "on", "INTERLOCK_SNIP_KEEP_TURNS": 1}
    if scene.own_cap is not None:
        # Thinking counts as output, and the API wants a cap above its budget.
        given["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] = scene.own_cap + (2048 if scene.thinking else 0)
    if scene.window is not None:
        given |= {
            "INTERLOCK_CONTEXT_WINDOW": scene.window,
            "INTERLOCK_WINDOW_RESERVE": 500,
            "INTERLOCK_TOOL_OUTPUT_CAP": 4_000,
            "INTERLOCK_TURN_OUTPUT_CAP": 9_000,
            "INTERLOCK_MICROCOMPACT_KEEP_TURNS": 2,
            "INTERLOCK_MICROCOMPACT_LEAST_TURNS": 1,
            "INTERLOCK_COLLAPSE_WORTH": 0,
            "INTERLOCK_COLLAPSE_KEEP_TURNS": 2,
            "INTERLOCK_COLLAPSE_STAGE_SHARE": 0.5,
            "INTERLOCK_COLLAPSE_COMMIT_SHARE": 0.6,
            "INTERLOCK_KEEPSAKE_BUDGET": 500,
        }
    return {name: str(value) for name, value in given.items()}


def _tasks(expected: tuple[str, ...]) -> tuple[str, ...]:
    """Tasks beside our own and those of these names."""
    found = []
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        name = getattr(task.get_coro(), "__qualname__", "?")
        if name not in expected and not task.done():
            found.append(f"task {name}")
    return tuple(found)


def _sockets() -> set[str]:
    found = set()
    for each in Path("/proc/self/fd").iterdir():
        try:
            target = str(each.readlink())
        except OSError:
            continue  # the folder's own, gone since
        if target.startswith("socket:"):
            found.add(target)
    return found
