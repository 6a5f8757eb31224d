"""Where everything lies in a transcript: each line by what it hangs on, none kept whole.

`last_rows` reads from the end and stops where the history begins, at its root or the last
compaction: so time and memory follow what is sent, not the file. `all_rows` reads all of it.
What cannot be read is left out and noted. Knows nothing of messages: read `reading` next.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO, Any

import orjson
from attrs import evolve, frozen

_LINKS = frozenset({"user", "assistant", "system", "attachment", "progress"})
_CHUNK = 1 << 18


@frozen(kw_only=True)
class Row:
    """One line of the file, by what it hangs on."""

    offset: int
    length: int
    type: str
    uuid: str
    parent: str | None
    api_id: str | None
    block: int | None
    calls: tuple[str, ...]  # tool_use ids
    answers: tuple[str, ...]  # tool_use ids that it holds results of
    replaces: str | None
    summary: bool  # it stands for all before it
    view: tuple[str, ...] | None  # of a compaction: the ids the history then had
    leaves: str | None  # of a rewind: the row that was the last before it
    follows: str | None  # of a compaction: the last line before it, which it does not hang on
    copied: str | None  # the uuid that it has in the session it was copied from

    @property
    def told(self) -> bool:
        """Whether it holds (a part of) a message."""
        return self.type in ("user", "assistant") or self.replaces is not None


@frozen
class Damage:
    """A place in the file that says nothing, and why."""

    offset: int
    problem: str


Rows = Mapping[str, Row]  # by uuid, in the order of the file


def all_rows(file: IO[bytes], damage: list[Damage]) -> Rows:
    """Every line that hangs on another, or that others hang on."""
    file.seek(0)
    return _first_ones(_forward(file, damage))


def last_rows(file: IO[bytes], damage: list[Damage], at: str | None = None) -> Rows:
    """Those from where the history begins that the last one ends, to the end of the file.

    With `at` it is the history that ends with that row; if there is no such row, it is not among
    what comes back.
    """
    newest: list[Row] = []
    noted: list[Damage] = []
    seen: set[str] = set()
    parent: str | None = None  # what the chain hangs on that is not reached yet
    taken_over: set[str] = set()  # messages from before a compaction: alone, without their parents
    begun = False
    for row in _backward(file, noted):
        seen.update((row.uuid, row.copied or row.uuid))
        begins = not begun and at in (None, row.uuid)
        begun = begun or begins
        if begins or row.uuid == parent:
            parent = row.parent
            taken_over.update(row.view or ())
        newest.append(row)
        taken_over -= seen
        if begun and parent is None and not taken_over:
            break
    rows = _first_ones(reversed(newest))
    if len(rows) < len(newest):
        # A write that failed was tried again, and which one counts tells the one before: rare
        # enough for the long way.
        return all_rows(file, damage)
    damage += reversed(noted)
    return rows


def groups_of(rows: Rows) -> dict[str, str]:
    """For each row the id of the message that it is a part of."""
    groups: dict[str, str] = {}
    for row in rows.values():
        before = rows.get(row.parent) if row.parent is not None else None
        goes_on = (
            before is not None
            and before.uuid in groups
            and row.type == before.type == "assistant"
            and before.api_id == row.api_id
            and (row.block is None or before.block is None or row.block == before.block + 1)
        )
        groups[row.uuid] = groups[before.uuid] if goes_on and before is not None else row.uuid
    return groups


def entry_at(file: IO[bytes], row: Row) -> dict[str, Any]:
    """The whole line."""
    file.seek(row.offset)
    entry: dict[str, Any] = orjson.loads(file.read(row.length))
    return entry


def numbered(file: IO[bytes], damage: Iterable[Damage], name: str) -> tuple[str, ...]:
    """The damage in words, with file and line. Lines are counted only where there is any."""
    told, number, at = [], 1, 0
    for one in sorted(damage, key=lambda each: each.offset):
        file.seek(at)
        while at < one.offset:
            chunk = file.read(min(_CHUNK, one.offset - at))
            if not chunk:
                break
            number += chunk.count(b"\n")
            at += len(chunk)
        told.append(f"{name}:{number}: {one.problem}, left out")
    return tuple(told)


def _first_ones(rows: Iterable[Row]) -> dict[str, Row]:
    # The first one of two with one uuid counts: a write that failed was tried again.
    found: dict[str, Row] = {}
    for row in rows:
        found.setdefault(row.uuid, row)
    return _with_new_ids(found)


def _with_new_ids(rows: dict[str, Row]) -> dict[str, Row]:
    """A program that copied a session may have given each entry a new uuid, and have left as it
    was what only we write: who means an old one means the copy."""
    new = {row.copied: row.uuid for row in rows.values() if row.copied and row.copied != row.uuid}
    if not new:
        return rows

    def renewed(row: Row) -> Row:
        view = None if row.view is None else tuple(new.get(one, one) for one in row.view)
        replaces = None if row.replaces is None else new.get(row.replaces, row.replaces)
        return evolve(row, view=view, replaces=replaces)

    return {uuid: renewed(row) for uuid, row in rows.items()}


def _forward(file: IO[bytes], damage: list[Damage]) -> Iterator[Row]:
    offset = 0
    for line in file:
        start, offset = offset, offset + len(line)
        row = _row(line.removesuffix(b"\n"), start, damage, last=not line.endswith(b"\n"))
        if row is not None:
            yield row


def _backward(file: IO[bytes], damage: list[Damage]) -> Iterator[Row]:
    size = file.seek(0, os.SEEK_END)
    for start, line in _lines_backward(file, size):
        row = _row(line, start, damage, last=start + len(line) == size)
        if row is not None:
            yield row


def _lines_backward(file: IO[bytes], size: int) -> Iterator[tuple[int, bytes]]:
    """Each line without its end, and where it begins; the last one first."""
    behind: list[bytes] = []  # pieces of a line whose beginning is not reached, the last one first
    at = size
    while at:
        at, end = max(0, at - _CHUNK), at
        file.seek(at)
        chunk = file.read(end - at)
        cut = len(chunk)
        while (mark := chunk.rfind(b"\n", 0, cut)) >= 0:
            yield at + mark + 1, b"".join([chunk[mark + 1 : cut], *reversed(behind)])
            behind.clear()
            cut = mark
        behind.append(chunk[:cut])
    yield 0, b"".join(reversed(behind))


def _row(line: bytes, offset: int, damage: list[Damage], *, last: bool) -> Row | None:
    if not line.strip():
        return None
    try:
        entry = orjson.loads(line)
    except orjson.JSONDecodeError:
        end = ", cut off at the end of the file" if last else ""
        damage.append(Damage(offset, f"no JSON{end}"))
        return None
    problem = _problem_of(entry)
    if problem is not None:
        damage.append(Damage(offset, problem))
        return None
    return _row_of(entry, offset, len(line))


def _problem_of(entry: Any) -> str | None:
    """Why a line cannot be what it says it is, or None. What says nothing cannot be the line that
    a history ends with, or all before it would be lost."""
    if not isinstance(entry, dict):
        return "no entry"
    if entry.get("type") not in ("user", "assistant"):
        return None
    if not isinstance(entry.get("uuid"), str):
        return "an entry without a uuid"
    message = entry.get("message")
    if not isinstance(message, dict) or not isinstance(message.get("content"), list | str):
        return f"entry {entry['uuid']} holds no message"
    return None


def _row_of(entry: dict[str, Any], offset: int, length: int) -> Row | None:
    uuid, kind = entry.get("uuid"), entry.get("type")
    if not isinstance(uuid, str) or kind not in _LINKS or entry.get("isSidechain"):
        return None
    body = entry.get("message")
    body = body if isinstance(body, dict) else {}
    content = body.get("content")
    blocks = content if isinstance(content, list) else []
    block = entry.get("block")
    metadata = entry.get("compactMetadata")
    view = metadata.get("view") if isinstance(metadata, dict) else None
    rewind = entry.get("rewind")
    leaves = rewind.get("from") if isinstance(rewind, dict) else None
    origin = entry.get("forkedFrom")
    return Row(
        offset=offset,
        length=length,
        type=str(kind),
        uuid=uuid,
        parent=_text(entry, "parentUuid"),
        api_id=body.get("id"),
        block=block if isinstance(block, int) else None,
        calls=_ids(blocks, "tool_use", "id"),
        # A mended result answers nothing anew: it stands for the entry that did.
        answers=_ids(blocks, "tool_result", "tool_use_id") if kind == "user" else (),
        replaces=entry.get("replaces") if entry.get("subtype") == "message_mended" else None,
        summary=bool(entry.get("isCompactSummary")),
        view=tuple(view) if isinstance(view, list) else None,
        leaves=leaves if isinstance(leaves, str) else None,
        follows=_text(entry, "logicalParentUuid"),
        copied=_text(origin, "messageUuid") if isinstance(origin, dict) else None,
    )


def _text(data: Mapping[str, Any], key: str) -> str | None:
    value = data.get(key)
    return value if isinstance(value, str) else None


def _ids(blocks: Sequence[Any], kind: str, key: str) -> tuple[str, ...]:
    return tuple(
        str(block[key])
        for block in blocks
        if isinstance(block, dict) and block.get("type") == kind and key in block
    )
