"""What arrived while the tools ran, for one run: implements the Attachments port.

Takes and remembers; nothing here waits, so nothing can be lost between taking and telling.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from attrs import define, field

from interlock.inbox.prefetch import AlreadyRead, Found, Prefetch
from interlock.inbox.queue import Priority, Queued, Waiting
from phases.world.loop import Loop
from phases.world.messages import Kind, Media, Message, Text
from phases.world.ports import Ids

SLEEP = "Sleep"  # a tool of this name has nothing else to do: it reads what can wait, too

_TOLD = re.compile(r"<system-reminder>\n\w+: .* \((?P<path>/.*)\)\n\n")  # as `_told` says it


class Beside(Protocol):
    """Something that a turn may have brought up, beside what is queued and looked up."""

    async def news(self, loop: Loop) -> Sequence[str]:
        """What the model is to be told now; each text is a note of its own."""
        ...


@define(kw_only=True)
class Inbox:
    """One per run. `completed` is called once the run has returned, never after an exception."""

    queue: Waiting
    reads: AlreadyRead
    ids: Ids
    prefetches: tuple[Prefetch, ...] = ()
    beside: tuple[Beside, ...] = ()
    told: set[Path] = field(factory=set)  # files that prefetches have told of, in the session
    _taken: list[Queued] = field(factory=list, init=False)

    async def gather(self, loop: Loop) -> tuple[Message, ...]:
        """Queued messages by the rules of `queue`, then what the turn brought up, then what
        prefetches have found."""
        agent_id = loop.state.tool_use_context.agent_id
        taken = self.queue.take(agent_id=agent_id, up_to=reach(loop))
        self._taken += taken
        news = [self._note(text) for each in self.beside for text in await each.news(loop)]
        found = [
            self._told(prefetch, one)
            for prefetch in self.prefetches
            for one in prefetch.consume(loop.state.turn_count, self.reads)
            if one.path is None or one.path not in self.told
        ]
        return (*(queued.message for queued in taken), *news, *found)

    def said(self, prompt: str | Queued | tuple[Text | Media, ...]) -> tuple[Message, ...]:
        """What the user says as a run begins, the prompt last: what waits was typed before it.

        Behind a prompt that comes from the queue itself everything stays where it is, but for
        news, which waited for any prompt.
        """
        if isinstance(prompt, Queued):
            news = self.queue.take_news()
            self._taken += news
            return (*(one.message for one in news), prompt.message)
        taken = self.queue.take(agent_id=None, up_to=Priority.LATER)
        self._taken += taken
        content = (Text(prompt),) if isinstance(prompt, str) else prompt
        typed = Message(id=self.ids.new(), role="user", kind=Kind.PROMPT, content=content)
        return (*(queued.message for queued in taken), typed)

    def completed(self) -> None:
        """The run has returned: what it read is dealt with."""
        taken, self._taken = self._taken, []
        self.queue.complete(taken)

    def _told(self, prefetch: Prefetch, found: Found) -> Message:
        where = ""
        if found.path is not None:
            self.told.add(found.path)
            where = f" ({found.path})"
        return self._note(f"{prefetch.source.name}: {found.title}{where}\n\n{found.text}")

    def _note(self, words: str) -> Message:
        text = f"<system-reminder>\n{words}\n</system-reminder>"
        return Message(id=self.ids.new(), role="user", kind=Kind.NOTE, content=(Text(text),))


def files_told(messages: Iterable[Message]) -> Iterator[Path]:
    """The files of which prefetches have told, as it stands in the history."""
    for message in messages:
        found = _TOLD.match(message.text) if message.kind is Kind.NOTE else None
        if found is not None:
            yield Path(found["path"])


def reach(loop: Loop) -> Priority:
    """The lowest priority that may be read in this turn."""
    reply = loop.now.reply
    slept = reply is not None and any(
        call.name == SLEEP and call.id in reply.calls for call in reply.message.calls
    )
    return Priority.LATER if slept else Priority.NEXT
