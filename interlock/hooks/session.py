"""The hooks of one session: finds those an event is for, runs them together, tells what they did.

Knows neither loop nor tools; the ports of `ports.py` put their moments into its terms.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.to_thread
import orjson
from anyio.abc import TaskGroup
from attrs import define, evolve, field, frozen

from interlock.hooks.answer import BadAnswer, from_json
from interlock.hooks.command import Command, Ran, Trees
from interlock.hooks.events import FACTS, Effect, Event
from interlock.hooks.hook import Hook, strictest
from interlock.hooks.outcome import Said, Word, answered, broken, heard
from interlock.quiet import Quiet
from phases.world.messages import Json, encoded
from phases.world.ports import Ids, Interrupt
from phases.world.updates import HookEnded, HookStarted, Notice, Show, Update

_log = Quiet(__name__)


def _nobody(update: Update) -> None:
    """Nobody watches between two prompts."""


@frozen
class SessionFacts:
    """What every hook is told of its session."""

    session_id: str
    transcript: Path
    root: Path  # the project's folder
    model: str


@frozen(kw_only=True)
class Who:
    """For whom an event is: where it works, and as which agent."""

    cwd: str | None = None  # None: the project's folder
    permission_mode: str | None = None
    agent_id: str | None = None  # None: the main thread
    agent_type: str | None = None


@define(kw_only=True)
class SessionHooks:
    """`show` and `tasks` are the run's, and replaced with each prompt."""

    hooks: tuple[Hook, ...]
    facts: SessionFacts
    trees: Trees
    ids: Ids
    interrupt: Interrupt
    permission_mode: str
    stop: Callable[[], None]  # interrupts the run
    show: Show = _nobody
    tasks: TaskGroup | None = None
    # Of one agent alone, by its id (None: the main one): what its type or a skill brings.
    _lent: dict[str | None, tuple[Hook, ...]] = field(factory=dict, init=False)
    _awaited: list[anyio.Event] = field(factory=list, init=False)
    _ran: bool = field(default=False, init=False)
    _mark: str = field(init=False)  # of all that these hooks start, and of nothing else

    def __attrs_post_init__(self) -> None:
        self._mark = f"hooks-{self.ids.new()}-"

    def watches(self, event: Event, about: str | None = None) -> bool:
        """Whether any hook would run, for whichever agent."""
        return any(self._chosen(event, about, each) for each in (None, *self._lent))

    def lend(self, hooks: tuple[Hook, ...], agent_id: str | None) -> None:
        """Run these too, for this agent alone, until they are taken back. What is said to Stop is
        meant of the end of that agent, which is a SubagentStop."""
        if agent_id is not None:
            hooks = tuple(
                evolve(one, event=Event.SUBAGENT_STOP) if one.event is Event.STOP else one
                for one in hooks
            )
        known = self._lent.get(agent_id, ())
        self._lent[agent_id] = (*known, *(one for one in hooks if one not in known))

    def take_back(self, agent_id: str | None) -> None:
        self._lent.pop(agent_id, None)

    async def ask(
        self, event: Event, about: str | None, told: Mapping[str, Json], who: Who | None = None
    ) -> Said:
        """Run the hooks for this, all at once, and return what they say. Never raises for what a
        hook does; cancelled, it has ended them all."""
        who = who or Who()
        hooks = self._chosen(event, about, who.agent_id)
        if not hooks:
            return Said()
        payload = encoded(self._payload(event, told, who))
        words: dict[int, Word] = {}

        async def one(number: int, hook: Hook) -> None:
            words[number] = await self._run(hook, about, payload, who)

        async with anyio.create_task_group() as tasks:
            for number, hook in enumerate(hooks):
                tasks.start_soon(one, number, hook)
        said = Said(words=tuple(words[number] for number in range(len(hooks))))
        for word in said.words:
            self._tell(word, about)
        return said

    def start(self, event: Event, about: str, told: Mapping[str, Json], who: Who) -> None:
        """Run them beside everything else; they end with the run at the latest."""
        if self.tasks is None or not self.watches(event, about):
            return
        over = anyio.Event()
        if event is Event.STOP_FAILURE:
            self._awaited.append(over)

        async def run() -> None:
            try:
                await self.ask(event, about, told, who)
            finally:
                over.set()

        self.tasks.start_soon(run)

    async def settled(self) -> None:
        """Return when the hooks for a failed run are over: each has a limit of a minute at most.

        An interrupt is not kept waiting.
        """
        awaited, self._awaited = self._awaited, []
        self.tasks = None  # what would begin now would end at once
        with self.interrupt.scope():
            for over in awaited:
                await over.wait()

    async def aclose(self) -> None:
        """End what hooks have left running."""
        if self._ran:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(self.trees.end, self._mark, ())

    # --- one event ---------------------------------------------------------------------------

    def _chosen(self, event: Event, about: str | None, agent_id: str | None) -> tuple[Hook, ...]:
        """In the order of configuration; what stands there several times runs once."""
        same: dict[tuple[object, ...] | int, list[Hook]] = {}
        for hook in (*self.hooks, *self._lent.get(agent_id, ())):
            if hook.event is event and hook.matcher.holds(about):
                # The same words in another plugin's environment are another command.
                own = tuple(hook.environment.items())
                what = (hook.run, own) if isinstance(hook.run, str) else id(hook.run)
                same.setdefault(what, []).append(hook)
        return tuple(strictest(entries) for entries in same.values())

    def _payload(self, event: Event, told: Mapping[str, Json], who: Who) -> dict[str, Json]:
        common: dict[str, Json] = {
            "session_id": self.facts.session_id,
            "transcript_path": str(self.facts.transcript),
            "cwd": who.cwd or str(self.facts.root),
            "permission_mode": who.permission_mode or self.permission_mode,
            "hook_event_name": event.value,
        }
        if who.agent_id is not None:
            common["agent_id"] = who.agent_id
        if who.agent_type is not None:
            common["agent_type"] = who.agent_type
        return {**common, **told}

    async def _run(self, hook: Hook, about: str | None, payload: bytes, who: Who) -> Word:
        if not isinstance(hook.run, str):
            return await _called(hook, payload)
        id_ = self.ids.new()
        name = hook.event.value if about is None else f"{hook.event}:{about}"
        seen = not FACTS[hook.event].aside
        if seen:
            self.show(HookStarted(id=id_, event=hook.event.value, name=name))
        ran = Ran(code=None, problem="was interrupted")
        outcome = "cancelled"
        try:
            ran = await self._command(hook, hook.run, payload, who, id_).run()
            word = heard(hook, ran)
            outcome = "success" if word.broken is None and ran.code == 0 else "error"
        finally:
            if seen:
                self.show(
                    HookEnded(
                        id=id_,
                        event=hook.event.value,
                        name=name,
                        outcome=outcome,
                        stdout=ran.out,
                        stderr=ran.err,
                        exit_code=ran.code,
                    )
                )
        return word

    def _command(self, hook: Hook, line: str, payload: bytes, who: Who, id_: str) -> Command:
        self._ran = True
        root = str(self.facts.root)
        cwd = who.cwd or root
        # Asked so that nothing is raised; a folder that is closed to us can be no one's start.
        is_open = os.path.isdir(cwd) and os.access(cwd, os.X_OK)  # noqa: PTH112
        return Command(
            line=line,
            payload=payload,
            cwd=Path(cwd) if is_open else self.facts.root,
            environment={
                **os.environ,
                "CLAUDE_PROJECT_DIR": root,
                "INTERLOCK_PROJECT_DIR": root,
                **hook.environment,
            },
            mark=f"{self._mark}{id_}",
            timeout=hook.timeout,
            trees=self.trees,
        )

    def _tell(self, word: Word, about: str | None) -> None:
        """What a person is told of it."""
        hook, effect = word.hook, word.effect
        if FACTS[hook.event].aside:
            _log.debug("hook", event_name=hook.event.value, hook=hook.name, broken=word.broken)
            return
        if word.answer.message:
            self.show(Notice("warning", word.answer.message))
        if word.broken is not None:
            mend = "" if effect is Effect.TOLD else ' ("onFailure": "continue" relaxes that)'
            self.show(
                Notice(
                    "warning",
                    f"{hook.event} hook `{hook.name}` ({hook.origin}) {word.broken}: "
                    f"{_CONSEQUENCE[effect]}{mend}",
                )
            )
        elif effect is Effect.TOLD:
            self.show(Notice("warning", f"{hook.event} hook: {word.reason}"))
        elif effect not in (Effect.PASS, Effect.CONTEXT):
            of = "" if about is None else f" {about}"
            text = f"{hook.event} hook `{hook.name}` {effect.value}{of}: {word.reason}"
            self.show(Notice("info", text))


