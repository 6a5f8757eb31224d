"""The order of calls, for any mix of safe and unsafe ones, offered and not."""

from __future__ import annotations

import tempfile
from pathlib import Path

import anyio
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st

from phases.world.limits import Limits
from tests.tools.places import real
from tests.tools.running import bench, step


@frozen
class Planned:
    safe: bool
    effects: bool


PLANS = st.lists(st.builds(Planned, st.booleans(), st.booleans()), min_size=1, max_size=8)


@given(PLANS, st.integers(0, 8), st.randoms(use_true_random=False), st.integers(1, 4))
def test_any_mix_of_calls(plan: list[Planned], offered: int, random: object, width: int) -> None:
    anyio.run(_play, plan, offered, width)


async def _play(plan: list[Planned], offered: int, width: int) -> None:
    calls = [step(f"{at}", safe=one.safe, effects=one.effects) for at, one in enumerate(plan)]
    with tempfile.TemporaryDirectory() as name:
        async with bench(real(Path(name)), limits=Limits(max_concurrent_tools=width)) as at:
            for call in calls[:offered]:
                at.executor.offer(call)
            await anyio.wait_all_tasks_blocked()
            early = {entry[1:] for entry in at.step.log}

            results = await at.run(*calls)

            assert [result.tool_use_id for result in results] == [call.id for call in calls]
            assert not any(result.is_error for result in results)
            assert at.step.most_at_once <= width
            _check_early(plan, offered, early)
            _check_order(plan, at.step.log)


def _check_early(plan: list[Planned], offered: int, early: set[str]) -> None:
    """Exactly the safe ones without effects that no unsafe one precedes."""
    expected = set()
    for at, one in enumerate(plan[:offered]):
        if not one.safe:
            break
        if not one.effects:
            expected.add(str(at))
    assert early == expected


def _check_order(plan: list[Planned], log: list[str]) -> None:
    """Each ran once; an unsafe one is after all before it and before all after it."""
    begun = {entry[1:]: place for place, entry in enumerate(log) if entry[0] == "+"}
    ended = {entry[1:]: place for place, entry in enumerate(log) if entry[0] == "-"}
    assert len(log) == 2 * len(plan)
    for first in range(len(plan)):
        for second in range(first + 1, len(plan)):
            if not (plan[first].safe and plan[second].safe):
                assert ended[str(first)] < begun[str(second)]
