"""How a prompt ended: the last message of every run, and what `run` returns."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Self

from attrs import frozen

from interlock.api.answering import AnswerForm
from interlock.errors import RunFailed
from interlock.summary import UNGIVEN, Denial, ModelUse, RunSummary
from phases.world.states import State
from phases.world.usage import Usage


@frozen(kw_only=True)
class Result:
    """A run that is over. A failed one is a value too: `raise_for_error` makes it an error."""

    text: str  # of the last reply
    answer: Any = None  # where a form was asked for: the answer in it
    reason: str  # the ending of the table: "completed", "max_turns", … (interlock/table.py)
    ending: str  # the name of an ending rule of yours that held, else `reason`
    error: str | None  # one line that says why there is no whole answer; None: there is one
    error_kind: str | None  # "api_error", "refusal", …, or the ending's own name
    stop_reason: str | None  # of the last reply, as the Messages API has it
    session_id: str
    run_id: str
    turns: int  # model turns
    usage: Usage  # tokens of this prompt, over all models
    models: Mapping[str, ModelUse]  # of the session so far, by model
    cost: float | None  # USD of this prompt; None: a price is not known
    session_cost: float | None  # USD of the session so far
    duration_s: float
    api_duration_s: float
    denials: tuple[Denial, ...]  # calls that were not permitted
    transcript: Path
    trace: Path  # one record for each edge that was taken: `interlock explain` reads it

    @property
    def ok(self) -> bool:
        """Whether there is a whole answer, or an end that somebody asked for."""
        return self.error is None

    def raise_for_error(self) -> Self:
        """This result. Raises RunFailed if it is not `ok`."""
        if self.error is not None:
            raise RunFailed(self)
        return self


def cost_of(models: Mapping[str, ModelUse]) -> float | None:
    """USD of all of these; None where a price is not known."""
    costs = [use.cost for use in models.values()]
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


def result_of(
    summary: RunSummary,
    *,
    paid_before: float | None,
    transcript: Path,
    trace: Path,
    endings: Collection[str],
    form: AnswerForm | None = None,
) -> Result:
    """The result that a summary is: of a prompt before which the session had cost `paid_before`;
    `endings` are the names of the caller's own rules."""
    cost = None
    if summary.cost is not None and paid_before is not None:
        cost = max(0.0, summary.cost - paid_before)
    stopped = summary.reason == State.HOOK_STOPPED and summary.error is None
    own = summary.error_text if stopped and summary.error_text in endings else None
    line = " ".join((summary.error_text or summary.error or summary.reason).split())
    return Result(
        text=summary.text,
        answer=_answer(summary, form),
        reason=summary.reason,
        ending=own or summary.reason,
        error=None if summary.ok else line,
        error_kind=summary.error,
        stop_reason=summary.stop_reason,
        session_id=summary.session_id,
        run_id=summary.run_id,
        turns=summary.turns,
        usage=summary.usage,
        models=summary.models,
        cost=cost,
        session_cost=summary.cost,
        duration_s=summary.duration_s,
        api_duration_s=summary.api_duration_s,
        denials=summary.denials,
        transcript=transcript,
        trace=trace,
    )


def _answer(summary: RunSummary, form: AnswerForm | None) -> Any:
    given = summary.structured_output
    return None if form is None or given is UNGIVEN else form.read(given)
