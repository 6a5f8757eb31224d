"""Old runs under another table or another setting: which take another path, where, and why.

Only decisions are taken again: what the world answered is as it was. So each run is followed to
the first step that would have gone elsewhere; what would have come of that nobody knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
from attrs import evolve, frozen

from fsm import Machine, Trace
from fsm.replay import Divergence, replay
from interlock import records
from interlock.errors import UsageError
from interlock.settings import features_of, limits_of
from interlock.table import LOOP
from phases.world.limits import Limits
from phases.world.loop import Features, Loop, Run

_RUN = ("max_turns", "budget_usd", "token_budget", "output_cap")
_LIMITS = tuple(each.name for each in attrs.fields(Limits))
_FEATURES = tuple(each.name for each in attrs.fields(Features))


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


def change_of(text: str) -> Change:
    """The change that `NAME=VALUE` asks for. Raises UsageError or SettingsError."""
    name, equals, value = (part.strip() for part in text.partition("="))
    if not equals or not value:
        raise UsageError(f"--set {text}: write NAME=VALUE, like max_recoveries=5")
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
    from difflib import get_close_matches

    near = get_close_matches(name, (*_LIMITS, *_FEATURES, *_RUN), n=1, cutoff=0.4)
    hint = f"did you mean {near[0]}?" if near else "see: interlock config show"
    raise UsageError(f"--set {text}: no setting of a run is called {name}; {hint}")


def judged(trace: Trace, changes: Sequence[Change], table: Machine[Loop] = LOOP) -> Verdict:
    """Follow one run under the changes. Raises ValueError for a trace that cannot be read."""
    start = records.loop_from(trace.header.start)
    steps = list(records.steps_of(trace))
    run = start.run
    for change in changes:
        run = change.made(run)
    was = tuple(change.of(start.run) for change in changes)
    found = replay(table, evolve(start, run=run), steps, what_if=True)
    before = False
    if found.divergence is not None and (changes or table is not LOOP):
        before = replay(LOOP, start, steps, what_if=True).divergence is not None
    return Verdict(
        steps=found.steps, of=len(trace), divergence=found.divergence, before=before, was=was
    )


def told(changes: Sequence[Change], table: str | None, verdicts: Sequence[Verdict]) -> str:
    """One line: with what change, and how many runs differ."""
    words = []
    if table is not None:
        words.append(f"the table {table}")
    for at, change in enumerate(changes):
        was = dict.fromkeys(_said(each.was[at]) for each in verdicts)
        words.append(f"{change.name} {_said(change.value)} instead of {' or '.join(was)}")
    differ = sum(each.divergence is not None and not each.before for each in verdicts)
    line = f"with {', '.join(words) or 'the table of today'}: "
    line += f"{differ} of {_runs(len(verdicts))} differ{'s' if differ == 1 else ''}"
    before = sum(each.before for each in verdicts)
    if before:
        line += f"; {_runs(before)} part{'s' if before == 1 else ''} without it already"
    return line


def _runs(count: int) -> str:
    return f"{count} run{'' if count == 1 else 's'}"


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
