"""The loop: the one frozen value that guards, reducers and phases are given.

Four parts, by how long each lives: `run` (the prompt), `state` (from iteration to iteration),
`spent` (chances and means used up), `now` (one iteration). A guard reads these and its outcome,
nothing beside.
"""

from __future__ import annotations

from enum import StrEnum

from attrs import evolve, frozen

from phases.world.failures import Failure
from phases.world.limits import Limits
from phases.world.messages import Message


class Reason(StrEnum):
    """Why an iteration was followed by another; each is the name of its reducer."""

    NEXT_TURN = "next_turn"
    COLLAPSE_DRAIN_RETRY = "collapse_drain_retry"
    REACTIVE_COMPACT_RETRY = "reactive_compact_retry"
    MAX_OUTPUT_TOKENS_ESCALATE = "max_output_tokens_escalate"
    MAX_OUTPUT_TOKENS_RECOVERY = "max_output_tokens_recovery"
    STOP_HOOK_BLOCKING = "stop_hook_blocking"
    TOKEN_BUDGET_CONTINUATION = "token_budget_continuation"
    PAUSE_TURN_CONTINUATION = "pause_turn_continuation"


@frozen(kw_only=True)
class Continue:
    """Why the previous iteration went on, with what its edge has to say about it."""

    reason: Reason
    committed: int | None = None  # of a drain: collapses committed
    attempt: int | None = None  # of a recovery: which one, from 1


@frozen(kw_only=True)
class Features:
    """What this run may do; fixed at entry. Each is a setting: `INTERLOCK_<NAME>`, on or off."""

    output_cap: bool = True  # low default cap, escalated once
    reactive_compact: bool = True
    # The five levels of the context pipeline, each by its name.
    result_budget: bool = True
    snip: bool = False  # forgets for good; the other levels nearly always suffice
    microcompact: bool = True
    context_editing: bool = False  # microcompact done by the server, where it offers that
    collapse: bool = True
    autocompact: bool = True


@frozen(kw_only=True)
class Run:
    """What is fixed for the prompt."""

    chain_id: str
    depth: int
    models: tuple[str, ...]  # the first is asked; the others are fallbacks, in order
    max_turns: int | None
    budget_usd: float | None
    token_budget: int | None
    output_cap: int | None  # the user's own
    fixed_tokens: int  # system prompt and tools, estimated
    features: Features
    limits: Limits


@frozen(kw_only=True)
class ToolUseContext:
    """What tool calls of this iteration are run with."""

    model: str
    permission_mode: str
    cwd: str
    tools: tuple[str, ...]
    chain_id: str
    depth: int
    agent_id: str | None


@frozen(kw_only=True)
class AutoCompactTracking:
    """What compaction has done so far."""

    compactions: int
    turns_since: int
    failures: int  # in a row
    fruitless: int  # in a row: compactions made because the one before brought nothing

    @property
    def fruitless_now(self) -> int:
        """What `fruitless` would be after one more: was the window full again within a turn?"""
        return self.fruitless + 1 if self.compactions and self.turns_since <= 1 else 0

    def after_one_more(self) -> AutoCompactTracking:
        """The history was compacted: automatically, or because the window was full."""
        return evolve(
            self,
            compactions=self.compactions + 1,
            turns_since=0,
            fruitless=self.fruitless_now,
        )


NEVER_COMPACTED = AutoCompactTracking(compactions=0, turns_since=0, failures=0, fruitless=0)


@frozen(kw_only=True)
class LoopState:
    """The ten fields that iterations hand on. No defaults: every Continue names them all."""

    messages: tuple[Message, ...]
    tool_use_context: ToolUseContext
    auto_compact_tracking: AutoCompactTracking
    max_output_tokens_recovery_count: int
    has_attempted_reactive_compact: bool
    max_output_tokens_override: int | None
    pending_tool_use_summary: str | None  # the id of a job that runs behind its port
    stop_hook_active: bool
    turn_count: int
    transition: Continue | None

    @classmethod
    def first(cls, messages: tuple[Message, ...], context: ToolUseContext) -> LoopState:
        """The state in which a prompt begins."""
        return cls(
            messages=messages,
            tool_use_context=context,
            auto_compact_tracking=NEVER_COMPACTED,
            max_output_tokens_recovery_count=0,
            has_attempted_reactive_compact=False,
            max_output_tokens_override=None,
            pending_tool_use_summary=None,
            stop_hook_active=False,
            turn_count=1,
            transition=None,
        )


@frozen(kw_only=True)
class Spent:
    """Chances and means used up. `cost` and `tokens` only grow."""

    attempts: int = 0  # retries of the request under way
    mends: int = 0
    pauses: int = 0
    stop_blocks: int = 0
    nudges: int = 0
    nudge_marks: tuple[int, ...] = ()  # `tokens` at the last two nudges
    cost: float | None = 0.0  # USD; None once a model without a known price was used
    tokens: int = 0  # output tokens


@frozen(kw_only=True)
class Reply:
    """What the model said: a whole answer, or one that the cap or the window cut."""

    message: Message
    stop_reason: str | None
    calls: tuple[str, ...]  # ids of the calls it finished, in order
    cut_calls: tuple[str, ...]  # ids of calls it was cut in


@frozen(kw_only=True)
class Now:
    """What this iteration has made so far."""

    view: tuple[Message, ...] = ()  # what is sent
    size: int = 0  # of the view, in tokens
    heaviest: str | None = None  # what fills the window most, in words
    tracking: AutoCompactTracking = NEVER_COMPACTED
    staged: int = 0  # collapses that could be committed
    reply: Reply | None = None
    withheld: Failure | None = None  # kept from the caller until recovery has failed
    results: tuple[Message, ...] = ()
    context: ToolUseContext | None = None  # as the tools left it
    summary_job: str | None = None
    attachments: tuple[Message, ...] = ()
    hook_words: str | None = None  # why a hook wants an end


NOTHING_YET = Now()


@frozen(kw_only=True)
class Loop:
    """All that a decision may read, beside the outcome."""

    run: Run
    state: LoopState
    spent: Spent = Spent()
    now: Now = NOTHING_YET
