"""Read a transcript back: entries to messages, whoever wrote the file.

Two passes: the first keeps of each line only where it lies and what it hangs on (`rows`), the
second reads the lines that count. What cannot be read is left out and told in `damage`; the last
complete entry in file order is the tip, whatever time stamps say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import groupby
from pathlib import Path
from typing import IO

from attrs import field, frozen

from interlock.errors import TranscriptError
from interlock.regular_files import open_regular
from interlock.sessions.blocks import message_of
from interlock.sessions.rows import (
    Damage,
    Row,
    Rows,
    all_rows,
    entry_at,
    groups_of,
    last_rows,
    numbered,
)
from phases.world.messages import Message, ToolResult


@frozen(kw_only=True)
class Reading:
    """What a transcript holds. `tip` and `calls` are what new entries hang on."""

    messages: tuple[Message, ...] = ()
    tip: str | None = None
    calls: Mapping[str, str] = field(factory=dict)  # a tool_use id to its entry
    known: frozenset[str] = frozenset()  # ids of the messages seen on the way
    damage: tuple[str, ...] = ()
    others: int = 0  # branches beside this one, which nobody goes on with


def read_messages(path: Path) -> tuple[Message, ...]:
    """The history that a session at `path` goes on with. Raises TranscriptError."""
    return read(path).messages


def read(path: Path, at: str | None = None) -> Reading:
    """Read the transcript at `path`: the history that ends with what was written last, or with the
    message `at`. Raises TranscriptError if there is none to be read, or no such message.
    """
    damage: list[Damage] = []
    try:
        with open_regular(path) as file:
            rows = last_rows(file, damage, at)
            insist_on(at, rows, path)
            if not rows:
                return Reading(damage=numbered(file, damage, path.name))
            chain = chain_of(rows, damage, at)
            groups = groups_of(rows)
            messages = _messages(file, rows, chain, groups, damage)
            told = numbered(file, damage, path.name)
    except OSError as error:
        raise TranscriptError(str(path), f"cannot be read: {error.strerror or error}") from error
    return Reading(
        messages=messages,
        tip=chain[-1].uuid,
        calls={call: row.uuid for row in chain for call in row.calls},
        known=frozenset(groups.values()),
        damage=told,
        others=branches_beside(rows, chain),
    )


def find(path: Path, ids: Set[str]) -> dict[str, Message]:
    """The messages with these ids, wherever they stand, also before a compaction.

    What is not there is left out. Raises TranscriptError if there is none to be read.
    """
    damage: list[Damage] = []
    try:
        with open_regular(path) as file:
            rows = all_rows(file, damage)
            groups = groups_of(rows)
            wanted = [row for row in rows.values() if groups[row.uuid] in ids or row.uuid in ids]
            found = list(_decoded(file, wanted, groups, damage))
    except OSError as error:
        raise TranscriptError(str(path), f"cannot be read: {error.strerror or error}") from error
    return {message.id: message for message in found}


# --- which lines count -----------------------------------------------------------------------


def insist_on(at: str | None, rows: Rows, path: Path) -> None:
    """Raise TranscriptError where the message `at` is not there."""
    if at is not None and at not in rows:
        listed = f"interlock sessions show {path.stem}"
        raise TranscriptError(str(path), f"has no message {at}; to list them: {listed}")


def chain_of(rows: Rows, damage: Sequence[Damage] = (), at: str | None = None) -> list[Row]:
    """From the root, or the last compaction, to the tip; parallel calls and results included.

    The tip is the last row in the file, or the one named `at` with the results of its calls.
    """
    tip = rows[at or next(reversed(list(rows)))]
    kept = {tip.uuid}
    above = above_of(tip, rows, damage)
    while above is not None and above.uuid not in kept:
        kept.add(above.uuid)
        above = above_of(above, rows, damage)
    answered = {call for uuid in kept for call in rows[uuid].answers}
    groups = groups_of(rows)
    # A walk over parents meets one result of a parallel round; its siblings fan out beside it.
    for row in rows.values():
        above = rows.get(row.parent) if row.parent is not None else None
        if row.uuid in kept or above is None or above.uuid not in kept:
            continue
        if row.type == "assistant" and groups[row.uuid] == groups[above.uuid]:
            kept.add(row.uuid)
        elif row.answers and above.calls and not answered.intersection(row.answers):
            kept.add(row.uuid)
            answered.update(row.answers)
    return [row for row in rows.values() if row.uuid in kept]


def above_of(
    row: Row, rows: Rows, damage: Sequence[Damage], *, beyond: bool = False
) -> Row | None:
    """What a row hangs on. Where that line is damaged, the one before it takes its place: one
    bad line must not cost all that was said before it. `beyond`: also across a compaction, where
    a history begins.
    """
    parent = row.parent or (row.follows if beyond else None)
    if parent is None or parent in rows:
        return rows.get(parent) if parent is not None else None
    if row.summary and not beyond:
        return None
    before = None
    for each in rows.values():
        if each.offset >= row.offset:
            break
        before = each
    if before is None or not any(before.offset < bad.offset < row.offset for bad in damage):
        return None
    return before


def branches_beside(rows: Rows, chain: Sequence[Row]) -> int:
    """How many branches end elsewhere: what nothing hangs on, since the history's beginning.

    One that a person has left by a rewind is none: nobody wonders where it went.
    """
    kept = {row.uuid for row in chain}
    parents = {row.parent for row in rows.values()} | {row.leaves for row in rows.values()}
    return sum(
        row.told and row.uuid not in kept and row.uuid not in parents
        for row in rows.values()
        if row.offset > chain[0].offset
    )


def _messages(
    file: IO[bytes],
    rows: Rows,
    chain: Sequence[Row],
    groups: Mapping[str, str],
    damage: list[Damage],
) -> tuple[Message, ...]:
    view = chain[0].view or ()
    earlier = earlier_of(rows, chain, groups)
    found: dict[str, Message] = {}
    for message in _decoded(file, [*earlier, *chain], groups, damage):
        found.setdefault(message.id, message)
    order = [*view, *(groups[row.uuid] for row in chain)]
    history = {id_: found[id_] for id_ in order if id_ in found}
    mended = {row.replaces: row.uuid for row in chain if row.replaces and row.replaces in found}
    for old in mended.values():
        history.pop(old, None)  # it stands where the old one stood, not where it was written
    return _in_call_order((old, _standing(old, mended, found)) for old in history.values())


def earlier_of(rows: Rows, chain: Sequence[Row], groups: Mapping[str, str]) -> list[Row]:
    """What a compaction took over: rows before it that the history still holds."""
    wanted = set(chain[0].view or ()) - {groups[row.uuid] for row in chain}
    return [row for row in rows.values() if groups[row.uuid] in wanted] if wanted else []


def in_call_order(messages: Iterable[Message]) -> tuple[Message, ...]:
    """As a history that is read has them: the results of one round in the order of its calls."""
    return _in_call_order((message, message) for message in messages)


def _in_call_order(messages: Iterable[tuple[Message, Message]]) -> tuple[Message, ...]:
    """The results of one round in the order of its calls: they were written as tools finished.

    Each message comes as it was written and as it stands now; a note in place of a result has
    the place of the result.
    """
    position: dict[str, int] = {}
    ordered: list[Message] = []

    def call_of(pair: tuple[Message, Message]) -> str | None:
        old, now = pair
        # A result in a reply (a broken history has that) is none, and moves nothing.
        return _answered(now) or _answered(old) if old.role == "user" else None

    for is_result, run in groupby(messages, key=lambda pair: call_of(pair) is not None):
        part = list(run)
        if is_result:
            part.sort(key=lambda pair: position.get(call_of(pair) or "", -1))
        for pair in part:
            first = len(position)
            for message in reversed(pair):  # as written counts: a call may have been taken out
                position |= {call.id: first + at for at, call in enumerate(message.calls)}
        ordered += (now for _, now in part)
    return tuple(ordered)


def _answered(message: Message) -> str | None:
    ids = (block.tool_use_id for block in message.content if isinstance(block, ToolResult))
    return next(ids, None)


def _standing(
    message: Message, mended: Mapping[str, str], found: Mapping[str, Message]
) -> Message:
    while message.id in mended and mended[message.id] in found:
        message = found[mended[message.id]]
    return message


# --- second pass -----------------------------------------------------------------------------


def _decoded(
    file: IO[bytes], rows: Sequence[Row], groups: Mapping[str, str], damage: list[Damage]
) -> Iterator[Message]:
    told = [row for row in rows if row.told]
    # Blocks of one reply may have another line between them; they belong together all the same.
    position = {groups[row.uuid]: index for index, row in reversed(list(enumerate(told)))}
    told.sort(key=lambda row: position[groups[row.uuid]])
    for group, parts in groupby(told, key=lambda row: groups[row.uuid]):
        lines = list(parts)
        try:
            yield message_of([entry_at(file, row) for row in lines], groups)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            problem = f"entry {group} holds no message ({error})"
            damage.append(Damage(lines[0].offset, problem))
