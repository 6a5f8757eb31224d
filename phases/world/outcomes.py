"""What each state can report. Frozen data, complete enough to take every decision again.

`into` says what the outcome brings to this iteration; `keep`, the reducer of every edge between
two phases, does that and books what was spent, and nothing else.

Each type declares its specimens: a small set that brings out every value its guards can have,
with messages left blank. The model check runs the shipped guards and reducers over them.
"""

from __future__ import annotations

from typing import Protocol, Self

from attrs import evolve, frozen

from phases.world.failures import Failure, FailureKind, RefusedBlock
from phases.world.loop import (
    NEVER_COMPACTED,
    AutoCompactTracking,
    Loop,
    Now,
    Reply,
    Spent,
    ToolUseContext,
)
from phases.world.messages import Kind, Message

BLANK_ID = "00000000-0000-4000-8000-000000000000"
_BLANK_REPLY = Message(id=BLANK_ID, role="assistant", kind=Kind.REPLY, content=())
_BLANK_NOTE = Message(id=BLANK_ID, role="user", kind=Kind.NOTE, content=())


class CanAbort(Protocol):
    """An outcome of a state that waits, and so can be interrupted."""

    @property
    def aborted(self) -> bool: ...


@frozen(kw_only=True)
class Outcome:
    """What is common to all: money and tokens that the work has cost."""

    cost: float | None = 0.0  # USD; None: unknown price
    tokens: int = 0  # output tokens

    def into(self, now: Now) -> Now:
        return now

    @classmethod
    def specimens(cls) -> tuple[Self, ...]:
        return (cls(),)


@frozen(kw_only=True)
class Raised(Outcome):
    """A phase broke: what no one foresaw, or a disk that takes no more. `error` is one line."""

    error: str
    aborted: bool = False
    kind: FailureKind = FailureKind.UNKNOWN

    def into(self, now: Now) -> Now:
        return evolve(now, withheld=Failure(kind=self.kind, message=self.error))

    @classmethod
    def specimens(cls) -> tuple[Raised, ...]:
        return (cls(error="broke"), cls(error="broke", aborted=True))


@frozen(kw_only=True)
class Freed:
    """What one level of the context pipeline made room for."""

    level: str
    tokens: int


@frozen(kw_only=True)
class Prepared(Outcome):
    """The view is ready: what will be sent, and how large it is."""

    view: tuple[Message, ...]
    size: int
    tracking: AutoCompactTracking
    staged: int = 0
    freed: tuple[Freed, ...] = ()
    heaviest: str | None = None
    aborted: bool = False

    def into(self, now: Now) -> Now:
        return evolve(
            now,
            view=self.view,
            size=self.size,
            tracking=self.tracking,
            staged=self.staged,
            heaviest=self.heaviest,
        )

    @classmethod
    def specimens(cls) -> tuple[Prepared, ...]:
        def one(size: int, staged: int, cost: float = 0.0, aborted: bool = False) -> Prepared:
            return cls(
                view=(_BLANK_NOTE,),
                size=size,
                tracking=NEVER_COMPACTED,
                staged=staged,
                cost=cost,
                aborted=aborted,
            )

        return (
            one(0, 0),
            one(0, 1),
            one(10**9, 0),
            one(0, 0, cost=10.0**9),
            one(0, 0, aborted=True),
        )


@frozen(kw_only=True)
class Weighed(Outcome):
    """The limits were looked at; the facts are already in the loop."""


@frozen(kw_only=True)
class Streamed(Outcome):
    """One request was made. Either a reply came, or a failure says why not."""

    reply: Reply | None = None
    failure: Failure | None = None
    aborted: bool = False

    def into(self, now: Now) -> Now:
        return evolve(now, reply=self.reply, withheld=self.failure)

    @classmethod
    def specimens(cls) -> tuple[Streamed, ...]:
        failures = (
            Failure(kind=FailureKind.CONNECTION, message=""),
            Failure(kind=FailureKind.OVERLOADED, message=""),
            Failure(kind=FailureKind.RATE_LIMITED, message="", retry_after=10.0**9),
            Failure(kind=FailureKind.PROMPT_TOO_LONG, message=""),
            Failure(kind=FailureKind.MEDIA_TOO_LARGE, message=""),
            Failure(kind=FailureKind.AUTHENTICATION, message=""),
            Failure(
                kind=FailureKind.BLOCK_REFUSED,
                message="",
                refused=RefusedBlock(message_id=BLANK_ID, block=0),
            ),
        )
        reasons = (
            "end_turn",
            "stop_sequence",
            "max_tokens",
            "pause_turn",
            "refusal",
            "model_context_window_exceeded",
            "a_reason_of_tomorrow",
            None,
        )
        return (
            *(cls(failure=failure) for failure in failures),
            *(cls(reply=_specimen_reply(reason)) for reason in reasons),
            *(
                cls(reply=_specimen_reply(reason, calls=("a",)))
                for reason in ("tool_use", "refusal")
            ),
            cls(reply=_specimen_reply("max_tokens", calls=("a",), cut=("b",))),
            cls(reply=_specimen_reply("max_tokens", cut=("a",))),
            cls(aborted=True),
        )


