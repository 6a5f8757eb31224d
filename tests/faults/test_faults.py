"""Arbitrary faults, over hundreds of runs of the whole agent: the laws hold in every one.

Real requests against the strict scripted server, real tools, a clock that does not wait. A
script that fails is printed as the code that makes it: paste it into an `@example`.
`INTERLOCK_FAULT_EXAMPLES=5000 pytest tests/faults -n 0` looks longer.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from time import monotonic

from attrs import define, field
from hypothesis import HealthCheck, event, given, settings

from phases.world.ports import Caption
from tests.faults.laws import check
from tests.faults.play import play
from tests.faults.script import (
    ANY,
    IN_A_SMALL_WINDOW,
    STOPPED,
    Prompt,
    Say,
    Scene,
    Script,
)
from tests.inbox.test_captions import SmallModel, after_tools, desk, settled

_ASKED_FOR = os.environ.get("INTERLOCK_FAULT_EXAMPLES")


def profile(examples: int) -> settings:
    """So many scripts, the same on each run; by hand as many as asked for, and other ones."""
    return settings(
        max_examples=int(_ASKED_FOR) if _ASKED_FOR else examples,
        derandomize=_ASKED_FOR is None,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )


@define
class Shrinking:
    """Of one test: a failing script shrinks for a while; hypothesis alone takes five minutes."""

    most_s: float = 40.0
    _failed: dict[str, float] = field(factory=dict)  # scripts, and when they failed

    def holds(self, script: Script) -> None:
        """As `holds`; once the time is up, only what has failed before is played again."""
        name = repr(script)
        first = min(self._failed.values(), default=monotonic())
        if monotonic() - first > self.most_s and name not in self._failed:
            return
        try:
            holds(script)
        except BaseException:
            self._failed.setdefault(name, monotonic())
            raise


def holds(script: Script) -> None:
    """Play it, and check every law."""
    with tempfile.TemporaryDirectory() as folder:
        session = play(script, Path(folder))
        for run in session.runs:
            event(f"{run.ended.reason} {run.ended.error or ''}".strip())
            if run.asked_before_stop is not None:
                event("stopped")
        check(session)


_in_a_large_window, _in_a_small_one, _stopped = Shrinking(), Shrinking(), Shrinking()


# --- any script ------------------------------------------------------------------------------


@profile(20)
@given(script=ANY)
def test_whatever_breaks_every_law_holds(script: Script) -> None:
    _in_a_large_window.holds(script)


@profile(20)
@given(script=IN_A_SMALL_WINDOW)
def test_whatever_breaks_in_a_small_window_every_law_holds(script: Script) -> None:
    _in_a_small_one.holds(script)


@profile(60)
@given(script=STOPPED)
def test_whenever_it_is_stopped_every_law_holds(script: Script) -> None:
    _stopped.holds(script)


# --- what such scripts have found ------------------------------------------------------------


async def test_a_caption_that_comes_in_the_very_moment_of_the_end_is_not_shown_after_it() -> None:
    async with desk(SmallModel()) as at:
        job = at.captions.start(*after_tools())
        await settled()
        assert await at.captions.collect(job) == Caption()

        at.small.go.set()
        at.captions.tasks.cancel_scope.cancel()

    assert at.shown == []


async def test_a_stop_before_the_caption_is_asked_for_comes_in_time() -> None:
    async with desk(SmallModel()) as at:
        job = at.captions.start(*after_tools())
        at.interrupt.request()
        await settled()

        assert at.small.asked == []
        assert await at.captions.collect(job) == Caption()


def test_a_prompt_that_was_too_large_does_not_take_the_next_one_down() -> None:
    giant = Prompt(says=(Say(calls=("bash giant",)),))
    script = Script(
        prompts=(giant, Prompt(words=8_000), Prompt(words=3)), scene=Scene(window=9_000)
    )

    with tempfile.TemporaryDirectory() as folder:
        check(play(script, Path(folder)))
