"""Tool calls of a recorded run, in words: a line each under the step they ended in."""

from __future__ import annotations

from collections.abc import Iterator

from fsm.explain import explain, render
from fsm.replay import render as parted
from interlock.call_records import Calls, Life, again
from interlock.counted import counted
from interlock.tools.lifecycle import (
    TOOL_CALL,
    Aborted,
    Began,
    CallState,
    Judged,
    TurnCame,
)

# Those that a story of the run must not leave out; that some calls fail is its daily bread.
_FATES = {
    CallState.DENIED: "was denied",
    CallState.TIMED_OUT: "ran out of time",
    CallState.ABORTED: "was aborted",
    CallState.INTERRUPTED: "was interrupted",
}


def line_of(life: Life) -> str:
    """Tool, id, every state it was in, how long it ran, and why it came to that."""
    facts = life.facts
    began = next((one.time for one in life.records if one.outcome == Began.__name__), None)
    ran = f"{life.records[-1].time - began:.2f} s" if began is not None and life.over else ""
    early = "early" if any(one.reason == "starts_early" for one in life.records) else ""
    why = "; ".join(part for part in (early, ran, _permission(life), _end(life)) if part)
    return f"{facts.tool} {facts.id}  {' > '.join(life.path)}  {why}".rstrip()


def told_of(calls: Calls, step: int) -> str:
    """What a story of the run should not leave out: calls that did not run to their own end."""
    lines = [_fate(life) for life in calls.under(step) if life.state in _FATES]
    return "\n".join(lines)


def explained(life: Life) -> Iterator[str]:
    """Each decision about a call, with the edges that were not taken. Raises TraceError."""
    for record in life.records:
        yield render(explain(TOOL_CALL, record))


def replayed(calls: Calls, *, what_if: bool) -> tuple[bool, str]:
    """Whether all decisions about calls agree, and that in words."""
    total = sum(len(life.records) for life in calls.lives)
    agreed, problems = 0, []
    for life in calls.lives:
        if not life.whole:
            problems.append(f"{_name(life)} cannot be decided: a record of it is missing\n")
            continue
        try:
            found = again(life, what_if=what_if)
        except ValueError as error:
            problems.append(f"{_name(life)} cannot be decided: {error}\n")
            continue
        agreed += found.steps
        if found.divergence is not None:
            problems.append(f"{_name(life)}: {parted(found.divergence)}")
    steps = counted(total, "step")
    if problems:
        return False, f"{agreed} of {steps} of its calls agree\n" + "".join(problems)
    return True, f"{steps} of {counted(len(calls.lives), 'call')}, all agree\n"


def _name(life: Life) -> str:
    return f"{life.facts.tool} {life.facts.id}"


def _fate(life: Life) -> str:
    permitted, end = _permission(life), _end(life)
    why = f"{end} ({permitted})" if end and permitted else end or permitted
    return f"The call {_name(life)} {_FATES[life.state]} while {life.path[-2]}: {why}."


def _permission(life: Life) -> str:
    """The decision about it: reason, and the rule, unless the reason names it."""
    judged = life.told(Judged)
    if judged is None or judged.broke:
        return ""
    rule = judged.rule
    named = f" [{rule}]" if rule is not None and rule not in judged.reason else ""
    return f"{judged.reason}{named}"


def _end(life: Life) -> str:
    """Why it ended as it did, where the state alone does not say it."""
    match life.state:
        case CallState.TIMED_OUT:
            began = life.told(Began)
            limit = began.time_limit if began is not None else None
            return f"over its limit of {limit:g} s" if limit is not None else "over its limit"
        case CallState.ABORTED:
            aborted = life.told(Aborted)
            return aborted.because if aborted is not None else ""
        case CallState.INTERRUPTED:
            return "by the user"
        case CallState.FAILED:
            turn, judged = life.told(TurnCame), life.told(Judged)
            if judged is not None and judged.broke:
                return judged.reason
            return turn.refusal or "" if turn is not None else ""
    return "" if life.over else "not over when the trace stops"
