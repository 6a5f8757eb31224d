"""The model check of the shipped table, and what it says of tables that are wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from attrs import evolve, frozen

from fsm import Edge, Machine, name_of
from fsm.check import render
from interlock.model_check import verdict
from interlock.table import LOOP
from phases.reducers import next_turn
from phases.world.limits import Limits
from phases.world.loop import Loop
from phases.world.outcomes import Outcome, keep
from phases.world.states import State
from recovery.reducers import (
    max_output_tokens_recovery,
    model_fallback,
    reactive_compact_retry,
    retry,
    stop_hook_blocking,
)

# Line by line under a tracer, the search takes minutes and covers nothing new.
pytestmark = pytest.mark.no_cover

LIMITS = Limits()
# What is wrong with a table is wrong with few chances too, and is found in a fraction of the time.
A_PART = 8_000  # places, fewer than there are: what is wrong with a table shows in them
FEW = Limits(
    max_retries=1, max_mends=1, max_recoveries=1, max_pauses=1, max_stop_blocks=1, max_nudges=1
)


def test_the_shipped_table_keeps_every_law() -> None:
    shipped = verdict(LIMITS)

    assert shipped.ok, render(shipped)
    assert shipped.bounds is not None


def test_the_bounds_follow_from_the_caps_in_force() -> None:
    """Escalation: at most 1 + 3 * (1 + blocks) in a turn; recovery gives it back, blocks both."""
    bounds = verdict(evolve(LIMITS, max_stop_blocks=2, max_recoveries=3)).bounds

    assert bounds is not None
    times = dict(bounds.times)
    assert times["stop_hook_blocking"] == 2
    assert times["max_output_tokens_recovery"] == 3 * (1 + 2)
    assert times["max_output_tokens_escalate"] == 1 + 3 * (1 + 2)
    assert times["reactive_compact_retry"] == 1


# --- mutants -----------------------------------------------------------------------------------

Mutation = Callable[[tuple[Edge, ...]], list[Edge]]


@frozen
class Mutant:
    """A wrong table, and words that the check must find for it: at least the edge's source."""

    name: str
    mutation: Mutation
    expected: str


def without_row(source: State, *guards: str) -> Mutation:
    """The table less one row, in its plain and its `Raised` form."""

    def mutation(edges: tuple[Edge, ...]) -> list[Edge]:
        kept = [e for e in edges if not (e.source is source and e.guard_names == guards)]
        assert len(kept) < len(edges)
        return kept

    return mutation


def without_guard(source: State, guard: str, *, beside: str | None = None) -> Mutation:
    """The table less one guard of the rows of `source` (those with the guard `beside`)."""

    def changed(edge: Edge) -> Edge:
        mine = edge.source is source and guard in edge.guard_names
        if not mine or (beside is not None and beside not in edge.guard_names):
            return edge
        return evolve(edge, guards=tuple(g for g in edge.guards if name_of(g) != guard))

    def mutation(edges: tuple[Edge, ...]) -> list[Edge]:
        mutated = [changed(edge) for edge in edges]
        assert mutated != list(edges)
        return mutated

    return mutation


def with_effect(reducer: Callable[..., Loop], spoil: Callable[[Loop, Loop], Loop]) -> Mutation:
    """The table with `spoil(before, after)` done after one reducer."""

    def spoilt(loop: Loop, outcome: Outcome) -> Loop:
        return spoil(loop, reducer(loop, outcome))

    def mutation(edges: tuple[Edge, ...]) -> list[Edge]:
        mutated = [evolve(e, reducer=spoilt) if e.reducer is reducer else e for e in edges]
        assert mutated != list(edges)
        return mutated

    return mutation


def leading_to(source: State, guard: str, destination: State) -> Mutation:
    """The table with one row led elsewhere."""

    def mutation(edges: tuple[Edge, ...]) -> list[Edge]:
        return [
            evolve(e, destination=destination, reason=destination.value)
            if e.source is source and guard in e.guard_names
            else e
            for e in edges
        ]

    return mutation


def swapped(source: State, first: str, second: str) -> Mutation:
    """The table with two rows of a source in the other order."""

    def mutation(edges: tuple[Edge, ...]) -> list[Edge]:
        rows = list(edges)
        i, j = (
            next(n for n, e in enumerate(rows) if e.source is source and e.reason == reason)
            for reason in (first, second)
        )
        rows[i], rows[j] = rows[j], rows[i]
        return rows

    return mutation


def never_counted(field: str) -> Callable[[Loop, Loop], Loop]:
    def spoil(before: Loop, after: Loop) -> Loop:
        return evolve(after, spent=evolve(after.spent, **{field: getattr(before.spent, field)}))

    return spoil


def with_state(**fields: Any) -> Callable[[Loop, Loop], Loop]:
    return lambda before, after: evolve(after, state=evolve(after.state, **fields))


CLASSIFY, COMPACT = State.RECOVERY_CLASSIFY, State.RECOVERY_REACTIVE_COMPACT
HOOKS, API_CALL = State.RECOVERY_STOP_HOOKS, State.API_CALL

