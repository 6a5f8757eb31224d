"""The gate every tool call passes: the judge, then hooks and a person if the judge cannot say.

Keeps what must outlive one question: the rules that the session has added, what a person allowed
for its rest, and what was denied, for the result of the run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Protocol

import anyio
from attrs import define, evolve, field, frozen

from interlock.options import PermissionMode
from interlock.permissions.ask import Answer, Asker
from interlock.permissions.child import Both, Narrowed, Place, placed
from interlock.permissions.decide import Judge, Judging
from interlock.permissions.decision import Decision, Question, Verdict
from interlock.permissions.rules import Rule, Rules
from interlock.permissions.suggest import suggested
from interlock.permissions.updates import Destination, Update, UpdateKind, updated
from interlock.summary import Denial


class RequestHooks(Protocol):
    """Who is told that a person is about to be asked, and may answer in their place."""

    async def requested(self, question: Question, decision: Decision) -> Answer | None:
        """None: nothing said, and the person is asked."""
        ...


@frozen
class NoRequestHooks:
    async def requested(self, question: Question, decision: Decision) -> Answer | None:
        return None


def _nothing(question: Question, decision: Decision) -> None:
    """A denial that nobody wants to hear of."""


@define
class Gate:
    """One per session; `begin_run` empties the list of denials.

    `denied` hears of each denial. Updates for settings files are kept for this session too;
    `keep` gets them, to write them down.
    """

    judge: Judge
    asker: Asker
    hooks: RequestHooks = field(factory=NoRequestHooks)
    denied: Callable[[Question, Decision], None] = _nothing
    keep: Callable[[Update], None] | None = None
    # Who has to agree to each call too, and asks the person: the parent of a child that runs here
    # for another process. What is denied here it is not asked.
    above: Callable[[Question, Decision], Awaitable[Decision]] | None = None
    denials: list[Denial] = field(factory=list)
    # What the session has been given, in order: a resume gives it again.
    changes: list[Update] = field(factory=list)
    grants: list[Update] = field(factory=list)
    _lent: tuple[Rule, ...] = ()  # until the run is over
    _granted: Judge | None = None  # what a person allowed, as rules that spare ask rules too
    # Two questions at one terminal would take each other's answers.
    _one_at_a_time: anyio.Lock = field(factory=anyio.Lock)

    def begin_run(self) -> None:
        self.denials.clear()
        self._take_back()

    @property
    def mode(self) -> PermissionMode:
        return self.judge.mode

    def apply(self, update: Update) -> None:
        """Change rules, mode or folders, from the next call on."""
        self.judge = updated(self.judge, update)
        if self.keep is not None and update.destination is not Destination.SESSION:
            self.keep(update)
        elif update.kind is not UpdateKind.SET_MODE:
            self.changes.append(update)

    def grant(self, given: Update) -> None:
        """Add rules that spare ask rules too: a person gave them, knowing those."""
        self.judge = updated(self.judge, given)
        none = evolve(self.judge, rules=Rules(), mode=PermissionMode.DEFAULT)
        self._granted = updated(self._granted or none, given)
        self.grants.append(given)

    def lend(self, allow: tuple[Rule, ...]) -> None:
        """Allow rules for this run only. Deny and ask rules, which go before them, stay."""
        self._set_allowed((*self.judge.rules.allow, *allow))
        self._lent += allow

    def _take_back(self) -> None:
        lent, self._lent = self._lent, ()
        kept = (rule for rule in self.judge.rules.allow if not any(rule is one for one in lent))
        self._set_allowed(tuple(kept))

    def _set_allowed(self, allow: tuple[Rule, ...]) -> None:
        self.judge = evolve(self.judge, rules=evolve(self.judge.rules, allow=allow))

    def decide(self, question: Question, said: Decision | None = None) -> Decision:
        """What is clear without asking anyone; `said` is what a hook decided before."""
        return self._after_answers(question, said, self.judge.decide(question, said))

    async def settle(self, question: Question, said: Decision | None = None) -> Decision:
        """Allow or deny; a person is asked if need be, and a denial is noted."""
        return await self._settle(question, lambda: self.decide(question, said), self.denials)

    def hides(self, path: Path) -> bool:
        """Whether a search must leave this file out."""
        return self.judge.hides(path)

    def withholds(self, path: Path) -> str | None:
        """Why the model must not be told this file unasked; None where it may be."""
        return self.judge.withholds(path)

    def child(
        self,
        rules: Rules | None = None,
        mode: PermissionMode | None = None,
        *,
        agent_id: str | None = None,
        agent_type: str | None = None,
    ) -> ChildGate:
        """The gate of a child agent: at most this one's rights, with `rules` and `mode` its own.

        Its questions go to the same person, one at a time with ours, and say who asks.
        """
        own = Narrowed(base=lambda: self.judge, rules=rules or Rules(), mode=mode)
        return ChildGate(self, Both(own, self), own, agent_id, agent_type)

    def moved(self, place: Place) -> Narrowed:
        """Its judge, about another folder than its own."""
        return Narrowed(base=lambda: self.judge, place=place)

    def elsewhere(self, place: Place) -> ChildGate:
        """The gate for one who works there with our rights."""
        own = self.moved(place)
        return ChildGate(self, own, own, place=place)

    # --- asking ------------------------------------------------------------------------------

    async def _settle(
        self, question: Question, decide: Callable[[], Decision], denials: list[Denial]
    ) -> Decision:
        decision = decide()
        if self.above is not None and decision.verdict is not Verdict.DENY:
            decision = await self.above(question, decision)
        if decision.verdict is Verdict.ASK:
            async with self._one_at_a_time:
                # The answer to the question before may cover this one.
                decision = decide()
                if decision.verdict is Verdict.ASK:
                    return await self._asked(question, decision, denials)
        if decision.verdict is Verdict.DENY:
            self._note(question, decision, denials)
        return decision

    async def _asked(
        self, question: Question, decision: Decision, denials: list[Denial]
    ) -> Decision:
        answer = await self.hooks.requested(question, decision)
        if answer is None:
            answer = await self.asker.ask(question, decision)
        for update in answer.updates:
            self.apply(update)
        if answer.allowed and answer.always:
            self._grant(question)
        verdict = Verdict.ALLOW if answer.allowed else Verdict.DENY
        settled = evolve(
            decision, verdict=verdict, reason=answer.reason, arguments=answer.arguments
        )
        if not answer.allowed and not answer.interrupted:
            self._note(question, settled, denials)
        return settled

    def _grant(self, question: Question) -> None:
        """Make "always" the rule that was shown."""
        self.grant(Update(kind=UpdateKind.ADD_RULES, rules=(suggested(question),)))

    def _after_answers(
        self,
        question: Question,
        said: Decision | None,
        decision: Decision,
        place: Place | None = None,
    ) -> Decision:
        """What a person allowed for the session, they allowed knowing the ask rules."""
        asked_by_hook = said is not None and said.verdict is Verdict.ASK
        if decision.verdict is not Verdict.ASK or self._granted is None or asked_by_hook:
            return decision
        judge = self._granted if place is None else placed(self._granted, place)
        granted = judge.decide(question)
        if granted.allowed and (granted.rule or granted.parts):
            return evolve(granted, reason="the user allowed it for this session")
        return decision

    def _note(self, question: Question, decision: Decision, denials: list[Denial]) -> None:
        denials.append(
            Denial(
                tool_name=question.tool,
                tool_use_id=question.tool_use_id,
                tool_input=question.arguments,
            )
        )
        self.denied(question, decision)


@define
class ChildGate:
    """A child agent's way through its parent's gate."""

    _root: Gate
    judge: Judging
    _own: Narrowed
    _agent_id: str | None = None
    _agent_type: str | None = None
    _place: Place | None = None  # where it works, if not where the session does
    denials: list[Denial] = field(factory=list)
    _lent: tuple[Rule, ...] = ()

    @property
    def mode(self) -> PermissionMode:
        """Its own, or its parent's as it is now; whatever it is, the parent's binds too."""
        return self._own.now().mode

    def begin_run(self) -> None:
        self.denials.clear()

    def lend(self, allow: tuple[Rule, ...]) -> None:
        """Allow rules for this child alone: they spare the questions that nobody's rule puts, at
        each depth above too, and lift no denial."""
        self._lent += allow

    def decide(self, question: Question, said: Decision | None = None) -> Decision:
        heard = self._lends(question) if said is None else said
        decision = self.judge.decide(question, heard)
        return self._root._after_answers(question, said, decision, self._place)

    def _lends(self, question: Question) -> Decision | None:
        """What the lent rules say; as with a hook's yes, rules and doubts go before it."""
        if not self._lent:
            return None
        rules = Rules(allow=self._lent)
        alone = evolve(self._own.now(), rules=rules, mode=PermissionMode.DEFAULT)
        lent = alone.decide(question)
        return lent if lent.allowed and (lent.rule or lent.parts) else None

    async def settle(self, question: Question, said: Decision | None = None) -> Decision:
        question = evolve(question, agent_id=self._agent_id, agent_type=self._agent_type)
        decide, noted = (lambda: self.decide(question, said)), list[Denial]()
        settled = await self._root._settle(question, decide, noted)
        # In the result of the run all denials stand, whoever asked.
        self.denials += noted
        self._root.denials += noted
        return settled

    def hides(self, path: Path) -> bool:
        return self.judge.hides(path)

    def withholds(self, path: Path) -> str | None:
        return self.judge.withholds(path)

    def child(
        self,
        rules: Rules | None = None,
        mode: PermissionMode | None = None,
        *,
        agent_id: str | None = None,
        agent_type: str | None = None,
    ) -> ChildGate:
        """A grandchild: at most this child's rights, and so at most its parent's."""
        own = Narrowed(base=self._own.now, rules=rules or Rules(), mode=mode, place=self._place)
        both = Both(own, self.judge)
        return ChildGate(self._root, both, own, agent_id, agent_type, self._place)

    def elsewhere(self, place: Place) -> ChildGate:
        """The gate for one who works there with our rights."""
        judge, own = self.judge.moved(place), self._own.moved(place)
        return evolve(self, judge=judge, own=own, place=place, denials=[])
