"""What a finished run amounts to; the result message of every output format is made from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from phases.world.states import State
from phases.world.usage import Usage

UNGIVEN = object()  # no structured answer; None is one
NO_ANSWER_FITS = "structured_output"  # the error where none came that fits its schema


@frozen(kw_only=True)
class ModelUse:
    """What one model was used for, and its price; `cost` is None where no price is known."""

    usage: Usage
    cost: float | None
    context_window: int
    max_output_tokens: int


@frozen(kw_only=True)
class Denial:
    """A call that was not permitted."""

    tool_name: str
    tool_use_id: str
    tool_input: Mapping[str, Any]


@frozen(kw_only=True)
class RunSummary:
    """How a run ended. `error` is None for a whole answer, or an end that a hook asked for."""

    session_id: str
    run_id: str
    reason: str  # the Terminal reason: the name of the ending
    error: str | None  # one of Terminal's errors, or the ending's own name
    error_text: str | None  # one line for a person
    text: str  # of the last reply
    stop_reason: str | None
    turns: int  # model turns
    messages: int  # user messages of this prompt: the prompt, results, notes
    usage: Usage
    models: Mapping[str, ModelUse]
    cost: float | None  # USD
    duration_s: float
    api_duration_s: float
    answered: bool = False  # `text` is a whole answer, whatever became of the run then
    structured_output: Any = UNGIVEN  # the answer that fits `Options.json_schema`
    denials: tuple[Denial, ...] = ()
    api_error_status: int | None = None
    api_error_type: str | None = None  # the FailureKind

    @property
    def ok(self) -> bool:
        return self.error is None


def broken(session_id: str, line: str) -> RunSummary:
    """The summary of a run that broke outside the loop: every prompt has its one result."""
    return RunSummary(
        session_id=session_id,
        run_id="",
        reason=State.MODEL_ERROR.value,
        error=State.MODEL_ERROR.value,
        error_text=line,
        text="",
        stop_reason=None,
        turns=0,
        messages=0,
        usage=Usage(),
        models={},
        cost=0.0,
        duration_s=0.0,
        api_duration_s=0.0,
    )
