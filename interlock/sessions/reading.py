"""Read a transcript back: entries to messages, whoever wrote the file.

Two passes: the first keeps of each line only where it lies and what it hangs on, the second
reads the lines that count. So memory follows what is sent, not what was ever said. What cannot
be read is left out and told in `damage`; the last complete entry in file order is the tip.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import groupby
from pathlib import Path
from typing import IO, Any

import orjson
from attrs import field, frozen

from interlock.errors import TranscriptError
from interlock.sessions.blocks import message_of
from phases.world.messages import Message, ToolResult

_LINKS = frozenset({"user", "assistant", "system", "attachment", "progress"})


@frozen(kw_only=True)
class Reading:
    """What a transcript holds. `tip` and `calls` are what new entries hang on."""

    messages: tuple[Message, ...] = ()
    tip: str | None = None
    calls: Mapping[str, str] = field(factory=dict)  # a tool_use id to its entry
    known: frozenset[str] = frozenset()  # ids of all messages ever written
    damage: tuple[str, ...] = ()


@frozen(kw_only=True)
class _Row:
    """One line of the file, by what it hangs on."""

    offset: int
    length: int
    type: str
    uuid: str
    parent: str | None
    group: str  # the id of the message it is a part of
    api_id: str | None
    block: int | None
    calls: tuple[str, ...]  # tool_use ids
    answers: tuple[str, ...]  # tool_use ids that it holds results of
    replaces: str | None
    view: tuple[str, ...] | None  # of a compaction: the ids the history then had


def read_messages(path: Path) -> tuple[Message, ...]:
    """The history that a session at `path` goes on with. Raises TranscriptError."""
    return read(path).messages


def read(path: Path) -> Reading:
    """Read the transcript at `path`. Raises TranscriptError if there is none to be read."""
    damage: list[str] = []
    try:
        with path.open("rb") as file:
            rows = _index(file, path.name, damage)
            if not rows:
                return Reading(damage=tuple(damage))
            chain = _chain(rows)
            groups = {row.uuid: row.group for row in rows.values()}
            messages = _messages(file, rows, chain, groups, path.name, damage)
    except OSError as error:
        raise TranscriptError(str(path), f"cannot be read: {error.strerror or error}") from error
    return Reading(
        messages=messages,
        tip=chain[-1].uuid,
        calls={call: row.uuid for row in chain for call in row.calls},
        known=frozenset(groups.values()),
        damage=tuple(damage),
    )


def find(path: Path, ids: Set[str]) -> dict[str, Message]:
    """The messages with these ids, wherever they stand, also before a compaction.

    What is not there is left out. Raises TranscriptError if there is none to be read.
    """
    damage: list[str] = []
    try:
        with path.open("rb") as file:
            rows = _index(file, path.name, damage)
            wanted = [row for row in rows.values() if row.group in ids or row.uuid in ids]
            groups = {row.uuid: row.group for row in rows.values()}
            found = list(_decoded(file, wanted, groups, path.name, damage))
    except OSError as error:
        raise TranscriptError(str(path), f"cannot be read: {error.strerror or error}") from error
    return {message.id: message for message in found}


# --- first pass: where everything lies -------------------------------------------------------


def _index(file: IO[bytes], name: str, damage: list[str]) -> dict[str, _Row]:
    rows: dict[str, _Row] = {}
    offset = 0
    for number, line in enumerate(file, start=1):
        start, offset = offset, offset + len(line)
        if not line.strip():
            continue
        try:
            entry = orjson.loads(line)
        except orjson.JSONDecodeError:
            end = "" if line.endswith(b"\n") else ", cut off at the end of the file"
            damage.append(f"{name}:{number}: no JSON, left out{end}")
            continue
        row = _row(entry, start, len(line), rows) if isinstance(entry, dict) else None
        # The first one of two with one uuid counts: a write that failed was tried again.
        if row is not None and row.uuid not in rows:
            rows[row.uuid] = row
    return rows


def _row(entry: dict[str, Any], offset: int, length: int, rows: Mapping[str, _Row]) -> _Row | None:
    uuid, kind = entry.get("uuid"), entry.get("type")
    if not isinstance(uuid, str) or kind not in _LINKS or entry.get("isSidechain"):
        return None
    parent = entry.get("parentUuid")
    body = entry.get("message")
    body = body if isinstance(body, dict) else {}
    content = body.get("content")
    blocks = content if isinstance(content, list) else []
    api_id, block = body.get("id"), entry.get("block")
    before = rows.get(parent) if isinstance(parent, str) else None
    goes_on = (
        kind == "assistant"
        and before is not None
        and before.type == "assistant"
        and before.api_id == api_id
        and (block is None or before.block is None or block == before.block + 1)
    )
    metadata = entry.get("compactMetadata")
    view = metadata.get("view") if isinstance(metadata, dict) else None
    return _Row(
        offset=offset,
        length=length,
        type=str(kind),
        uuid=uuid,
        parent=parent if isinstance(parent, str) else None,
        group=before.group if goes_on and before is not None else uuid,
        api_id=api_id,
        block=block if isinstance(block, int) else None,
        calls=_ids(blocks, "tool_use", "id"),
        # A mended result answers nothing anew: it stands for the entry that did.
        answers=_ids(blocks, "tool_result", "tool_use_id") if kind == "user" else (),
        replaces=entry.get("replaces") if entry.get("subtype") == "message_mended" else None,
        view=tuple(view) if isinstance(view, list) else None,
    )


def _ids(blocks: Sequence[Any], kind: str, key: str) -> tuple[str, ...]:
    return tuple(
        str(block[key])
        for block in blocks
        if isinstance(block, dict) and block.get("type") == kind and key in block
    )


# --- which lines count -----------------------------------------------------------------------


def _chain(rows: dict[str, _Row]) -> list[_Row]:
    """From the root, or the last compaction, to the tip; parallel calls and results included."""
    tip = rows[next(reversed(rows))]
    kept = {tip.uuid}
    parent = tip.parent
    while parent is not None and parent in rows and parent not in kept:
        kept.add(parent)
        parent = rows[parent].parent
    answered = {call for uuid in kept for call in rows[uuid].answers}
    # A walk over parents meets one result of a parallel round; its siblings fan out beside it.
    for row in rows.values():
        above = rows.get(row.parent) if row.parent is not None else None
        if row.uuid in kept or above is None or above.uuid not in kept:
            continue
        if row.type == "assistant" and row.group == above.group:
            kept.add(row.uuid)
        elif row.answers and above.calls and not answered.intersection(row.answers):
            kept.add(row.uuid)
            answered.update(row.answers)
    return [row for row in rows.values() if row.uuid in kept]


def _messages(
    file: IO[bytes],
    rows: Mapping[str, _Row],
    chain: Sequence[_Row],
    groups: Mapping[str, str],
    name: str,
    damage: list[str],
) -> tuple[Message, ...]:
    view = chain[0].view or ()
    wanted = set(view) - {row.group for row in chain}
    earlier = [row for row in rows.values() if row.group in wanted] if wanted else []
    found: dict[str, Message] = {}
    for message in _decoded(file, [*earlier, *chain], groups, name, damage):
        found.setdefault(message.id, message)
    order = [*view, *(row.group for row in chain)]
    history = {id_: found[id_] for id_ in order if id_ in found}
    mended = {row.replaces: row.uuid for row in chain if row.replaces and row.replaces in found}
    for old in mended.values():
        history.pop(old, None)  # it stands where the old one stood, not where it was written
    return _in_call_order((old, _standing(old, mended, found)) for old in history.values())


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
    file: IO[bytes],
    rows: Sequence[_Row],
    groups: Mapping[str, str],
    name: str,
    damage: list[str],
) -> Iterator[Message]:
    told = [row for row in rows if row.type in ("user", "assistant") or row.replaces]
    # Blocks of one reply may have another line between them; they belong together all the same.
    position = {row.group: index for index, row in reversed(list(enumerate(told)))}
    told.sort(key=lambda row: position[row.group])
    for group, parts in groupby(told, key=lambda row: row.group):
        try:
            yield message_of([_entry(file, row) for row in parts], groups)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            damage.append(f"{name}: entry {group} holds no message ({error}), left out")


def _entry(file: IO[bytes], row: _Row) -> dict[str, Any]:
    file.seek(row.offset)
    entry: dict[str, Any] = orjson.loads(file.read(row.length))
    return entry
