"""The queue of messages that came while somebody worked: typed ones, and endings of tasks.

Who may read what, and when, is decided here, by rules a table can hold (`readable`); how a
message moves on is the machine in `lifecycle`. Use it from the event loop's own thread.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import IntEnum, StrEnum

import anyio
from attrs import define, field, frozen

from fsm import decide
from interlock.inbox.lifecycle import QUEUED_MESSAGE, Known, RunReturned, Stage, Taken
from phases.world.messages import Kind, Media, Message, Opaque, Text
from phases.world.ports import Ids
from phases.world.updates import QueueChanged, Show, Update

# `/compact`, `/plugin:review all of it`; a path like `/etc/hosts` is no command.
_COMMAND = re.compile(r"/[A-Za-z][\w:-]*(?!\S)")


class Mode(StrEnum):
    PROMPT = "prompt"  # the user's own words
    TASK_NOTIFICATION = "task_notification"  # a background task has something to say
    NEWS = "news"  # good to know with whatever comes next, and no reason to begin a run


class Priority(IntEnum):
    """Which come first, and which may be read in the middle of a run."""

    NOW = 0
    NEXT = 1  # at the next stop between two turns
    LATER = 2  # when there is nothing else to do: while sleeping, or at the next prompt

    @classmethod
    def of(cls, name: str) -> Priority:
        """The priority called `now`, `next` or `later`. Raises ValueError."""
        try:
            return cls[name.upper()]
        except KeyError:
            raise ValueError(f"{name!r} is no priority; there are now, next, later") from None


@frozen(kw_only=True)
class Queued:
    """One message that waits. `id` is a UUID, and the id of the message it becomes."""

    id: str
    content: tuple[Text | Media | Opaque, ...]
    mode: Mode = Mode.PROMPT
    priority: Priority = Priority.NEXT
    agent_id: str | None = None  # the sub-agent it is for; None: the main thread

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.content if isinstance(part, Text))

    @property
    def is_command(self) -> bool:
        """Whether it is a slash command, which a program reads and the model never does."""
        return self.mode is Mode.PROMPT and bool(_COMMAND.match(self.text.lstrip()))

    @property
    def message(self) -> Message:
        """As the history holds it. Typed words are the user's own, also in mid-run: compaction
        keeps them verbatim. A notification is a note of the harness."""
        kind = Kind.PROMPT if self.mode is Mode.PROMPT else Kind.NOTE
        return Message(id=self.id, role="user", kind=kind, content=self.content)


def readable(queued: Queued, *, agent_id: str | None, up_to: Priority) -> bool:
    """Whether this agent may read the message between two turns.

    A sub-agent hears only of what is its own: what a user types is never meant for it.
    """
    if queued.priority > up_to or queued.is_command or queued.agent_id != agent_id:
        return False
    return agent_id is None or queued.mode is not Mode.PROMPT


@define
class Waiting:
    """The queue of one session, shared by its agents. `show` may be replaced between prompts."""

    ids: Ids
    show: Show | None = None
    _queue: list[Queued] = field(factory=list)
    _news: anyio.Event = field(factory=anyio.Event)

    def add(
        self,
        content: str | tuple[Text | Media | Opaque, ...],
        *,
        mode: Mode = Mode.PROMPT,
        priority: Priority = Priority.NEXT,
        agent_id: str | None = None,
        id_: str | None = None,
    ) -> Queued:
        """Put a message into the queue; it is never refused and never waits. `id_` is a UUID that
        its sender gave it."""
        queued = Queued(
            id=id_ or self.ids.new(),
            content=(Text(content),) if isinstance(content, str) else content,
            mode=mode,
            priority=priority,
            agent_id=agent_id,
        )
        self._queue.append(queued)
        self._tell(queued, QUEUED_MESSAGE.initial)
        self._news.set()
        self._news = anyio.Event()
        return queued

    @property
    def messages(self) -> tuple[Queued, ...]:
        """All that waits, the most urgent first, in the order of arrival otherwise."""
        return tuple(sorted(self._queue, key=lambda queued: queued.priority))

    def take(self, *, agent_id: str | None, up_to: Priority) -> tuple[Queued, ...]:
        """Take out what this agent may read now. Whoever takes it must `complete` it."""
        return self._take(
            [q for q in self.messages if readable(q, agent_id=agent_id, up_to=up_to)], Taken()
        )

    def take_news(self) -> tuple[Queued, ...]:
        """Take what is good to know with whatever comes next. Whoever takes it completes it."""
        mine = [one for one in self.messages if one.agent_id is None and one.mode is Mode.NEWS]
        return self._take(mine, Taken())

    def take_alone(self) -> Queued | None:
        """Take the main thread's first message, be it a command, to be a prompt of its own."""
        mine = [one for one in self.messages if one.agent_id is None and one.mode is not Mode.NEWS]
        return next(iter(self._take(mine[:1], Taken(alone=True))), None)

    def withdraw(self, id_: str) -> bool:
        """Take out a message that its sender no longer means; whether it still waited."""
        found = [queued for queued in self._queue if queued.id == id_]
        self._take(found, Taken(alone=True))
        return bool(found)

    def complete(self, taken: Iterable[Queued]) -> None:
        """The run that read these has returned."""
        for queued in taken:
            self._tell(queued, _moved(queued, Stage.INJECTED, RunReturned()))

    async def arrival(self, agent_id: str | None, *, alone: bool = False) -> None:
        """Return once there is something that this agent may read, whatever its priority.

        `alone`: something that is worth a run of its own.
        """
        while not any(
            readable(queued, agent_id=agent_id, up_to=Priority.LATER)
            and not (alone and queued.mode is Mode.NEWS)
            for queued in self._queue
        ):
            await self._news.wait()

    def _take(self, chosen: list[Queued], outcome: Taken) -> tuple[Queued, ...]:
        for queued in chosen:
            self._queue.remove(queued)
            self._tell(queued, _moved(queued, Stage.QUEUED, outcome))
        return tuple(chosen)

    def _tell(self, queued: Queued, stage: StrEnum) -> None:
        if self.show is not None:
            self.show(QueueChanged(queued.id, stage.value))


@frozen
class Mail:
    """What may arrive for one agent: what a sleeping one listens to, and its tasks write to."""

    queue: Waiting
    agent_id: str | None = None

    async def arrival(self) -> None:
        await self.queue.arrival(self.agent_id)

    def notify(self, text: str) -> None:
        """A background task of this agent has something to say."""
        self._add(text, Mode.TASK_NOTIFICATION)

    def note(self, text: str) -> None:
        """Something that the agent should know by its next request, whenever that is."""
        self._add(text, Mode.NEWS)

    def _add(self, text: str, mode: Mode) -> None:
        note = f"<system-reminder>\n{text}\n</system-reminder>"
        self.queue.add(note, mode=mode, agent_id=self.agent_id)

    def show(self, update: Update) -> None:
        """Tell whoever watches the prompt under way, or watched the last one."""
        if self.queue.show is not None:
            self.queue.show(update)


def _moved(queued: Queued, stage: Stage, outcome: Taken | RunReturned) -> StrEnum:
    return decide(QUEUED_MESSAGE, stage, Known(queued.id), outcome).edge.destination
