"""The model check of the loop: where it starts, what it blanks, and what it finds.

Small caps, so that every combination of chances left can be visited; the printed bounds are
computed from the caps in force. `fsm.check` says why that is enough, `laws` what is asked.
"""

from __future__ import annotations

from attrs import evolve

from fsm import Edge, Machine
from fsm.check import Finding, Verdict, check
from interlock.laws import INNER, LAWS, OUTER
from interlock.table import LOOP
from phases import guards
from phases.world.failures import Failure, FailureKind
from phases.world.limits import Limits
from phases.world.loop import (
    NEVER_COMPACTED,
    Features,
    Loop,
    LoopState,
    Reason,
    Reply,
    Run,
    Spent,
    ToolUseContext,
)
from phases.world.messages import Kind, Message
from phases.world.outcomes import BLANK_ID, Outcome, Raised
from recovery import guards as recovery

_BLANK = Message(id=BLANK_ID, role="user", kind=Kind.NOTE, content=())

NO_CHANCES = Limits(
    max_retries=0,
    max_mends=0,
    max_recoveries=0,
    max_pauses=0,
    max_stop_blocks=0,
    max_nudges=0,
)


def verdict(
    limits: Limits, machine: Machine[Loop] = LOOP, *, places: int = 60_000
) -> Verdict[Loop]:
    """Check `machine` against every law; the bounds are those for `limits`, with one fallback.

    Of more than so many `places` nothing is proven, but what is wrong in the first is found.
    """
    checked = check(
        machine,
        starts=starts(),
        specimens=_specimens,
        normal=_normal,
        outer=OUTER,
        inner=INNER,
        turn_over=_turn_over,
        limit=places,
        laws=LAWS,
        full=_start(limits=limits, models=("a", "b"), token_budget=1_000_000),
    )
    return evolve(checked, findings=(*_deaf_states(machine), *checked.findings))


def _deaf_states(machine: Machine[Loop]) -> tuple[Finding, ...]:
    """Law 2: a phase that breaks is an outcome too, in every state."""
    return tuple(
        Finding("law 2", None, f"{state} does not know Raised")
        for state in machine.states
        if state not in machine.endings and Raised not in machine.outcomes_of(state)
    )


def _turn_over(edge: Edge) -> bool:
    return edge.reason == Reason.NEXT_TURN


def _specimens(outcome: type[Outcome]) -> tuple[Outcome, ...]:
    return outcome.specimens()


def starts() -> tuple[Loop, ...]:
    """All chances of a turn together, then those of a request, then what cuts a run short.

    A guard reads one counter and a reducer names each field, so what one group does to another
    shows with one chance of it; the product of all would only take longer.
    """
    bare = Features(output_cap=False, reactive_compact=False)
    no_summary = Features(reactive_compact=False)
    of_a_turn = evolve(
        NO_CHANCES,
        max_retries=1,
        max_recoveries=1,
        max_pauses=1,
        max_stop_blocks=1,
        max_nudges=1,
    )
    of_a_request = evolve(NO_CHANCES, max_retries=1, max_mends=1, max_recoveries=1)
    return (
        _start(limits=of_a_turn, token_budget=1_000),
        _start(limits=of_a_request, features=no_summary, models=("a", "b")),
        _start(limits=NO_CHANCES, features=bare, budget_usd=1.0, max_turns=2),
        _start(limits=evolve(NO_CHANCES, max_nudges=3), features=bare, token_budget=1_000),
    )


def _start(
    *,
    limits: Limits,
    features: Features | None = None,
    models: tuple[str, ...] = ("a",),
    max_turns: int | None = None,
    budget_usd: float | None = None,
    token_budget: int | None = None,
) -> Loop:
    run = Run(
        chain_id="check",
        depth=0,
        models=models,
        max_turns=max_turns,
        budget_usd=budget_usd,
        token_budget=token_budget,
        output_cap=None,
        fixed_tokens=0,
        features=features or Features(),
        limits=limits,
    )
    context = ToolUseContext(
        model=models[0],
        permission_mode="default",
        cwd="/",
        tools=(),
        chain_id="check",
        depth=0,
        agent_id=None,
    )
    return Loop(run=run, state=LoopState.first((_BLANK,), context))


def _normal(loop: Loop) -> Loop:
    """Blank what no guard, measure or law reads, and cut numbers down to what they are asked."""
    run, state, now = loop.run, loop.state, loop.now
    beyond = guards.cost_limit_reached(loop, None)
    drained = not recovery.last_reason_not_collapse_drain(loop, None)
    return evolve(
        loop,
        state=evolve(
            state,
            messages=(_BLANK,),
            auto_compact_tracking=NEVER_COMPACTED,
            pending_tool_use_summary=None,
            stop_hook_active=False,
            max_output_tokens_recovery_count=min(
                state.max_output_tokens_recovery_count, run.limits.max_recoveries + 1
            ),
            turn_count=1 if run.max_turns is None else min(state.turn_count, run.max_turns + 1),
            transition=state.transition if drained else None,
        ),
        spent=_normal_spent(loop, beyond=beyond),
        now=evolve(
            now,
            view=(_BLANK,),
            size=run.limits.hard_limit + 1 if guards.over_hard_limit(loop, None) else 0,
            heaviest=None,
            tracking=NEVER_COMPACTED,
            staged=now.staged if now.reply is None else 0,  # a reply leaves nothing to drain
            reply=_normal_reply(loop),
            withheld=_normal_failure(now.withheld),
            results=(),
            context=None,
            summary_job=None,
            attachments=(),
        ),
    )


def _normal_spent(loop: Loop, *, beyond: bool) -> Spent:
    """One step beyond each cap tells enough: without it a cap that does not bind had no end."""
    spent, limits = loop.spent, loop.run.limits
    return evolve(
        spent,
        attempts=min(spent.attempts, limits.max_retries + 1),
        mends=min(spent.mends, limits.max_mends + 1),
        pauses=min(spent.pauses, limits.max_pauses + 1),
        stop_blocks=min(spent.stop_blocks, limits.max_stop_blocks + 1),
        nudges=min(spent.nudges, limits.max_nudges + 1),
        cost=loop.run.budget_usd if beyond else 0.0,
    )


def _normal_reply(loop: Loop) -> Reply | None:
    """One reply for each class that guards tell apart."""
    reply = loop.now.reply
    if reply is None:
        return None
    if guards.needs_follow_up(loop, None):
        return evolve(reply, stop_reason="tool_use", cut_calls=())
    told_apart = ("max_tokens", "pause_turn", "model_context_window_exceeded")
    if reply.stop_reason in told_apart:
        return evolve(reply, cut_calls=())
    whole = not recovery.answer_not_whole(loop, None)
    return evolve(reply, stop_reason="end_turn" if whole else "other", calls=(), cut_calls=())


def _normal_failure(failure: Failure | None) -> Failure | None:
    telling = (FailureKind.PROMPT_TOO_LONG, FailureKind.MEDIA_TOO_LARGE)
    if failure is None or failure.kind in telling:
        return failure
    return Failure(kind=FailureKind.UNKNOWN, message="")
