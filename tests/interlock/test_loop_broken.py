"""The loop as a story: a phase that breaks ends the run, with every call answered."""

from __future__ import annotations

import pytest

from interlock.testing import CollapseStore, Stage, call, fails, play, says, tool
from phases.world.failures import FailureKind
from phases.world.outcomes import Raised
from phases.world.states import State
from tests.interlock.scenes import TOO_LARGE, TOO_LONG, results_of


class Broken(Exception):
    pass


def break_in(state: State, monkeypatch: pytest.MonkeyPatch, stage: Stage | None = None) -> None:
    """Let the phase of `state` raise; with a `stage`, an interrupt comes in the same moment."""
    from interlock import drive

    async def broken(loop: object, ports: object) -> object:
        if stage is not None:
            stage.interrupt.request()
        raise Broken("what no one foresaw")

    monkeypatch.setattr(drive, "ACTS", {**drive.ACTS, state: broken})


WAY_TO = {
    State.PREPROCESS: (),
    State.BLOCKING_CHECK: (),
    State.API_CALL: (),
    State.ABORT_CHECK: (says("hi"),),
    State.RECOVERY_BACKOFF: (fails(FailureKind.SERVER),),
    State.RECOVERY_CLASSIFY: (says("hi"),),
    State.RECOVERY_COLLAPSE_DRAIN: (TOO_LONG,),
    State.RECOVERY_REACTIVE_COMPACT: (TOO_LARGE,),
    State.RECOVERY_STOP_HOOKS: (says("hi"),),
    State.RECOVERY_TOKEN_BUDGET: (says("hi"),),
    State.TOOLS: (call(tool("Bash")),),
    State.ATTACHMENTS: (call(tool("Bash")),),
    State.CONTINUATION: (call(tool("Bash")),),
}


@pytest.mark.parametrize("state", WAY_TO, ids=str)
def test_a_phase_that_breaks_ends_in_model_error_with_every_call_answered(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_in(state, monkeypatch)

    run = play(*WAY_TO[state], stage=Stage(collapse=CollapseStore([1])))

    assert run.visited[-2:] == (state.value, "model_error")
    assert "what no one foresaw" in (run.finished.terminal.text or "")
    calls = {call.id for message in run.finished.messages for call in message.calls}
    assert calls == results_of(run.finished.messages)


@pytest.mark.parametrize("state", WAY_TO, ids=str)
def test_a_phase_that_breaks_on_an_interrupt_ends_as_an_interrupt_where_it_can(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = Stage(collapse=CollapseStore([1]))
    break_in(state, monkeypatch, stage)

    run = play(*WAY_TO[state], stage=stage)

    assert isinstance(run.steps[-1].outcome, Raised) or state is State.API_CALL
    assert run.ending in (State.MODEL_ERROR, State.ABORTED_STREAMING, State.ABORTED_TOOLS)
    if state in (State.TOOLS, State.ATTACHMENTS):
        assert run.ending is State.ABORTED_TOOLS