MUTANTS = (
    Mutant(
        "media errors have no ending",
        without_row(CLASSIFY, "media_error_withheld"),
        "recovery.classify",
    ),
    Mutant(
        "a full window has no ending",
        without_row(CLASSIFY, "window_exceeded"),
        "recovery.classify",
    ),
    Mutant(
        "half an answer meets the stop hooks",
        without_row(CLASSIFY, "answer_not_whole"),
        "recovery.classify",
    ),
    Mutant(
        "compaction without end",
        without_guard(CLASSIFY, "reactive_compact_left"),
        "reactive_compact",
    ),
    Mutant(
        "drains without end", without_guard(CLASSIFY, "last_reason_not_collapse_drain"), "drain"
    ),
    Mutant("escalation without end", without_guard(CLASSIFY, "can_escalate"), "escalate"),
    Mutant(
        "recoveries without end",
        without_guard(CLASSIFY, "recoveries_left"),
        "max_output_tokens_recovery",
    ),
    Mutant("pauses without end", without_guard(CLASSIFY, "pauses_left"), "pause_turn"),
    Mutant("attempts without end", without_guard(API_CALL, "attempts_left"), "backoff"),
    Mutant("mends without end", without_guard(API_CALL, "mends_left"), "request_mended"),
    Mutant(
        "a fallback that is not there",
        without_guard(API_CALL, "fallback_model_left"),
        "model_fallback",
    ),
    Mutant("blocks without end", without_guard(HOOKS, "blocks_left"), "stop_hook_blocking"),
    Mutant(
        "nudges without end",
        without_guard(State.RECOVERY_TOKEN_BUDGET, "nudges_left"),
        "token_budget_continuation",
    ),
    Mutant(
        "a hook's no is not heard", without_row(HOOKS, "hook_prevented"), "recovery.stop_hooks"
    ),
    Mutant("an interrupt in tools is lost", without_row(State.TOOLS, "aborted"), "tools"),
    Mutant(
        "an interrupt in a wait is lost", without_row(State.RECOVERY_BACKOFF, "aborted"), "backoff"
    ),
    Mutant(
        "turns without limit",
        without_row(State.CONTINUATION, "turn_limit_reached"),
        "continuation",
    ),
    Mutant(
        "money without limit",
        without_row(State.BLOCKING_CHECK, "cost_limit_reached"),
        "blocking_check",
    ),
    Mutant(
        "a view over the limit is sent",
        without_row(State.BLOCKING_CHECK, "over_hard_limit"),
        "blocking_check",
    ),
    Mutant(
        "tools run without a call",
        without_guard(State.ABORT_CHECK, "needs_follow_up"),
        "abort_check",
    ),
    Mutant(
        "a hook's stop counts as an answer",
        leading_to(State.TOOLS, "hook_says_stop", State.COMPLETED),
        "tools",
    ),
    Mutant(
        "pieces before the lifted cap",
        swapped(CLASSIFY, "max_output_tokens_escalate", "max_output_tokens_recovery"),
        "max_output_tokens_recovery",
    ),
    Mutant(
        "compaction forgets that it was tried",
        with_effect(reactive_compact_retry, with_state(has_attempted_reactive_compact=False)),
        "reactive_compact_retry",
    ),
    Mutant(
        "a blocked stop gives compaction back",
        with_effect(stop_hook_blocking, with_state(has_attempted_reactive_compact=False)),
        "stop_hook_blocking",
    ),
    Mutant(
        "next_turn keeps the count of recoveries",
        with_effect(
            next_turn,
            lambda before, after: evolve(
                after,
                state=evolve(
                    after.state,
                    max_output_tokens_recovery_count=before.state.max_output_tokens_recovery_count,
                ),
            ),
        ),
        "next_turn",
    ),
    Mutant(
        "a recovery is not counted",
        with_effect(max_output_tokens_recovery, with_state(max_output_tokens_recovery_count=0)),
        "max_output_tokens_recovery",
    ),
    Mutant("an attempt is not counted", with_effect(retry, never_counted("attempts")), "retry"),
    Mutant(
        "a fallback to the same model",
        with_effect(
            model_fallback,
            lambda before, after: evolve(after, state=before.state),
        ),
        "model_fallback",
    ),
    Mutant(
        "an edge between phases forgets the cost",
        with_effect(
            keep, lambda before, after: evolve(after, spent=evolve(after.spent, cost=0.0))
        ),
        "-->",
    ),
)


def test_in_a_part_of_its_places_the_shipped_table_shows_nothing_wrong() -> None:
    assert {finding.law for finding in verdict(FEW, places=A_PART).findings} == {"search"}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_wrong_table_is_found_and_the_edge_is_named(mutant: Mutant) -> None:
    wrong: Machine[Loop] = LOOP.with_edges(mutant.mutation(LOOP.edges))

    found = verdict(FEW, wrong, places=A_PART)

    assert not found.ok
    assert mutant.expected in "\n".join(str(finding.edge) for finding in found.findings)


def test_a_phase_whose_breaking_leads_nowhere_is_found() -> None:
    edges = [e for e in LOOP.edges if not (e.source is State.TOOLS and e.general)]

    found = verdict(LIMITS, LOOP.with_edges(edges))

    assert "tools does not know Raised" in render(found)
