"""The loop as a story: hooks and budgets decide whether an answer is the end."""

from __future__ import annotations

from interlock.testing import Hooks, Stage, call, play, says, tool
from phases.world.messages import Kind
from phases.world.ports import Spoken
from phases.world.states import State
from tests.interlock.scenes import TOO_LONG, limits


def test_a_stop_hook_sends_the_model_back_to_work() -> None:
    hooks = Hooks([Spoken(blocking_errors=("tests fail",))])

    run = play(says("done"), says("now it is"), stage=Stage(stop_hooks=hooks))

    assert run.reasons == ("stop_hook_blocking",)
    assert run.requests[1].messages[-1].text == "tests fail"
    assert hooks.seen_active == [False, True]
    assert run.error is None


def test_a_hook_that_always_blocks_is_bounded_over_the_whole_prompt() -> None:
    hooks = Hooks([Spoken(blocking_errors=("no",))] * 5)
    stage = Stage(stop_hooks=hooks, limits=limits(max_stop_blocks=2))

    run = play(says("1"), call(tool("Read")), says("2"), says("3"), stage=stage)

    assert run.reasons == ("stop_hook_blocking", "next_turn", "stop_hook_blocking")
    assert run.ending is State.STOP_HOOK_PREVENTED
    words = run.finished.terminal.text or ""
    assert words.startswith("Stop hooks sent the model back to work 2 times")
    assert words.endswith(": no")


def test_a_hook_can_forbid_going_on() -> None:
    stage = Stage(stop_hooks=Hooks([Spoken(prevented="enough")]))

    run = play(says("done"), stage=stage)

    assert run.ending is State.STOP_HOOK_PREVENTED
    assert run.finished.terminal.text == "A stop hook ended the run: enough"


def test_a_blocked_stop_gives_no_second_compaction() -> None:
    hooks = Hooks([Spoken(blocking_errors=("no",))])

    run = play(TOO_LONG, says("a summary"), says("done"), TOO_LONG, stage=Stage(stop_hooks=hooks))

    assert run.ending is State.PROMPT_TOO_LONG
    assert run.reasons == ("reactive_compact_retry", "stop_hook_blocking")


def test_a_hook_in_tool_work_ends_the_run_without_an_error() -> None:
    run = play(call(tool("Bash")), stage=Stage(hook_stopped="that is enough"))

    assert (run.ending, run.error) == (State.HOOK_STOPPED, None)


def test_a_token_budget_is_used_until_its_mark() -> None:
    run = play(says("some", tokens=600), says("more", tokens=600), stage=Stage(token_budget=1_000))

    assert run.reasons == ("token_budget_continuation",)
    assert run.requests[1].messages[-1].kind is Kind.NOTE
    assert (run.ending, run.error) == (State.COMPLETED, None)


def test_nudging_stops_when_it_brings_little() -> None:
    run = play(
        says("a", tokens=600),
        says("b", tokens=10),
        says("c", tokens=10),
        stage=Stage(token_budget=100_000),
    )

    assert run.reasons == ("token_budget_continuation",) * 2


def test_nudges_end() -> None:
    run = play(
        says("a", tokens=600),
        says("b", tokens=600),
        stage=Stage(token_budget=100_000, limits=limits(max_nudges=1)),
    )

    assert run.reasons == ("token_budget_continuation",)


def test_a_sub_agent_is_never_nudged() -> None:
    run = play(says("a"), stage=Stage(token_budget=100_000, agent_id="child"))

    assert run.reasons == ()
