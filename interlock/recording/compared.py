"""What a rerun wrote, held against what the recorded run wrote: byte for byte.

Of a header, only what this version knows beyond the recorded one may differ, and it is told. Of
a run whose end nobody wrote down, only what it must have written is compared; a line of its trace
that is damaged is passed over, and named.
"""

from __future__ import annotations

import json
from itertools import zip_longest
from typing import Any

import orjson
from attrs import frozen

from interlock.recording.form import Recording


@frozen(kw_only=True)
class Difference:
    """The first line at which a file came out otherwise; None: one of them ends before it."""

    file: str  # "transcript" or "trace"
    line: int
    recorded: str | None
    now: str | None


@frozen(kw_only=True)
class Compared:
    """What the comparison has shown."""

    difference: Difference | None = None
    notes: tuple[str, ...] = ()  # what is new since, and changed nothing
    unread: tuple[int, ...] = ()  # lines of the recorded trace that are damaged


def compared(
    recording: Recording, transcript: str, trace: str, settled: int | None = None
) -> Compared:
    """`settled`: the recorded run's process went away, and so many bytes of the transcript were
    written before that for sure; None: the run was over."""
    if recording.bare:
        return Compared()
    then, unread = _mended(recording.trace, trace)
    notes, expected = _header_notes(then, trace)
    told = recording.transcript
    if settled is not None:
        # What followed its last answer it may not have come to write; others have, behind it.
        told = _as_far_as_known(told, transcript, settled)
        if recording.damage is not None:  # the run went on; what is left of its answers ends here
            expected = "".join(expected.splitlines(keepends=True)[: trace.count("\n")])
        expected += _unwritten(expected, trace)
    difference = _difference("trace", expected, trace)
    return Compared(
        difference=difference or _difference("transcript", told, transcript),
        notes=notes,
        unread=unread,
    )


def _mended(recorded: str, now: str) -> tuple[str, tuple[int, ...]]:
    """The recorded trace with the lines that are damaged taken from ours, and their numbers."""
    if recorded == now:
        return recorded, ()
    lines, ours = recorded.splitlines(keepends=True), now.splitlines(keepends=True)
    damaged = [
        number
        for number, line in enumerate(lines[: len(ours)], start=1)
        if line != ours[number - 1] and not _is_object(line)
    ]
    for number in damaged:
        lines[number - 1] = ours[number - 1]
    return "".join(lines), tuple(damaged)


def _is_object(line: str) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _as_far_as_known(told: str, added: str, settled: int) -> str:
    """The recorded transcript where it is known; beyond that, what we have made ourselves."""
    sure = added.encode("utf-8", "surrogateescape")[:settled].decode("utf-8", "surrogateescape")
    return told[: len(sure)] + added[len(sure) :]


def _unwritten(recorded: str, now: str) -> str:
    """The last record, where the process went away before it was written."""
    return now[len(recorded) :] if now.startswith(recorded) else ""


def _difference(file: str, recorded: str, now: str) -> Difference | None:
    if recorded == now:
        return None
    pairs = zip_longest(recorded.splitlines(), now.splitlines())
    for line, (then, made) in enumerate(pairs, start=1):
        if then != made:
            return Difference(file=file, line=line, recorded=then, now=made)
    return Difference(file=file, line=recorded.count("\n") + 1, recorded="", now=None)


def _header_notes(recorded: str, now: str) -> tuple[tuple[str, ...], str]:
    """What the two headers differ in and may; and the trace to be held against ours."""
    then_line, _, rest = recorded.partition("\n")
    now_line = now.partition("\n")[0]
    if then_line == now_line:
        return (), recorded
    then, made = orjson.loads(then_line), orjson.loads(now_line)
    notes = []
    if then.get("table") != made["table"]:
        notes.append(f"made by another table, {then.get('table')}")
    new = _unknown_then(then.get("start"), made["start"])
    if new:
        notes.append(f"settings that are new since: {', '.join(new)}")
    if then | {"table": made["table"], "start": _filled(then.get("start"), made["start"])} != made:
        return (), recorded
    return tuple(notes), f"{now_line}\n{rest}"


def _filled(then: Any, now: Any) -> Any:
    """`then`, with what only `now` has."""
    if not isinstance(then, dict) or not isinstance(now, dict):
        return then
    return now | {key: _filled(value, now.get(key)) for key, value in then.items()}


def _unknown_then(then: Any, now: Any) -> list[str]:
    if not isinstance(then, dict) or not isinstance(now, dict):
        return []
    new = [key for key in now if key not in then]
    return new + [each for key in then for each in _unknown_then(then[key], now.get(key))]


def side_by_side(found: Difference) -> list[str]:
    """The line and the two sides, by the place where they begin to differ."""
    head = f"the {found.file} parts at line {found.line}:"
    return [head, *(f"  {side}" for side in _beside(found.recorded, found.now))]


def _beside(recorded: str | None, now: str | None, width: int = 100) -> list[str]:
    """Two long lines by the place where they begin to differ."""
    if recorded is None or now is None:
        return [f"recorded  {_cut(recorded, 0, width)}", f"now       {_cut(now, 0, width)}"]
    pairs = enumerate(zip(recorded, now, strict=False))
    at = next((n for n, (one, other) in pairs if one != other), min(len(recorded), len(now)))
    start = max(at - width // 2, 0)
    cells = [_cut(recorded, start, width), _cut(now, start, width)]
    mark = " " * (at - start + len("recorded  ") + bool(start)) + "^"
    return [f"recorded  {cells[0]}", f"now       {cells[1]}", mark]


def _cut(text: str | None, start: int, width: int) -> str:
    if text is None:
        return "(ends before)"
    shown = text[start : start + width]
    return f"{'…' if start else ''}{shown}{'…' if start + width < len(text) else ''}"
