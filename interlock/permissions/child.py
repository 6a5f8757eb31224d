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
from interlock.permissions.decision import Decision, Question, Verdict
from interlock.permissions.paths import inside, real_or_written
from interlock.permissions.rules import Rules


@frozen(kw_only=True)
class Place:
    """Another folder that an agent works in, as its parent works in its own.

    The parent's rights hold there: its rules count from `root` as they do from the folder that
    this one stands for. What would write to a `spared` folder is denied.
    """

    root: Path
    spared: tuple[Path, ...] = ()


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

    def withholds(self, path: Path) -> str | None:
        return self.parent.withholds(path) or self.own.withholds(path)

    def moved(self, place: Place) -> Both:
        return Both(self.own.moved(place), self.parent.moved(place))


@frozen(kw_only=True)
class Narrowed:
    """The judge it stands on, as it is now, with more rules and perhaps another mode."""

    base: Callable[[], Judge]
    rules: Rules = field(factory=Rules)
    mode: PermissionMode | None = None
    place: Place | None = None

    def decide(self, question: Question, said: Decision | None = None) -> Decision:
        return self._spared(question) or self.now().decide(question, said)

    def hides(self, path: Path) -> bool:
        return self.now().hides(path)

    def withholds(self, path: Path) -> str | None:
        return self.now().withholds(path)

    @property
    def judge(self) -> Judge:
        return self.now()

    def now(self) -> Judge:
        judge = self.base()
        rules = judge.rules.with_more(self.rules)
        narrowed = evolve(judge, rules=rules, mode=self.mode or judge.mode)
        return narrowed if self.place is None else placed(narrowed, self.place)

    def moved(self, place: Place) -> Narrowed:
        return evolve(self, place=place)

    def _spared(self, question: Question) -> Decision | None:
        place = self.place
        if place is None:
            return None
        for path in question.writes:
            if inside(path, place.spared) and not inside(path, (place.root,)):
                reason = (
                    f"{path} is the user's own tree, and you work in another: change the file of"
                    f" that name under {place.root}"
                )
                return Decision(verdict=Verdict.DENY, reason=reason)
        return None


def placed(judge: Judge, place: Place) -> Judge:
    """The judge with another working folder; further ones stay."""
    return evolve(judge, folders=(real_or_written(place.root), *judge.folders[1:]))
