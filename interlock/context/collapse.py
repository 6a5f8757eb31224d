"""Level 4 of 5: old rounds of tools, told in a few lines instead of shown.

A projection at read time: the transcript is not touched, the notes live in a store of their own
(collapse_store.py), and where they are in place already nothing changes. Only whole trajectories
vanish, so calls keep their results and thinking stays with its own (law 6). Asks no model: a
note says what is known anyway.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path

from attrs import define, field, frozen

from interlock.context.collapse_store import Collapsed, CollapseStore
from interlock.context.gauge import held
from interlock.context.level import Room, Trimmed
from interlock.context.microcompact import CLEARED, named
from interlock.context.trajectories import (
    KEPT,
    Trajectory,
    recent,
    same_until,
    trajectories,
    typed,
    without,
)
from phases.world.limits import Limits
from phases.world.messages import Message, ToolResult, ToolUse, derived_id
from phases.world.size import estimate

COLLAPSED = "[collapsed:"  # how each note begins

_ROUNDS = 8  # in one note at most
_CHUNK_SHARE = 0.1  # of the window: rounds as large as this get a note of their own
_LINES = 24  # of a note; a single trajectory can be hundreds of rounds long
_WORDS = 160  # characters of what the model said beside its calls
_ANSWER = 600  # of what it said without calls
_CALLS = 12  # named in one line


@frozen
class _Found:
    """What of the `staged` was found in a `view` (up to the last message that matters)."""

    view: tuple[Message, ...] = ()
    staged: Mapping[str, Collapsed] | None = None
    fitting: list[Collapsed] = field(factory=list)


@frozen(kw_only=True)
class Staging:
    """What is staged and committed, and how far the history was looked through."""

    staged: tuple[Collapsed, ...] = ()
    committed: tuple[Collapsed, ...] = ()
    left: tuple[Message, ...] = ()  # the history as it was left
    looked: int = 0
    next: str | None = None


class Collapses:
    """A level of the pipeline, and the port `phases.world.ports.Collapse`: one object for both.

    `path` is the store's file; None keeps the collapses for this process only.
    """

    name = "collapse"

    def __init__(self, path: Path | None) -> None:
        self._store = CollapseStore(path)
        self._last: tuple[Message, ...] = ()  # as it was left
        self._looked = 0  # how many of these were looked through for rounds; a gap, or 0
        self._next: str | None = None  # the id of the message there
        self._found = _Found()

    @property
    def memory(self) -> Staging:
        """What it goes by beside the loop."""
        return Staging(
            staged=tuple(self._store.staged.values()),
            committed=tuple(self._store.committed.values()),
            left=self._last,
            looked=self._looked,
            next=self._next,
        )

    def recall(self, memory: Staging) -> None:
        """For this process only: the store's file stays as it is."""
        self._store.staged = {one.covers[0]: one for one in memory.staged}
        self._store.committed = {one.covers[0]: one for one in memory.committed}
        self._last, self._looked, self._next = memory.left, memory.looked, memory.next

    async def apply(self, messages: tuple[Message, ...], room: Room) -> Trimmed:
        limits, size = room.loop.run.limits, held(room)
        view = self._projected(messages)
        freed = _difference(messages, view)
        if size - freed >= limits.collapse_stage_share * limits.context_window:
            waiting = self._stage(view, limits, all_=False)
            full = size - freed >= limits.collapse_commit_share * limits.context_window
            left = size - freed - (self._gain(view) + waiting if full else 0)
            # What is left must be written to the cache anew, which costs more than ten times what
            # reading it does. Where it is not far less than what goes, or the window would soon
            # be as full again, the next level writes one summary of it all.
            goes, stays = size - freed - left, left - room.loop.run.fixed_tokens
            worth = goes >= limits.collapse_worth * stays
            if full and worth and left < limits.collapse_stage_share * limits.context_window:
                # All at once: the prefix is lost with the first one as with the last.
                self._stage(view, limits, all_=True)
                view, _ = await self.drain(view)
                freed = _difference(messages, view)
        self._last = view
        return Trimmed(messages=view, freed=freed)

    def staged(self, view: tuple[Message, ...]) -> int:
        return len(self._fitting(view))

    async def drain(self, view: tuple[Message, ...]) -> tuple[tuple[Message, ...], int]:
        fitting = self._fitting(view)
        return (self._put(view, fitting), len(fitting)) if fitting else (view, 0)

    def _projected(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """What is committed, put in place where the history shows the whole, as on a resume."""
        same = same_until(self._last, messages)
        committed = self._store.committed
        hits = [committed[one.id] for one in messages[same:] if one.id in committed]
        whole = _whole(hits, messages) if hits else []
        return _replaced(messages, whole) if whole else messages

    def _stage(self, view: tuple[Message, ...], limits: Limits, *, all_: bool) -> int:
        """Write notes for old rounds; with `all_` also for those that could wait for more.

        The tokens of those that wait.
        """
        taken = {id_ for one in self._store.staged.values() for id_ in one.covers}
        end = recent(view, limits.collapse_keep_turns)
        for chunk in _chunks(view, self._place(view), end, taken):
            if not (all_ or chunk.closed or chunk.tokens >= _CHUNK_SHARE * limits.context_window):
                return chunk.tokens
            self._looked = chunk.rounds[-1].end
            self._next = view[self._looked].id
            made = _collapsed(view, chunk)
            if made is not None:
                self._store.stage(made)
        return 0

    def _gain(self, view: tuple[Message, ...]) -> int:
        """Tokens that a drain would free."""
        by_id = {message.id: message for message in view}
        return sum(_saving([by_id[id_] for id_ in one.covers], one) for one in self._fitting(view))

    def _place(self, view: Sequence[Message]) -> int:
        """Where to go on looking: the same message as last time, wherever it stands now."""
        if self._looked < len(view) and view[self._looked].id == self._next:
            return self._looked
        self._looked = next((at for at, one in enumerate(view) if one.id == self._next), 0)
        return self._looked

    def _put(self, view: tuple[Message, ...], chosen: Sequence[Collapsed]) -> tuple[Message, ...]:
        self._store.commit(chosen)
        self._last = _replaced(view, chosen)
        return self._last

    def _fitting(self, view: tuple[Message, ...]) -> list[Collapsed]:
        """What is staged and stands in `view` whole, in order; the rest is forgotten."""
        staged = self._store.staged
        if not staged:
            return []
        found = self._found
        if found.staged is staged and same_until(found.view, view) == len(found.view):
            return found.fitting  # asked each turn, of a view that only grows
        fitting = _whole(staged.values(), view)
        self._store.keep_staged(fitting)
        last = fitting[-1].covers[-1] if fitting else None
        end = next((at for at, one in enumerate(view) if one.id == last), -1)
        self._found = _Found(view[: end + 1], self._store.staged, fitting)
        return fitting


# --- which rounds ----------------------------------------------------------------------------


@define
class _Chunk:
    """Neighbouring rounds of tools that get one note."""

    rounds: list[Trajectory] = field(factory=list)
    tokens: int = 0
    closed: bool = False  # nothing can join it


def _chunks(view: Sequence[Message], start: int, end: int, taken: Set[str]) -> Iterator[_Chunk]:
    """The rounds between `start` and `end`, those `taken` left out. The last may be open."""
    chunk = _Chunk()
    for one in trajectories(view, start, end):
        # Without calls it is an answer, which stays.
        wanted = one.has_calls and view[one.start].id not in taken
        joins = chunk.rounds and wanted and one.start == chunk.rounds[-1].end
        if chunk.rounds and (not joins or len(chunk.rounds) == _ROUNDS):
            chunk.closed = True
            yield chunk
            chunk = _Chunk()
        if wanted:
            chunk.rounds.append(one)
            chunk.tokens += sum(map(estimate, view[one.start : one.end]))
    if chunk.rounds:
        yield chunk


def _collapsed(view: Sequence[Message], chunk: _Chunk) -> Collapsed | None:
    """The note for a chunk, or None where it would save nothing."""
    rounds = [view[one.start : one.end] for one in chunk.rounds]
    members = [message for one in rounds for message in one if message.kind not in KEPT]
    made = Collapsed(
        id=derived_id(members[0].id, "collapse"),
        covers=tuple(message.id for message in members),
        text=_story(rounds),
    )
    return made if _saving(members, made) > 0 else None


def _saving(members: Iterable[Message], made: Collapsed) -> int:
    left = [made.mark, *(words for one in members if (words := typed(one)) is not None)]
    return sum(map(estimate, members)) - sum(map(estimate, left))


def _difference(messages: Sequence[Message], view: Sequence[Message]) -> int:
    """Estimated tokens that `view` has less."""
    if view is messages:
        return 0
    return sum(map(estimate, messages)) - sum(map(estimate, view))


def _whole(collapses: Iterable[Collapsed], view: Sequence[Message]) -> list[Collapsed]:
    """Those of which `view` shows all messages, side by side, in the order of their places."""
    places = {message.id: at for at, message in enumerate(view)}
    found: dict[int, Collapsed] = {}
    for one in collapses:
        at = [places[id_] for id_ in one.covers if id_ in places]
        if len(at) != len(one.covers) or at != sorted(at):
            continue
        between = set(range(at[0], at[-1])) - set(at)
        if all(view[place].kind in KEPT for place in between):
            found[at[0]] = one
    return [found[at] for at in sorted(found)]


def _replaced(view: Sequence[Message], chosen: Sequence[Collapsed]) -> tuple[Message, ...]:
    gone = {id_ for one in chosen for id_ in one.covers}
    return without(view, gone, {one.covers[0]: one.mark for one in chosen})


# --- what the note says ----------------------------------------------------------------------


def _story(rounds: Sequence[Sequence[Message]]) -> str:
    """Each reply in one line: what it said, what it called, and how that ended."""
    messages = [message for one in rounds for message in one]
    answers = {
        block.tool_use_id: block
        for message in messages
        for block in message.content
        if isinstance(block, ToolResult)
    }
    replies = [one for one in messages if one.role == "assistant"]
    early, late = replies[:-_LINES], replies[-_LINES:]
    head = (
        f"{COLLAPSED} {len(replies)} replies with their calls of tools, to make room. What was "
        "done, in order; run a tool again if you need what it said.]"
    )
    lines = [head]
    if early:
        calls = Counter(call.name for one in early for call in one.calls)
        many = ", ".join(f"{name} {count} times" for name, count in calls.most_common(_CALLS))
        lines.append(f"- {len(early)} replies before these called {many}")
    lines += [f"- {words}" for one in late if (words := _line(one, answers))]
    return "\n".join(lines)


def _line(reply: Message, answers: Mapping[str, ToolResult]) -> str:
    said = " ".join(reply.text.split())
    room = _WORDS if reply.calls else _ANSWER
    parts = [f'"{said if len(said) <= room else said[:room] + "…"}"'] if said else []
    parts += [_outcome(call, answers.get(call.id)) for call in reply.calls[:_CALLS]]
    if len(reply.calls) > _CALLS:
        parts.append(f"and {len(reply.calls) - _CALLS} more calls")
    return "; ".join(parts)


def _outcome(call: ToolUse, answer: ToolResult | None) -> str:
    if answer is None:
        return named(call)
    text = answer.text
    size = "" if text.startswith(CLEARED) else f", {len(text):,} characters"
    return f"{named(call)}: {'error' if answer.is_error else 'ok'}{size}"
