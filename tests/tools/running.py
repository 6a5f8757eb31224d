"""An executor with tools that do as they are told, and everything it says written down."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
from attrs import define, field

from fsm import Step
from interlock.options import PermissionMode
from interlock.permissions import Gate, Judge, NobodyAsks, Rules
from interlock.permissions.ask import Asker
from interlock.tools import (
    Arguments,
    FileReads,
    Output,
    Tool,
    ToolContext,
    ToolExecutor,
    ToolHooks,
    ToolSession,
)
from interlock.tools.calls import unwatched
from interlock.tools.lifecycle import CallFacts
from phases.world.limits import Limits
from phases.world.loop import Reply, ToolUseContext
from phases.world.messages import Kind, Message, ToolResult, ToolUse
from phases.world.updates import ToolStarted, Update

call_observers: list[Callable[[Step[CallFacts]], None]] = []  # told each step of each call
REPLY_ID = "00000000-0000-4000-8000-0000000000aa"


@define
class Button:
    """An interrupt that a test presses."""

    requested: bool = False
    _scopes: list[anyio.CancelScope] = field(factory=list)

    @contextmanager
    def _scope(self) -> Iterator[anyio.CancelScope]:
        with anyio.CancelScope() as scope:
            self._scopes.append(scope)
            if self.requested:
                scope.cancel()
            yield scope

    def scope(self) -> AbstractContextManager[anyio.CancelScope]:
        return self._scope()

    def press(self) -> None:
        self.requested = True
        for scope in self._scopes:
            scope.cancel()


@define
class Numbers:
    """Ids that count."""

    _last: int = 0

    def new(self) -> str:
        self._last += 1
        return f"00000000-0000-4000-8000-{self._last:012}"


@define
class Stepping(Tool):
    """A tool that waits for its gate, and tells when it begins and ends."""

    log: list[str]
    gates: dict[str, anyio.Event] = field(factory=dict)
    at_once: int = 0
    most_at_once: int = 0
    begun: dict[str, anyio.Event] = field(factory=dict)

    name = "Step"
    description = "a step"
    input_schema = {  # noqa: RUF012
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "safe": {"type": "boolean"},
            "effects": {"type": "boolean"},
            "does": {"type": "string"},
        },
        "required": ["id"],
        "additionalProperties": False,
    }

    def effects(self, arguments: Arguments) -> bool:
        return bool(arguments.get("effects", False))

    def concurrency_safe(self, arguments: Arguments) -> bool:
        return bool(arguments.get("safe", True))

    async def run(self, arguments: Arguments, context: ToolContext) -> Output:
        name = arguments["id"]
        self.log.append(f"+{name}")
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self.begun.setdefault(name, anyio.Event()).set()
        try:
            if name in self.gates:
                await self.gates[name].wait()
            await anyio.lowlevel.checkpoint()
        finally:
            self.at_once -= 1
            self.log.append(f"-{name}")
        match arguments.get("does"):
            case "raise":
                raise RuntimeError("broken tool")
            case "unclean":
                with _broken_clean_up():
                    return Output(f"did {name}")
            case "long":
                return Output("x" * 100_000)
            case "surrogate":
                return Output("a\ud800b")
            case "empty":
                return Output("")
        context.progress(f"progress of {name}")
        return Output(f"did {name}")

    def gate(self, name: str) -> anyio.Event:
        return self.gates.setdefault(name, anyio.Event())

    def begins(self, name: str) -> anyio.Event:
        return self.begun.setdefault(name, anyio.Event())


@define
class Bench:
    """The executor and what went in and out of it."""

    executor: ToolExecutor
    context: ToolUseContext
    gate: Gate
    button: Button
    step: Stepping
    shown: list[Update]
    recorded: list[Message]
    steps: list[Step[CallFacts]]

    async def run(self, *calls: ToolUse, cut: tuple[str, ...] = ()) -> list[ToolResult]:
        """The results of a reply with these calls, in the order they are returned."""
        ran = await self.executor.run(reply(*calls, cut=cut), self.context)
        self.context = ran.context
        return [result(message) for message in ran.results]

    def path(self, call: str) -> list[str]:
        """Every state the call was in, by its machine."""
        mine = [step.edge for step in self.steps if step.before.id == call]
        return [mine[0].source.value, *(edge.destination.value for edge in mine)]

    @property
    def started(self) -> list[str]:
        return [update.call.id for update in self.shown if isinstance(update, ToolStarted)]


@asynccontextmanager
async def bench(
    folder: Path,
    *,
    tools: dict[str, Tool] | None = None,
    rules: Rules | None = None,
    mode: PermissionMode = PermissionMode.BYPASS_PERMISSIONS,
    limits: Limits | None = None,
    asker: Asker | None = None,
    hooks: ToolHooks | None = None,
    button: Button | None = None,
    record: Callable[[tuple[Message, ...]], None] | None = None,
    on: Callable[[Update], None] | None = None,
    taken: Callable[[Step[CallFacts]], None] = unwatched,
    reads: FileReads | None = None,
) -> AsyncIterator[Bench]:
    shown: list[Update] = []
    recorded: list[Message] = []
    steps: list[Step[CallFacts]] = []
    tool = Stepping([])
    gate = Gate(Judge.of(folder, rules or Rules(), mode), asker or NobodyAsks())
    button = button or Button()

    async def write(messages: tuple[Message, ...]) -> None:
        if record is not None:
            record(messages)
        recorded.extend(messages)

    def show(update: Update) -> None:
        shown.append(update)
        if on is not None:
            on(update)

    def note(step: Step[CallFacts]) -> None:
        taken(step)
        steps.append(step)
        for observe in call_observers:
            observe(step)

    async with anyio.create_task_group() as tasks:
        executor = ToolExecutor(
            tools={"Step": tool, **(tools or {})},
            permissions=gate,
            interrupt=button,
            show=show,
            limits=limits or Limits(),
            tasks=tasks,
            ids=Numbers(),
            record=write,
            session=ToolSession(
                root=folder, spill=folder.parent / "spill", reads=reads or FileReads()
            ),
            hooks=hooks,
            taken=note,
        )
        context = ToolUseContext(
            model="m",
            permission_mode=mode.value,
            cwd=str(folder),
            tools=("Step", *(tools or ())),
            chain_id="c",
            depth=0,
            agent_id=None,
        )
        executor.begin(context)
        yield Bench(executor, context, gate, button, tool, shown, recorded, steps)
        tasks.cancel_scope.cancel()


@contextmanager
def _broken_clean_up() -> Iterator[None]:
    yield
    raise RuntimeError("broken clean-up")


def step(name: str, **arguments: Any) -> ToolUse:
    return ToolUse(id=name, name="Step", input={"id": name, **arguments})


def reply(*calls: ToolUse, cut: tuple[str, ...] = ()) -> Reply:
    message = Message(id=REPLY_ID, role="assistant", kind=Kind.REPLY, content=calls)
    finished = tuple(call.id for call in calls if call.id not in cut)
    return Reply(message=message, stop_reason="tool_use", calls=finished, cut_calls=cut)


def texts(results: list[ToolResult]) -> list[str]:
    return [result.text for result in results]


def result(message: Message) -> ToolResult:
    (block,) = message.content
    assert isinstance(block, ToolResult)
    return block
