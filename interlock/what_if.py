"""Old runs under another table or another setting: which take another path, where, and why.

Decisions are taken again, and a run that was recorded is run again with its context pipeline.
Each is followed to the first step that would have gone elsewhere, or asked something that was
never answered; what would have come of that nobody knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
from attrs import evolve, frozen

from fsm import Machine, Trace
from fsm.replay import Divergence, replay
from interlock import records
from interlock.counted import counted
from interlock.errors import SettingsError, UsageError
from interlock.out_of_sight import why_not_judged
from interlock.recording.form import Recording
from interlock.recording.otherwise import Otherwise, otherwise
from interlock.settings import features_of, limits_of
from interlock.table import LOOP
from phases.world.limits import Limits
from phases.world.loop import Features, Loop, Run

_RUN = ("max_turns", "budget_usd", "token_budget", "output_cap")
_LIMITS = tuple(each.name for each in attrs.fields(Limits))
_FEATURES = tuple(each.name for each in attrs.fields(Features))
# Read by the context pipeline, not by guards: only a run that was recorded can be asked.
_BEHIND_PORTS = frozenset(
    name
    for name in (*_LIMITS, *_FEATURES)
    if name.startswith(("microcompact", "collapse", "compact_t", "summary", "keepsake", "snip"))
) | {
    "autocompact",
    "cache_lifetime_s",
    "context_editing",
    "context_window",
    "result_budget",
    "tool_output_cap",
    "turn_output_cap",
    "window_reserve",
}


@frozen(kw_only=True)
class Change:
    """One setting, as it would have been. `part` is run, limits or features."""

    part: str
    name: str
    value: Any

    def of(self, run: Run) -> Any:
        """What it was in this run."""
        return getattr(run if self.part == "run" else getattr(run, self.part), self.name)

    def made(self, run: Run) -> Run:
        """This run's settings with it."""
        if self.part == "run":
            return evolve(run, **{self.name: self.value})
        part = evolve(getattr(run, self.part), **{self.name: self.value})
        return evolve(run, **{self.part: part})


@frozen(kw_only=True)
class Verdict:
    """What would have become of one run."""

    steps: int  # that stay as they were
    of: int
    divergence: Divergence | None
    before: bool = False  # it parts as it is: by the table of today, without any change
    was: tuple[Any, ...] = ()  # of each change, what it was
    elsewhere: Otherwise | None = None  # where it would have asked the world something else
    decided_only: bool = False  # it was not recorded: what else would be otherwise is not known
    undecided: bool = False  # a line of it is damaged: from there on nothing is known

    @property
    def differs(self) -> bool:
        return self.elsewhere is not None or (self.divergence is not None and not self.before)


def change_of(text: str) -> Change:
    """The change that `NAME=VALUE` asks for. Raises UsageError."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not value:
        raise UsageError(f"--set {text}: write NAME=VALUE, like max_recoveries=5")
    try:
        change = _known(name, value)
    except SettingsError as error:
        # It is worded for who has set a variable; here nobody has.
        where = error.where.removeprefix("INTERLOCK_").lower()
        mend = error.mend.removesuffix(", or unset it")
        raise UsageError(f"--set {text}: {where} {error.problem}; {mend}") from error
    if change is not None:
        return change
    unseen = why_not_judged(name)
    if unseen is not None:
        raise UsageError(f"--set {text}: no replay can judge that: {unseen}")
    from difflib import get_close_matches

    near = get_close_matches(name, (*_LIMITS, *_FEATURES, *_RUN), n=1)
    hint = f"did you mean {near[0]}?" if near else "see: interlock config show"
    raise UsageError(f"--set {text}: no setting of a run is called {name}; {hint}")


def _known(name: str, value: str) -> Change | None:
    """The change of a setting that a run has. Raises SettingsError, UsageError."""
    for wanted in (name, f"max_{name}"):
        variable = f"INTERLOCK_{wanted.upper()}"
        if wanted in _LIMITS:
            room = {"INTERLOCK_WINDOW_RESERVE": "0"} if wanted == "context_window" else {}
            made: Any = getattr(limits_of({**room, variable: value}), wanted)
            return Change(part="limits", name=wanted, value=made)
        if wanted in _FEATURES:
            made = getattr(features_of({variable: value}), wanted)
            return Change(part="features", name=wanted, value=made)
        if wanted in _RUN:
            return Change(part="run", name=wanted, value=_number(wanted, value))
    return None


def judged(trace: Trace, changes: Sequence[Change], table: Machine[Loop] = LOOP) -> Verdict:
    """Follow one run under the changes. Raises ValueError for a trace that cannot be read."""
    start = records.loop_from(trace.header.start)
    readable = records.Readable(trace)
    steps = list(readable)
    run = start.run
    for change in changes:
        run = change.made(run)
    was = tuple(change.of(start.run) for change in changes)
    found = replay(table, evolve(start, run=run), steps, what_if=True)
    before = False
    if found.divergence is not None and (changes or table is not LOOP):
        before = replay(LOOP, start, steps, what_if=True).divergence is not None
    return Verdict(
        steps=found.steps,
        of=trace.steps,
        divergence=found.divergence,
        before=before,
        was=was,
        undecided=readable.problem is not None and found.divergence is None,
    )


async def run_otherwise(
    verdict: Verdict, recording: Recording, changes: Sequence[Change]
) -> Verdict:
    """The verdict, where running it again shows a difference before that of its decisions."""

    def changed(run: Run) -> Run:
        for change in changes:
            run = change.made(run)
        return run

    found = await otherwise(recording, changed)
    if found is None and recording.over:  # followed to its end, whatever its trace has lost
        return evolve(verdict, undecided=False)
    if found is None or (verdict.divergence is not None and verdict.steps <= found.step):
        return verdict
    return evolve(verdict, steps=found.step, divergence=None, elsewhere=found, undecided=False)


def told(changes: Sequence[Change], table: str | None, verdicts: Sequence[Verdict]) -> str:
    """One line: with what change, and how many runs differ."""
    words = []
    if table is not None:
        words.append(f"the table {table}")
    for at, change in enumerate(changes):
        was = dict.fromkeys(_said(each.was[at]) for each in verdicts)
        words.append(f"{change.name} {_said(change.value)} instead of {' or '.join(was)}")
    differ = sum(each.differs for each in verdicts)
    line = f"with {', '.join(words) or 'the table of today'}: "
    line += f"{differ} of {_runs(len(verdicts))} differ{'s' if differ == 1 else ''}"
    before = sum(each.before for each in verdicts)
    if before:
        line += f"; {_runs(before)} part{'s' if before == 1 else ''} without it already"
    alone = sum(each.decided_only for each in verdicts)
    unseen = [change.name for change in changes if change.name in _BEHIND_PORTS]
    if alone and unseen:
        line += f"; {_runs(alone)} cannot show it: {unseen[0]} is read where nothing was recorded"
    undecided = sum(each.undecided for each in verdicts)
    if undecided:
        line += f"; {_runs(undecided)} could be followed in part only"
    for change in changes:
        why = why_not_judged(change.name)
        if why is not None:
            line += f"; that says nothing about {change.name}: {why}"
    return line


def _runs(count: int) -> str:
    return counted(count, "run")


def _said(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "none" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def _number(name: str, text: str) -> int | float | None:
    if text.lower() == "none":
        return None
    try:
        value = float(text) if name == "budget_usd" else int(text)
    except ValueError:
        value = -1
    if not 0 < value < float("inf"):
        raise UsageError(f"--set {name}={text}: give a number above 0, or none")
    return value
