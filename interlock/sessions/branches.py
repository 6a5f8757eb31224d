"""The branches inside one transcript, as a tree: where each begins, and how it went on.

Lines that hang on one parent are no branches yet: a reply has a line for each of its blocks, and
the results of parallel calls hang each on its own call. So the lines of one round, a reply with
all its results, are one place here, and a branch is what hangs on a place that has several.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from attrs import define, field, frozen

from interlock.errors import TranscriptError
from interlock.regular_files import open_regular
from interlock.sessions.ends import one_line, prompt_of
from interlock.sessions.rows import Damage, Row, Rows, all_rows, entry_at, groups_of

_PROMPT = 200  # characters: a tree tells of prompts, and may be of thousands


@frozen(kw_only=True)
class Part:
    """Messages one after another, up to where branches begin; `parts` are these branches."""

    prompts: tuple[str, ...]  # what was said in it, each as one line
    messages: int
    first: str  # the uuid of its first line
    last: str  # of its last message: to go on from there again
    began: str | None  # time stamps, as they stand there
    ended: str | None
    goes_on: bool  # what is said next is said here, or in one of its branches
    holds: frozenset[str]  # the uuids of all its lines: what other sessions may hang on
    parts: tuple[Part, ...] = ()


@frozen(kw_only=True)
class Family:
    """One transcript: what was said in it, and which message of another session it began with."""

    parts: tuple[Part, ...]
    copied: int = 0  # prompts that were said in the session it is a branch of
    copied_up_to: str | None = None  # the uuid that the last one copied has there


def family_of(path: Path) -> Family:
    """Read the branches of the transcript at `path`. Raises TranscriptError."""
    damage: list[Damage] = []
    try:
        with open_regular(path) as file:
            rows = all_rows(file, damage)
            return _family(file, rows) if rows else Family(parts=())
    except OSError as error:
        raise TranscriptError(str(path), f"cannot be read: {error.strerror or error}") from error


@define
class _Place:
    """A prompt, or a reply with its results: all that branches hang on as one."""

    rows: list[Row] = field(factory=list)
    after: list[_Place] = field(factory=list)


def _family(file: IO[bytes], rows: Rows) -> Family:
    copied = [row for row in rows.values() if row.copied is not None]
    own = {uuid: row for uuid, row in rows.items() if row.copied is None}
    roots, places = _places(rows, own) if own else ([], {})
    teller = _Teller(file, groups_of(rows), places.get(list(rows)[-1]))
    return Family(
        parts=tuple(teller.part(root) for root in roots),
        copied=sum(prompt_of(entry_at(file, row)) is not None for row in copied),
        copied_up_to=copied[-1].copied if copied else None,
    )


def _places(rows: Rows, own: Mapping[str, Row]) -> tuple[list[_Place], dict[str, _Place]]:
    """The places that nothing is above, in the order of the file; and where each line belongs."""
    groups = groups_of(rows)
    roots: list[_Place] = []
    found: dict[str, _Place] = {}
    before: Row | None = None
    last = list(rows)[-1]
    for row in own.values():
        above = _above(row, rows, own, before)
        before = row
        place = found.get(above.uuid) if above is not None else None
        if place is None or not (_within(row, above, groups) or _link(row, row.uuid == last)):
            new = _Place()
            (roots if place is None else place.after).append(new)
            place = new
        place.rows.append(row)
        found[row.uuid] = place
    return roots, found


def _above(row: Row, rows: Rows, own: Mapping[str, Row], before: Row | None) -> Row | None:
    """What a line hangs on, also across a compaction; where that is damaged, the line before.

    What hangs on a copied line begins anew here.
    """
    parent = row.parent or row.follows
    if parent is None or (parent in rows and parent not in own):
        return None
    return own.get(parent, before)


def _within(row: Row, above: Row | None, groups: Mapping[str, str]) -> bool:
    """Whether a line belongs to the round that the line above it belongs to."""
    if above is None:
        return False
    if row.type == "assistant":
        return groups[row.uuid] == groups.get(above.uuid)
    return bool(row.answers) and above.type == "assistant"


def _link(row: Row, last: bool) -> bool:
    """Whether a line holds no message. The last one may say where the session goes on from."""
    return not row.told and not last


@frozen
class _Teller:
    """Makes parts of places, and reads only what is to be told of them."""

    file: IO[bytes]
    groups: Mapping[str, str]
    tip: _Place | None

    def part(self, place: _Place) -> Part:
        run = [place]
        while len(run[-1].after) == 1:
            run += run[-1].after
        parts = tuple(self.part(each) for each in run[-1].after)
        rows = [row for each in run for row in each.rows]
        said: list[str] = []
        stamps: dict[str, str | None] = {}
        for row in self._wanted(rows):
            entry = entry_at(self.file, row)  # large ones too: none is kept
            words = prompt_of(entry)
            if words is not None:
                said.append(one_line(words, _PROMPT))
            stamps[row.uuid] = _stamp(entry)
        return Part(
            prompts=tuple(said),
            messages=len({self.groups[row.uuid] for row in rows if row.told}),
            first=rows[0].uuid,
            last=next((row.uuid for row in reversed(rows) if row.told), rows[-1].uuid),
            began=stamps[rows[0].uuid],
            ended=stamps[rows[-1].uuid],
            holds=frozenset(row.uuid for row in rows),
            goes_on=any(each is self.tip for each in run) or any(each.goes_on for each in parts),
            parts=parts,
        )

    def _wanted(self, rows: Sequence[Row]) -> Iterable[Row]:
        for row in rows:
            may_be_prompt = row.type == "user" and not row.answers and not row.summary
            if may_be_prompt or row in (rows[0], rows[-1]):
                yield row


def _stamp(entry: Mapping[str, Any]) -> str | None:
    stamp = entry.get("timestamp")
    return stamp if isinstance(stamp, str) else None
