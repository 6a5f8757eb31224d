"""A trace as a short story: one line an edge, with the facts that led along it, and under it a
line for each tool call that ended there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from fsm import Record, Trace
from interlock.call_records import Calls, Life
from interlock.cli.calls import line_of
from interlock.counted import counted
from interlock.sessions.runs import RunFile

_STATE = 26  # columns; the longest name of a state of the loop has 25 letters


def story_of(trace: Trace, found: RunFile, calls: Calls | None = None) -> str:
    """The run, told: step, seconds since its start, from and to, and why."""
    return "\n".join(_lines(trace, found, calls or Calls())) + "\n"


def _lines(trace: Trace, found: RunFile, calls: Calls) -> Iterator[str]:
    began = trace[0].time if len(trace) else 0.0
    session = f", session {found.session_id}" if found.session_id else ""
    when = f", {_moment(began)}" if len(trace) else ""
    yield f"run {found.run_id}{session}{when}"
    expected = 0
    for record in trace:
        if record.sequence > expected:
            yield _unread(expected, record.sequence - 1)
        expected = record.sequence + 1
        told = "  ".join(part for part in (facts_of(record), _why(record)) if part)
        way = f"{record.source:<{_STATE}} -> {record.destination:<{_STATE - 8}}"
        yield f"{record.sequence:>4} {record.time - began:>8.2f}  {way}  {told}".rstrip()
        yield from (_call(life, began) for life in calls.under(record.sequence))
    last = trace[-1].sequence if len(trace) else -1
    for life in calls.lives:  # the process went away, or was stopped, in the middle of a step
        if not life.over or life.under > last:
            yield _call(life, began)
    yield ending_of(trace)


def _unread(first: int, last: int) -> str:
    more = f" to {last}" if last > first else ""
    return f"{first:>4}{more:<10} (cannot be read)"


def _call(life: Life, began: float) -> str:
    return f"{'':4} {life.records[0].time - began:>8.2f}    {line_of(life)}"


def ending_of(trace: Trace) -> str:
    """How long the run is, and how it ended."""
    steps = f"{counted(trace.steps, 'step')}"
    missing = trace.steps - len(trace)
    unread = f", {missing} of which cannot be read" if missing else ""
    if trace.ending is None:
        return f"{steps}{unread}; not over: the trace stops at {trace.path[-1]}"
    return f"{steps} in {trace[-1].time - trace[0].time:.2f} s{unread}; ended: {trace.ending}"


def _why(record: Record) -> str:
    guards = ", ".join(record.guards)
    if record.reason in (None, record.destination):
        return guards
    return f"{guards}: {record.reason}" if guards else str(record.reason)


def facts_of(record: Record) -> str:
    """What its outcome said, in a few words; nothing where that is not what it would say."""
    payload = record.payload if isinstance(record.payload, Mapping) else {}
    try:
        return _facts(record.outcome, payload)
    except (KeyError, TypeError, ValueError):  # a line that was changed by hand, or by a disk
        return ""


def _facts(outcome: str, payload: Mapping[str, Any]) -> str:
    match outcome:
        case "Streamed":
            return _streamed(payload)
        case "Prepared" if "size" in payload:
            return ", ".join((f"{payload['size']:,} tokens", *_freed(payload)))
        case "Waited" if "seconds" in payload:
            return f"{payload['seconds']:.1f} s"
        case "ToolsRan":
            count = len(payload.get("results") or ())
            return counted(count, "result")
        case "Attached" if payload.get("attachments"):
            return f"{len(payload['attachments'])} attached"
        case "Drained":
            return f"{payload.get('committed', 0)} committed"
        case "Raised":
            return str(payload.get("error", ""))
        case "Compacted" if payload.get("problem"):
            return str(payload["problem"])
    return ""


def _freed(payload: Mapping[str, Any]) -> Iterator[str]:
    for one in payload.get("freed") or ():
        yield f"{one['level']} freed {one['tokens']:,}"


def _streamed(payload: Mapping[str, Any]) -> str:
    failure, reply = payload.get("failure"), payload.get("reply")
    if isinstance(failure, Mapping):
        status = f" {failure['status']}" if failure.get("status") else ""
        return f"{failure.get('kind', 'failed')}{status}"
    if not isinstance(reply, Mapping):
        return ""
    usage = reply.get("usage")
    if isinstance(usage, Mapping):
        return f"{usage.get('in', 0):,} in, {usage.get('out', 0):,} out"
    return f"{payload.get('tokens', 0):,} out"


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
