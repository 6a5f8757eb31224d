"""A child agent's rights: its own and its parent's, asked anew for each call.

The parent's judge is asked, not copied: when its mode or its rules change, the child's change
with them, at every depth. A narrower list of tools is no right of this kind; which tools a child
is offered, its definition says.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from attrs import evolve, field, frozen

from interlock.options import PermissionMode
from interlock.permissions.decide import Judge, Judging, stricter
from interlock.permissions.decision import Decision, Question
from interlock.permissions.rules import Rules


@frozen
class Both:
    """Two that must agree: what either denies is denied, what either asks is asked."""

    own: Judging
    parent: Judging

    def decide(self, question: Question, said: Decision | None = None) -> Decision:
        above = self.parent.decide(question, said)
        return stricter(above, self.own.decide(question, said))

    def hides(self, path: Path) -> bool:
        return self.parent.hides(path) or self.own.hides(path)


@frozen(kw_only=True)
class Narrowed:
    """The judge it stands on, as it is now, with more rules and perhaps another mode."""

    base: Callable[[], Judge]
    rules: Rules = field(factory=Rules)
    mode: PermissionMode | None = None

    def decide(self, question: Question, said: Decision | None = None) -> Decision:
        return self.now().decide(question, said)

    def hides(self, path: Path) -> bool:
        return self.now().hides(path)

    def now(self) -> Judge:
        judge = self.base()
        rules = judge.rules.with_more(self.rules)
        return evolve(judge, rules=rules, mode=self.mode or judge.mode)