def _specimen_reply(
    stop_reason: str | None, calls: tuple[str, ...] = (), cut: tuple[str, ...] = ()
) -> Reply:
    return Reply(message=_BLANK_REPLY, stop_reason=stop_reason, calls=calls, cut_calls=cut)


@frozen(kw_only=True)
class Waited(Outcome):
    """The delay before another attempt is over, or was broken off."""

    seconds: float
    aborted: bool = False

    @classmethod
    def specimens(cls) -> tuple[Waited, ...]:
        return (cls(seconds=0.0), cls(seconds=0.0, aborted=True))


@frozen(kw_only=True)
class Checked(Outcome):
    """After the stream: whether an interrupt came meanwhile."""

    aborted: bool = False

    @classmethod
    def specimens(cls) -> tuple[Checked, ...]:
        return (cls(), cls(aborted=True))


@frozen(kw_only=True)
class Classified(Outcome):
    """There is nothing to run; the facts that decide what follows are already in the loop."""


@frozen(kw_only=True)
class Drained(Outcome):
    """Staged collapses were committed; `view` is what they left."""

    view: tuple[Message, ...]
    committed: int

    def into(self, now: Now) -> Now:
        return evolve(now, view=self.view)

    @classmethod
    def specimens(cls) -> tuple[Drained, ...]:
        return (cls(view=(), committed=0), cls(view=(), committed=1))


@frozen(kw_only=True)
class Compacted(Outcome):
    """The history was summarised, or could not be: then `view` is None and `problem` says why."""

    view: tuple[Message, ...] | None = None
    problem: str | None = None
    aborted: bool = False

    @classmethod
    def specimens(cls) -> tuple[Compacted, ...]:
        return (
            cls(view=(_BLANK_NOTE,)),
            cls(view=(_BLANK_NOTE,), cost=10.0**9),
            cls(problem="refused"),
            cls(aborted=True),
        )


@frozen(kw_only=True)
class HooksRan(Outcome):
    """Stop hooks have spoken: `prevented` is why one forbids going on, or None."""

    prevented: str | None = None
    blocking_errors: tuple[str, ...] = ()
    aborted: bool = False

    def into(self, now: Now) -> Now:
        words = self.prevented or "\n".join(self.blocking_errors) or None
        return evolve(now, hook_words=words)

    @classmethod
    def specimens(cls) -> tuple[HooksRan, ...]:
        return (
            cls(),
            cls(prevented="no"),
            cls(blocking_errors=("tests fail",)),
            cls(aborted=True),
        )


@frozen(kw_only=True)
class BudgetJudged(Outcome):
    """The token budget was looked at; the facts are already in the loop."""


@frozen(kw_only=True)
class ToolsRan(Outcome):
    """Every call of the reply has its result, in the order of the calls."""

    results: tuple[Message, ...]
    context: ToolUseContext | None = None
    summary_job: str | None = None
    hook_stopped: str | None = None
    aborted: bool = False

    def into(self, now: Now) -> Now:
        return evolve(
            now,
            results=self.results,
            context=self.context,
            summary_job=self.summary_job,
            hook_words=self.hook_stopped,
        )

    @classmethod
    def specimens(cls) -> tuple[ToolsRan, ...]:
        return (
            cls(results=(_BLANK_NOTE,)),
            cls(results=(_BLANK_NOTE,), summary_job="job"),
            cls(results=(_BLANK_NOTE,), hook_stopped="no"),
            cls(results=(_BLANK_NOTE,), aborted=True),
        )


@frozen(kw_only=True)
class Attached(Outcome):
    """What arrived meanwhile and belongs into the next request."""

    attachments: tuple[Message, ...] = ()
    aborted: bool = False

    def into(self, now: Now) -> Now:
        return evolve(now, attachments=self.attachments)

    @classmethod
    def specimens(cls) -> tuple[Attached, ...]:
        return (cls(), cls(aborted=True))


@frozen(kw_only=True)
class TurnDone(Outcome):
    """A turn is over: the model spoke, its tools ran."""


def keep(loop: Loop, outcome: Outcome) -> Loop:
    """The reducer between two phases: keep what came, book what it cost, touch nothing else."""
    return evolve(loop, now=outcome.into(loop.now), spent=booked(loop.spent, outcome))


def booked(spent: Spent, outcome: Outcome) -> Spent:
    """`spent` with the cost and tokens of `outcome` added."""
    if outcome.tokens == 0 and outcome.cost == 0.0:
        return spent
    unknown = spent.cost is None or outcome.cost is None
    cost = None if unknown else (spent.cost or 0.0) + (outcome.cost or 0.0)
    return evolve(spent, cost=cost, tokens=spent.tokens + outcome.tokens)
