"""Kills by chance: any script of the fault tests, at any event, often again as it resumes.

The same seed draws the same cases. A case that is red prints its script and points as the code
that makes them.
"""

from __future__ import annotations

from collections.abc import Sequence

from attrs import evolve
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from tests.crash.case import Case
from tests.crash.plays import Play
from tests.crash.seam import Moment, Point
from tests.faults.script import STOPPED, Script

ROW = "a random script at a random point"
_MOMENTS = st.sampled_from(tuple(Moment))
_POINTS = st.builds(Point, nth=st.integers(1, 120), moment=_MOMENTS)
_AGAIN = st.none() | st.builds(Point, nth=st.integers(1, 10), moment=_MOMENTS)


def drawn(count: int, number: int) -> Sequence[Case]:
    """So many cases, by this seed."""
    cases: list[Case] = []

    @seed(number)
    @settings(
        max_examples=max(count, 1),
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(script=STOPPED, point=_POINTS, then=_AGAIN, branches=st.booleans())
    def draw(script: Script, point: Point, then: Point | None, branches: bool) -> None:
        play = Play(name=repr(script), script=script)
        once = Case(row=ROW, column="once", play=play, point=point, branches=branches, must=False)
        cases.append(once if then is None else evolve(once, column="twice", then=then))

    draw()
    return cases[:count]
