"""One line about a round of tools, made by a small model: implements the ToolSummaries port.

Begun when the tools are done and never waited for: `collect` gives what is there, and what comes
later is shown as it comes, while the next reply streams. Whatever goes wrong, there is no
caption, and no error.
"""

from __future__ import annotations

from contextlib import aclosing

from anyio.abc import TaskGroup
from attrs import define, evolve, field

from interlock.quiet import Quiet
from phases.world.loop import Loop
from phases.world.messages import Kind, Message, Text, ToolResult, encoded
from phases.world.ports import Caption, Failed, Ids, Interrupt, Model, Replied, Request
from phases.world.updates import Notice, Show

CAPTION_SYSTEM = (
    "You write the caption of a step that a coding agent has just taken: what it did, past tense,"
    " at most ten words, one line, no full stop, no quotation marks. Say nothing else. Examples:"
    " Searched for the callers of parse()  /  Fixed the off-by-one in pager.py  /  Ran the tests:"
    " 2 failed"
)
_MOST_TOKENS = 60  # a line of ten words, with room for names
_MOST_CHARACTERS = 120  # of a caption; what is longer is no caption
_SHOWN = 300  # characters of each input and each result: the gist is at the beginning
_CALLS = 12  # of one round; a caption of ten words cannot name more
_log = Quiet(__name__)


@define
class _Job:
    due: bool = False  # the turn it belongs into has begun: show it as it comes
    text: str | None = None


@define(kw_only=True)
class Captions:
    """One per run. `tasks` is the run's group: what is not there by its end is given up."""

    model: Model
    name: str  # of the small model
    ids: Ids
    interrupt: Interrupt
    show: Show
    tasks: TaskGroup
    _jobs: dict[str, _Job] = field(factory=dict, init=False)
    _unbooked: Caption = field(factory=Caption, init=False)

    def start(self, loop: Loop, results: tuple[Message, ...]) -> str | None:
        """Begin a caption, unless nothing ran, the user stopped, or nobody watches."""
        if not results or self.interrupt.requested:
            return None
        if loop.state.tool_use_context.agent_id is not None:
            return None
        job = self.ids.new()
        self._jobs[job] = _Job()
        request = Request(
            model=self.name,
            messages=(
                Message(
                    id=job,
                    role="user",
                    kind=Kind.NOTE,
                    content=(Text(told(loop, results)),),
                ),
            ),
            max_tokens=_MOST_TOKENS,
            purpose="summary",
        )
        self.tasks.start_soon(self._make, job, request)
        return job

    async def collect(self, job: str | None) -> Caption:
        """The caption of `job` if it is there, and what captions have cost since the last time."""
        cost, self._unbooked = self._unbooked, Caption()
        known = None if job is None else self._jobs.get(job)
        if known is None or job is None:
            return cost
        known.due = True
        if known.text is not None:
            del self._jobs[job]
        return evolve(cost, text=known.text)

    async def _make(self, job: str, request: Request) -> None:
        if self.interrupt.requested:  # since `start`: no further request leaves (law 10)
            del self._jobs[job]
            return
        text = None
        try:
            text = await self._asked(request)
        except Exception:  # a caption is worth no run
            _log.debug("no caption", exc_info=True)
        known = self._jobs[job]
        if text is not None and not known.due:
            known.text = text  # until `collect` asks for it
            return
        del self._jobs[job]
        # The run may just have told its end: the cancellation of this task is then on its way.
        over = self.interrupt.requested or self.tasks.cancel_scope.cancel_called
        if text is not None and not over:
            self.show(Notice("info", text))

    async def _asked(self, request: Request) -> str | None:
        async with aclosing(self.model.ask(request)) as events:
            async for event in events:
                if isinstance(event, Replied | Failed):
                    self._book(event)
                if isinstance(event, Replied):
                    return caption_of(event.reply.message.text)
                if isinstance(event, Failed):
                    _log.debug("no caption", failure=event.failure.message)
        return None

    def _book(self, event: Replied | Failed) -> None:
        booked, cost = self._unbooked, None
        if booked.cost is not None and event.cost is not None:
            cost = booked.cost + event.cost
        self._unbooked = evolve(
            booked, cost=cost, tokens=booked.tokens + event.usage.output_tokens
        )


def told(loop: Loop, results: tuple[Message, ...]) -> str:
    """The round of tools in a few lines, for the small model."""
    reply = loop.now.reply
    said = {
        block.tool_use_id: block
        for message in results
        for block in message.content
        if isinstance(block, ToolResult)
    }
    lines = [] if reply is None else [_short(reply.message.text)]
    for call in () if reply is None else reply.message.calls[:_CALLS]:
        result = said.get(call.id)
        lines.append(f"{call.name} {_short(encoded(dict(call.input)).decode())}")
        if result is not None:
            lines.append(f"  {'failed' if result.is_error else 'gave'}: {_short(result.text)}")
    return "\n".join(line for line in lines if line) or "(nothing)"


def caption_of(text: str) -> str | None:
    """The first line, without what small models put around it; None if that is no caption."""
    lines = [line.strip().strip("\"'`*").rstrip(".").strip() for line in text.splitlines()]
    line = next((line for line in lines if line), "")
    return line if 0 < len(line) <= _MOST_CHARACTERS else None


def _short(text: str) -> str:
    flat = " ".join(text[: 4 * _SHOWN].split())
    return flat if len(flat) <= _SHOWN else f"{flat[:_SHOWN]}…"
