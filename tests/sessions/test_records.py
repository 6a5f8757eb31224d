"""Outcomes and loops in the trace: decisions survive the way there and back, words do not."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from fsm import Step, Trace, decide, header_of, record_of
from fsm.replay import replay
from interlock import records
from interlock.table import LOOP
from phases.world.limits import Limits
from phases.world.loop import Features, Loop, LoopState, Reply, Run, ToolUseContext
from phases.world.messages import Message, Text, Thinking
from phases.world.outcomes import Outcome, Prepared, Streamed, ToolsRan
from phases.world.states import ENDINGS, State
from tests.sessions.conversations import call, prompt, reply, result, summary


def fresh(messages: tuple[Message, ...] = (prompt(1),)) -> Loop:
    context = ToolUseContext(
        model="a",
        permission_mode="default",
        cwd="/",
        tools=("Bash",),
        chain_id="c",
        depth=0,
        agent_id=None,
    )
    run = Run(
        chain_id="c",
        depth=0,
        models=("a", "b"),
        max_turns=5,
        budget_usd=10.0,
        token_budget=1000,
        output_cap=None,
        fixed_tokens=0,
        features=Features(),
        limits=Limits(max_retries=2),
    )
    return Loop(run=run, state=LoopState.first(messages, context))


def through_json(value: Any) -> Any:
    return json.loads(json.dumps(value))


@given(st.data())
def test_decisions_are_the_same_over_what_was_written_down(data: st.DataObject) -> None:
    state: StrEnum = LOOP.initial
    loop = fresh()
    copy = records.loop_from(through_json(records.start(loop)))
    for _ in range(20):
        kind = data.draw(st.sampled_from(LOOP.outcomes_of(state)))
        outcome: Outcome = data.draw(st.sampled_from(kind.specimens()))
        said = through_json(records.payload(outcome, loop))
        step = decide(LOOP, state, loop, outcome)
        again = decide(LOOP, state, copy, records.outcome(kind.__name__, said, copy))

        assert (again.edge, again.tried) == (step.edge, step.tried)
        assert records.changes(copy, again.after) == records.changes(loop, step.after)
        if step.edge.destination in ENDINGS:
            return
        state, loop, copy = step.edge.destination, step.after, again.after


KINDS = list(dict.fromkeys(edge.outcome for edge in LOOP.edges))


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_outcome_is_itself_again(kind: type[Outcome]) -> None:
    for specimen in kind.specimens():
        said = through_json(records.payload(specimen))

        assert through_json(records.payload(records.outcome(kind.__name__, said))) == said


def test_a_trace_holds_nothing_that_was_said() -> None:
    secret = Thinking("the secret", "signed"), Text("the secret"), call("a")
    answer = reply(2, *secret, stop_reason="tool_use")
    told = Streamed(
        reply=Reply(message=answer, stop_reason="tool_use", calls=("a",), cut_calls=())
    )

    said = records.payload(told)

    assert "secret" not in json.dumps(said)
    assert said["reply"]["message"] == {
        "id": answer.id,
        "role": "assistant",
        "kind": "reply",
        "blocks": 3,
        "shape": "hxu",
    }
    assert said["reply"]["usage"] == {"in": 1027, "out": 47}


def test_a_view_is_written_as_what_it_takes_over_from_the_loop() -> None:
    history = tuple(prompt(number) for number in range(1, 101))
    loop = fresh(history)
    view = (summary(500), *history[40:90], *history[95:])
    tracking = loop.now.tracking

    said = records.payload(Prepared(view=view, size=1, tracking=tracking), loop)

    assert said["view"]["is"][1:] == [[40, 50], [95, 5]]
    decoded = records.outcome("Prepared", through_json(said), loop)
    assert isinstance(decoded, Prepared)
    assert [message.id for message in decoded.view] == [message.id for message in view]


def test_a_view_that_rests_on_another_loop_is_refused() -> None:
    said = records.payload(
        Prepared(view=(prompt(1),), size=1, tracking=fresh().now.tracking), fresh()
    )

    with pytest.raises(ValueError, match="the view of this Prepared rests on another loop"):
        records.outcome("Prepared", said, fresh((prompt(1), prompt(2))))


@pytest.mark.parametrize("said", [None, 3, "view", [], ["view"]])
@pytest.mark.parametrize("name", ["Prepared", "Streamed", "Checked"])
def test_a_payload_that_is_no_object_is_one_clear_error(name: str, said: Any) -> None:
    with pytest.raises(ValueError, match=f"no {name} of this version: it is no JSON object"):
        records.outcome(name, said, fresh())


@pytest.mark.parametrize(
    "view", [{}, {"of": 1}, {"of": 1, "is": None}, {"of": 1, "is": [None]}, {"of": 1, "is": [[0]]}]
)
def test_a_view_that_is_no_list_of_messages_is_one_clear_error(view: Any) -> None:
    loop = fresh()
    first = Prepared(view=loop.state.messages, size=1, tracking=loop.now.tracking)
    said = through_json(records.payload(first, loop))

    with pytest.raises(ValueError, match=r"view of this Prepared|no Message|not enough values"):
        records.outcome("Prepared", said | {"view": view}, loop)


def test_old_traces_replay_under_the_limits_of_their_day() -> None:
    assert records.start(fresh())["run"]["limits"]["max_nudges"] == Limits().max_nudges


@pytest.mark.parametrize(
    ("name", "said"), [("Gone", {}), ("Waited", {}), ("Waited", {"seconds": "x"})]
)
def test_a_payload_of_another_version_is_one_clear_error(name: str, said: Any) -> None:
    with pytest.raises(ValueError, match=name):
        records.outcome(name, said)


# --- what changed ----------------------------------------------------------------------------


def turn(loop: Loop) -> list[Step[Loop]]:
    """One turn with a call: the steps from preprocess back to it."""
    answer = reply(2, Text("look"), call("a"), stop_reason="tool_use")
    told: list[Outcome] = [
        Prepared(view=loop.state.messages, size=7, tracking=loop.state.auto_compact_tracking),
        *LOOP.phase_outcome(LOOP.states[1]).specimens(),
        Streamed(
            reply=Reply(message=answer, stop_reason="tool_use", calls=("a",), cut_calls=()),
            tokens=47,
            cost=0.5,
        ),
    ]
    told.append(next(o for o in LOOP.phase_outcome(LOOP.states[4]).specimens()))
    told.append(ToolsRan(results=(result(3, answer, "a"),)))
    told += [LOOP.phase_outcome(LOOP.states[index]).specimens()[0] for index in (11, 12)]
    steps: list[Step[Loop]] = []
    state: StrEnum = LOOP.initial
    for outcome in told:
        steps.append(decide(LOOP, state, loop, outcome))
        state, loop = steps[-1].edge.destination, steps[-1].after
    return steps


def test_changes_are_named_field_by_field_and_messages_by_id() -> None:
    steps = turn(fresh())

    assert records.changes(steps[0].before, steps[0].after) == {
        "now.view": {"added": [], "removed": 0, "count": 1},
        "now.size": [0, 7],
    }
    assert records.changes(steps[2].before, steps[2].after) == {
        "spent.cost": [0.0, 0.5],
        "spent.tokens": [0, 47],
        "now.reply": [None, reply(2).id],
    }
    last = records.changes(steps[-1].before, steps[-1].after)
    assert last["state.turn_count"] == [1, 2]
    assert last["state.messages"] == {
        "added": [reply(2).id, prompt(3).id],
        "removed": 0,
        "count": 3,
    }
    assert last["now.view"] == {"added": [], "removed": 1, "count": 0}


def test_nothing_changed_is_an_empty_answer() -> None:
    loop = fresh()

    assert records.changes(loop, loop) == {}
    assert records.changes(loop, evolve(loop, spent=evolve(loop.spent))) == {}


def test_a_compaction_names_what_is_new_and_counts_what_is_gone() -> None:
    before = fresh(tuple(prompt(number) for number in range(1, 11)))
    view = (summary(500), *before.state.messages[8:])
    after = evolve(before, state=evolve(before.state, messages=view))

    assert records.changes(before, after) == {
        "state.messages": {"added": [summary(500).id], "removed": 8, "count": 3}
    }


# --- a whole trace ---------------------------------------------------------------------------


def recorded(steps: list[Step[Loop]]) -> Trace:
    header = header_of(
        LOOP, chain_id="c", depth=0, start=through_json(records.start(steps[0].before))
    )
    return Trace(
        header,
        tuple(
            record_of(
                step,
                sequence=number,
                time=0.0,
                payload=through_json(records.payload(step.outcome, step.before)),
                changed=records.changes(step.before, step.after),
                chain_id="c",
                depth=0,
            )
            for number, step in enumerate(steps)
        ),
    )


def test_a_recorded_run_replays() -> None:
    trace = recorded(turn(fresh()))

    replayed = replay(
        LOOP,
        records.loop_from(trace.header.start),
        records.steps_of(trace),
        changes=records.changes,
    )

    assert (replayed.divergence, replayed.steps) == (None, len(trace))


def test_a_trace_gives_back_the_loops_it_went_through() -> None:
    steps = turn(fresh())

    walked = list(records.loops_of(recorded(steps)))

    def seen(loop: Loop) -> object:
        views = (loop.state.messages, loop.now.view, loop.now.results)
        return (
            [[message.id for message in view] for view in views],
            loop.spent,
            loop.state.transition,
        )

    assert [(seen(before), seen(after)) for _, before, after in walked] == [
        (seen(step.before), seen(step.after)) for step in steps
    ]


def test_a_trace_that_was_decided_otherwise_gives_no_loops() -> None:
    trace = recorded(turn(fresh()))
    bent = evolve(trace.records[3], destination=State.COMPLETED.value)

    with pytest.raises(ValueError, match="step 3 would not lead to completed"):
        list(records.loops_of(evolve(trace, records=(*trace.records[:3], bent))))


def test_a_trace_grows_with_the_run_and_not_with_its_square() -> None:
    def size(history: int) -> int:
        steps = turn(fresh(tuple(prompt(number) for number in range(10, 10 + history))))
        return len(json.dumps([[r.payload, r.changed] for r in recorded(steps)]))

    assert size(2000) < size(20) + 100
