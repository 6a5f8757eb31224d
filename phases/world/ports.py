"""The ports: all that phases can do to the world. `interlock` provides them.

A port reports what was expected to fail as data (`Failed`, a problem, an error result); an
exception out of one is a bug or the outside world, and ends the run in `model_error`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol, runtime_checkable

from anyio import CancelScope
from attrs import frozen

from phases.world.failures import Failure
from phases.world.loop import AutoCompactTracking, Loop, Reply, ToolUseContext
from phases.world.messages import Message, ToolUse
from phases.world.outcomes import Freed
from phases.world.usage import Usage


class Interrupt(Protocol):
    """The user's wish to stop. Once set it stays set for this run."""

    @property
    def requested(self) -> bool: ...

    def scope(self) -> AbstractContextManager[CancelScope]:
        """A scope that is cancelled when the interrupt comes, or at once if it has come."""
        ...


@runtime_checkable
class Clock(Protocol):
    def time(self) -> float:
        """Seconds since 1970."""
        ...

    def jitter(self) -> float:
        """A random share in [0, 1)."""
        ...

    async def sleep(self, seconds: float) -> None: ...


class Ids(Protocol):
    def new(self) -> str:
        """A fresh UUID."""
        ...


# --- the model -------------------------------------------------------------------------------


@frozen(kw_only=True)
class Request:
    """What is asked of the model. System prompt and tools are the adapter's: the prompt never
    changes, and tools that come later stand behind those that were there, so that requests share
    as much of their cached prefix as can be."""

    model: str
    messages: tuple[Message, ...]
    max_tokens: int
    purpose: str = "main"  # or "compact", "summary": for logs and cost


@frozen(kw_only=True)
class Begun:
    """message_start came: the prompt is counted, and to be paid even if nothing more comes.

    `Replied` or `Failed` replace these numbers. A model that cannot tell them need not send it.
    """

    usage: Usage
    cost: float | None  # USD; None: no price known for this model


@frozen
class TextDelta:
    text: str


@frozen
class ThinkingDelta:
    text: str


@frozen
class RawEvent:
    """An event of the stream as it came."""

    event: Mapping[str, Any]


@frozen
class CallFinished:
    """A tool_use block is complete, the reply is not."""

    call: ToolUse


@frozen(kw_only=True)
class Replied:
    """message_stop came: this is the reply."""

    reply: Reply
    usage: Usage
    cost: float | None  # USD; None: no price known for this model


@frozen(kw_only=True)
class Failed:
    """There will be no reply. What was used up is to be paid all the same."""

    failure: Failure
    usage: Usage
    cost: float | None


ModelEvent = Begun | TextDelta | ThinkingDelta | RawEvent | CallFinished | Replied | Failed


