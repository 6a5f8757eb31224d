"""One tool call as a machine: what may become of it, from its block to its one result.

The executor acts (asks permission, runs the tool) and tells the machine what happened; where
the call stands then is the machine's answer, never the executor's own note. Each decision can be
taken again from its record. Knows neither tools nor results, only what decisions about a call
read. Read `calls` next: it holds a call and its slot.
"""

from __future__ import annotations

from enum import StrEnum

from attrs import evolve, frozen

from fsm import Machine, at, everywhere, machine, to, when


class CallState(StrEnum):
    """Where a call stands; the last six are endings."""

    QUEUED = "queued"
    CHECKING = "checking"  # hooks, rules, mode, perhaps a person
    PERMITTED = "permitted"  # waits for one of the places
    RUNNING = "running"
    DONE = "done"
    DENIED = "denied"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    ABORTED = "aborted"  # by something of ours: a sibling that failed, a reply that was dropped
    INTERRUPTED = "interrupted"  # by the user


@frozen(kw_only=True)
class CallFacts:
    """All that decisions about a call read beside what happened; the last three are found out."""

    id: str
    tool: str
    effects: bool  # it may change something outside this process
    safe: bool  # it may run beside others that say so too
    early: bool = False  # it began while its reply still streamed
    reason: str | None = None  # why it was permitted
    rule: str | None = None  # the rule behind that


# --- outcomes --------------------------------------------------------------------------------


@frozen(kw_only=True)
class Offered:
    """Its block is complete, its reply is not."""

    waits_for: int  # calls before it that must be over first
    clear: bool  # permission needs neither a person nor a hook

    @classmethod
    def specimens(cls) -> tuple[Offered, ...]:
        return tuple(cls(waits_for=n, clear=clear) for n in (0, 1) for clear in (True, False))


@frozen
class TurnCame:
    """Its reply is whole, and all it had to wait for is over."""

    refusal: str | None = None  # why it cannot run at all, in a few words

    @classmethod
    def specimens(cls) -> tuple[TurnCame, ...]:
        return cls(), cls("no such tool")


@frozen(kw_only=True)
class Judged:
    """Hooks, rules, mode or a person have said whether it may run; or nobody could."""

    allowed: bool
    reason: str
    rule: str | None = None
    broke: bool = False  # the question could not be put: `reason` says why

    @classmethod
    def specimens(cls) -> tuple[Judged, ...]:
        return (
            cls(allowed=True, reason="permissions are bypassed"),
            cls(allowed=True, reason="the rule Bash(ls) allows it", rule="Bash(ls)"),
            cls(allowed=False, reason="the rule Bash forbids it", rule="Bash"),
            cls(allowed=False, reason="no such file", broke=True),
        )


@frozen
class Began:
    """It has a place. Recorded before the tool starts: after a crash this is what is known."""

    time_limit: float | None  # seconds; None: the tool keeps its own

    @classmethod
    def specimens(cls) -> tuple[Began, ...]:
        return cls(120.0), cls(None)


@frozen(kw_only=True)
class Returned:
    """The tool is over. What it said is in the result; here is how much, and how it ended."""

    is_error: bool = False
    timed_out: bool = False
    characters: int = 0

    @classmethod
    def specimens(cls) -> tuple[Returned, ...]:
        return cls(characters=12), cls(is_error=True), cls(is_error=True, timed_out=True)


@frozen
class Aborted:
    """Something of this program ended it."""

    because: str

    @classmethod
    def specimens(cls) -> tuple[Aborted, ...]:
        return (cls("its reply was dropped"),)


@frozen
class Interrupted:
    """The user, or whoever cancelled the run, ended it."""

    @classmethod
    def specimens(cls) -> tuple[Interrupted, ...]:
        return (cls(),)


CallOutcome = Offered | TurnCame | Judged | Began | Returned | Aborted | Interrupted


# --- guards ----------------------------------------------------------------------------------


def without_effects(facts: CallFacts, outcome: Offered) -> bool:
    """Whether a retry of the reply could make it again without harm."""
    return not facts.effects


def safe_beside_others(facts: CallFacts, outcome: Offered) -> bool:
    """Whether calls that follow may run beside it."""
    return facts.safe


def nothing_before(facts: CallFacts, outcome: Offered) -> bool:
    """Whether no call of the reply so far must be over first."""
    return outcome.waits_for == 0


def needs_no_asking(facts: CallFacts, outcome: Offered) -> bool:
    """Whether rules and mode alone allow it."""
    return outcome.clear


def cannot_run(facts: CallFacts, outcome: TurnCame) -> bool:
    """Whether there is no such tool, or its input does not fit."""
    return outcome.refusal is not None


def check_broke(facts: CallFacts, outcome: Judged) -> bool:
    """Whether the question of permission could not even be put."""
    return outcome.broke


def not_allowed(facts: CallFacts, outcome: Judged) -> bool:
    """Whether a hook, a rule, the mode or a person said no."""
    return not outcome.allowed


def over_time(facts: CallFacts, outcome: Returned) -> bool:
    """Whether it was ended at its time limit."""
    return outcome.timed_out


def went_wrong(facts: CallFacts, outcome: Returned) -> bool:
    """Whether its result is an error."""
    return outcome.is_error


# --- reducers --------------------------------------------------------------------------------


def unchanged(facts: CallFacts, outcome: object) -> CallFacts:
    return facts


def starts_early(facts: CallFacts, outcome: Offered) -> CallFacts:
    """It need not wait for the end of its reply."""
    return evolve(facts, early=True)


def granted(facts: CallFacts, outcome: Judged) -> CallFacts:
    """Why it may run is kept with it."""
    return evolve(facts, reason=outcome.reason, rule=outcome.rule)


# --- the table -------------------------------------------------------------------------------

TOOL_CALL: Machine[CallFacts] = machine(
    "tool_call",
    at(
        CallState.QUEUED,
        Offered,
        when(
            without_effects,
            safe_beside_others,
            nothing_before,
            needs_no_asking,
            go=CallState.CHECKING,
            then=starts_early,
        ),
        otherwise=to(CallState.QUEUED),
    ),
    at(
        CallState.QUEUED,
        TurnCame,
        when(cannot_run, go=CallState.FAILED),
        otherwise=to(CallState.CHECKING),
    ),
    at(
        CallState.CHECKING,
        Judged,
        when(check_broke, go=CallState.FAILED),
        when(not_allowed, go=CallState.DENIED),
        otherwise=to(CallState.PERMITTED, then=granted),
    ),
    at(CallState.PERMITTED, Began, otherwise=to(CallState.RUNNING)),
    at(
        CallState.RUNNING,
        Returned,
        when(over_time, go=CallState.TIMED_OUT),
        when(went_wrong, go=CallState.FAILED),
        otherwise=to(CallState.DONE),
    ),
    everywhere(Aborted, go=CallState.ABORTED),
    everywhere(Interrupted, go=CallState.INTERRUPTED),
    loop=CallFacts,
    states=CallState,
    initial=CallState.QUEUED,
    endings=(
        CallState.DONE,
        CallState.DENIED,
        CallState.FAILED,
        CallState.TIMED_OUT,
        CallState.ABORTED,
        CallState.INTERRUPTED,
    ),
    keep=unchanged,
)
