"""The gate every tool call passes: the judge, then a person if the judge cannot say.

Keeps what must outlive one question: what the person allowed for the session, and what was
denied, for the result of the run.
"""

from __future__ import annotations

from pathlib import Path

import anyio
from attrs import define, field

from interlock.permissions.ask import Asker
from interlock.permissions.decide import Judge
from interlock.permissions.decision import Decision, Question, Verdict
from interlock.summary import Denial


@define
class Gate:
    """One per session; `begin_run` empties the list of denials."""

    judge: Judge
    asker: Asker
    denials: list[Denial] = field(factory=list)
    _always: set[tuple[str, str | None]] = field(factory=set)
    # Two questions at one terminal would take each other's answers.
    _one_at_a_time: anyio.Lock = field(factory=anyio.Lock)

    def begin_run(self) -> None:
        self.denials.clear()

    def decide(self, question: Question, said: Decision | None = None) -> Decision:
        """What is clear without asking anyone; `said` is what a hook decided before."""
        decision = self.judge.decide(question)
        if decision.verdict is Verdict.DENY:
            return decision
        if said is not None and (said.verdict is not Verdict.ALLOW or decision.rule is None):
            return said
        if decision.verdict is Verdict.ASK and _kind(question) in self._always:
            reason = "the user allowed it for this session"
            return Decision(verdict=Verdict.ALLOW, reason=reason, rule=decision.rule)
        return decision

    async def settle(self, question: Question, said: Decision | None = None) -> Decision:
        """Allow or deny; a person is asked if need be, and a denial is noted."""
        decision = self.decide(question, said)
        if decision.verdict is Verdict.ASK:
            async with self._one_at_a_time:
                # The answer to the question before may cover this one.
                decision = self.decide(question, said)
                if decision.verdict is Verdict.ASK:
                    return await self._asked(question, decision)
        if decision.verdict is Verdict.DENY:
            self._note(question)
        return decision

    def hides(self, path: Path) -> bool:
        """Whether a search must leave this file out."""
        return self.judge.hides(path)

    async def _asked(self, question: Question, decision: Decision) -> Decision:
        answer = await self.asker.ask(question, decision)
        if answer.allowed and answer.always:
            self._always.add(_kind(question))
        if not answer.allowed and not answer.interrupted:
            self._note(question)
        verdict = Verdict.ALLOW if answer.allowed else Verdict.DENY
        return Decision(verdict=verdict, reason=answer.reason, rule=decision.rule)

    def _note(self, question: Question) -> None:
        self.denials.append(
            Denial(
                tool_name=question.tool,
                tool_use_id=question.tool_use_id,
                tool_input=question.arguments,
            )
        )


def _kind(question: Question) -> tuple[str, str | None]:
    """What "always" is about: a command to the letter, or all calls of another tool."""
    return question.tool, question.command