class Model(Protocol):
    def ask(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        """Make one request. The last event is `Replied` or `Failed`; it raises for bugs only.

        Closing the iterator, or cancelling its consumer, closes the connection.
        """
        ...


# --- tools -----------------------------------------------------------------------------------


@frozen(kw_only=True)
class Ran:
    """What became of the calls of one reply."""

    results: tuple[Message, ...]  # one per call, in the order of the calls
    context: ToolUseContext  # as the tools left it
    hook_stopped: str | None = None


class Executor(Protocol):
    """Runs the calls of one reply at a time."""

    def begin(self, context: ToolUseContext) -> None:
        """A new reply is expected; whatever an earlier one left is dropped and its tasks end."""
        ...

    def offer(self, call: ToolUse) -> None:
        """A call is complete while the stream goes on: it may start if it has no effects."""
        ...

    async def run(self, reply: Reply, context: ToolUseContext) -> Ran:
        """Run what has not run yet; every call of the reply has a result in the end.

        On an interrupt the running calls are ended and each open call gets a truthful result.
        """
        ...

    def drop(self) -> tuple[Message, ...]:
        """The reply is done with: nothing of it may be heard of again.

        Returns the results that are written already: those stand.
        """
        ...


@frozen(kw_only=True)
class Caption:
    """One line about a round of tools, or none, and what was spent beside the loop meanwhile:
    on captions, and by the other agents of the session."""

    text: str | None = None
    cost: float | None = 0.0
    tokens: int = 0  # output tokens


class ToolSummaries(Protocol):
    """Captions for rounds of tools, made by a small model while the next reply streams."""

    def start(self, loop: Loop, results: tuple[Message, ...]) -> str | None:
        """Begin a caption and return the id of the job; None where captions are off."""
        ...

    async def collect(self, job: str | None) -> Caption:
        """The caption of `job`, if it is there by now: nothing waits for one. One that comes
        later is shown as it comes. Its cost is told once, at the first call after it."""
        ...


# --- the rest --------------------------------------------------------------------------------


class History(Protocol):
    """The transcript, and with it what the watcher is shown: one write does both (law 9)."""

    async def record(self, messages: tuple[Message, ...]) -> None:
        """Write those at the end that are not written yet, in order.

        A first message that was never written stands for all before it (a compaction).
        """
        ...

    async def record_mended(self, messages: tuple[Message, ...]) -> None:
        """Write, for each message that replaces one, that it does."""
        ...


@frozen(kw_only=True)
class Mend:
    """One thing that was mended; `message_id` is the message as it is now."""

    message_id: str
    what: str  # in words, the same for each of its kind


@frozen(kw_only=True)
class Mended:
    """A history that the API takes. Without mends it is the very one that was given."""

    messages: tuple[Message, ...]
    mends: tuple[Mend, ...] = ()


class Mender(Protocol):
    def mend(self, messages: tuple[Message, ...], *, model: str) -> Mended:
        """Mend what `model` would be refused for, as far as it can be mended.

        A changed message says which one it replaces. Mending twice changes nothing.
        """
        ...


@frozen(kw_only=True)
class Piped:
    """What the context pipeline made of the history."""

    view: tuple[Message, ...]
    size: int  # of the view, in tokens
    tracking: AutoCompactTracking
    freed: tuple[Freed, ...] = ()
    heaviest: str | None = None  # what fills the window most, for an error that names it
    cost: float | None = 0.0
    tokens: int = 0  # output tokens of the calls that were made


class Pipeline(Protocol):
    async def prepare(self, loop: Loop) -> Piped:
        """Make the view of `loop.state.messages`, level by level, lightest first.

        May ask the model (the heaviest level does). Cancelled on an interrupt.
        """
        ...


@frozen(kw_only=True)
class Summarised:
    """A summary that stands for a whole history, or why there is none (`view` is None)."""

    view: tuple[Message, ...] | None
    problem: str | None = None
    cost: float | None = 0.0
    tokens: int = 0


class Summariser(Protocol):
    async def summarise(
        self, loop: Loop, view: tuple[Message, ...], *, trigger: str, media: bool = True
    ) -> Summarised:
        """Replace `view` by a summary of it; `trigger` is auto, reactive or manual.

        With `media` False, images and documents are left out of what is summarised: they were
        the cause. Cancelled on an interrupt.
        """
        ...


class Collapse(Protocol):
    """The store of staged summaries (level 4 of the context pipeline)."""

    def staged(self, view: tuple[Message, ...]) -> int: ...

    async def drain(self, view: tuple[Message, ...]) -> tuple[tuple[Message, ...], int]:
        """Commit all that is staged: the view they leave, and how many were committed."""
        ...


@frozen(kw_only=True)
class Spoken:
    """What stop hooks said."""

    prevented: str | None = None
    blocking_errors: tuple[str, ...] = ()


class StopHooks(Protocol):
    async def stop(self, loop: Loop) -> Spoken: ...

    def stop_failed(self, loop: Loop, failure: Failure) -> None:
        """Start the stop-failure hooks; they are not awaited."""
        ...


class Attachments(Protocol):
    async def gather(self, loop: Loop) -> tuple[Message, ...]:
        """What arrived while the tools ran. Waits for nothing that is not there."""
        ...