# What follows where a hook has broken.
_CONSEQUENCE = {
    Effect.PASS: "nothing follows",
    Effect.TOLD: "things go on",
    Effect.ASK: "a person is asked, and where there is nobody it is denied",
    Effect.FEEDBACK: "the model is told",
    Effect.BLOCK: "it is blocked",
    Effect.DENY: "the call is denied",
    Effect.STOP: "the run ends, for nothing says that it may end well",
}


async def _called(hook: Hook, payload: bytes) -> Word:
    """Call a function with an input of its own: what it does to it is seen by nobody else."""
    result: object = None
    try:
        with anyio.move_on_after(hook.timeout) as limit:
            result = await _result(hook, orjson.loads(payload))
        if limit.cancelled_caught:
            return broken(hook, f"was left at its time limit of {hook.timeout:g} s")
        # Through JSON and back: it may say what a command may say, and nothing else.
        raw = {} if result is None else orjson.loads(orjson.dumps(result))
        if not isinstance(raw, dict):
            return broken(hook, "returned something that is no object")
        return answered(hook, from_json(hook.event, raw))
    except BadAnswer as error:
        return broken(hook, str(error))
    except Exception as error:  # someone else's code: whatever it raises, it has broken
        _log.debug("hook broke", hook=hook.name, exc_info=True)
        return broken(hook, f"raised {type(error).__name__}: {error}")


async def _result(hook: Hook, told: Mapping[str, Any]) -> object:
    function = hook.run
    assert not isinstance(function, str)
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - an object with an async call
    ):
        return await cast("Awaitable[object]", function(told))
    result = await anyio.to_thread.run_sync(function, told, abandon_on_cancel=True)
    return await result if inspect.isawaitable(result) else result
