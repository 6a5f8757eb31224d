"""What a run amounts to, made from what the session counted."""

from __future__ import annotations

from collections.abc import Mapping

from attrs import evolve, frozen

from interlock.admission import Refused
from interlock.closing import NOT_RECORDED
from interlock.drive import Finished
from interlock.ledger import Account, Ledger
from interlock.model.prices import facts
from interlock.permissions import ChildGate, Gate
from interlock.summary import ModelUse, RunSummary
from interlock.tally import Tally
from phases.world.limits import Limits
from recovery.guards import answer_not_whole


@frozen(kw_only=True)
class Summing:
    """The books of one session."""

    session_id: str
    ledger: Ledger
    gate: Gate | ChildGate
    limits: Limits

    def spent(self) -> Mapping[str, ModelUse]:
        """What the session has used of each model."""
        return {name: self._use(name, one) for name, one in self.ledger.accounts.items()}

    def of(self, run_id: str, finished: Finished, counted: Tally, seconds: float) -> RunSummary:
        """The summary of a run that is over; `seconds` is how long it took."""
        terminal, loop, reply = finished.terminal, finished.loop, finished.loop.now.reply
        if terminal.error == NOT_RECORDED and reply is not None:
            counted.unrecorded(reply.message)
        answer = counted.answer(None if reply is None else reply.message)
        failure = self.ledger.last_failure
        return RunSummary(
            session_id=self.session_id,
            run_id=run_id,
            reason=terminal.reason.value,
            error=terminal.error,
            error_text=terminal.text,
            text=answer if answer.strip() else "",
            stop_reason=reply.stop_reason if reply else counted.stop_reason,
            turns=loop.state.turn_count,
            messages=counted.user_messages,
            usage=self.ledger.usage,
            models=self.spent(),
            cost=self.ledger.cost,
            answered=reply is not None and not reply.calls and not answer_not_whole(loop, None),
            duration_s=seconds,
            api_duration_s=self.ledger.api_seconds,
            denials=tuple(self.gate.denials),
            api_error_status=failure.status if failure and terminal.error else None,
            api_error_type=failure.kind.value if failure and terminal.error else None,
        )

    def again(self, summary: RunSummary) -> RunSummary:
        """The same run, with what was paid since."""
        ledger = self.ledger
        return evolve(summary, usage=ledger.usage, models=self.spent(), cost=ledger.cost)

    def not_run(self, run_id: str, refused: Refused, seconds: float) -> RunSummary:
        """The summary of a prompt that never became part of the history."""
        return RunSummary(
            session_id=self.session_id,
            run_id=run_id,
            reason=refused.reason,
            error=refused.error,
            error_text=None if refused.error is None else refused.words,
            text=refused.words,
            stop_reason=None,
            turns=0,
            messages=0,
            usage=self.ledger.usage,
            models={},
            cost=self.ledger.cost,
            duration_s=seconds,
            api_duration_s=0.0,
        )

    def _use(self, model: str, account: Account) -> ModelUse:
        known, limits = facts(model), self.limits
        return ModelUse(
            usage=account.usage,
            cost=account.cost,
            context_window=known.window if known else limits.context_window,
            max_output_tokens=known.most_output if known else limits.escalated_output_cap,
        )
