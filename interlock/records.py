"""Outcomes and loops as JSON for the trace, and back; and what a step changed, by name.

A trace decides everything again but holds nothing that was said: a message is reduced to its id,
role, kind and the shape of its blocks. Its content is in the transcript, under the same id. A
view is written as what it takes over from the loop before it, so that a trace grows with the
run and not with its square.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar, cast

import attrs
from attrs import define, evolve
from cattrs import Converter

from fsm import Machine, Record, Trace, decide
from interlock.table import LOOP
from phases.world.failures import Failure
from phases.world.loop import Loop, Reply
from phases.world.messages import (
    Block,
    Kind,
    Message,
    Opaque,
    RedactedThinking,
    Text,
    Thinking,
    ToolUse,
    is_blank,
)
from phases.world.outcomes import Compacted, Drained, Outcome, Prepared
from phases.world.states import State

Json = Any
T = TypeVar("T")
Messages = tuple[Message, ...]

_OUTCOMES: dict[str, type[Outcome]] = {edge.outcome.__name__: edge.outcome for edge in LOOP.edges}


def payload(outcome: Outcome, known: Loop | None = None) -> Json:
    """`outcome` as JSON. `known` is the loop it was told to: views then name what they share."""
    view = getattr(outcome, "view", None)
    base = None if known is None else _base(type(outcome), known)
    if view is None or base is None:
        whole: dict[str, Json] = _converter.unstructure(outcome)
        return whole
    # Without its view first: that alone would cost as much as the whole history, each turn.
    said: dict[str, Json] = _converter.unstructure(evolve(cast(Any, outcome), view=()))
    said["view"] = {"of": len(base), "is": list(_shared(view, base))}
    return said


def outcome(type_name: str, payload: Json, known: Loop | None = None) -> Outcome:
    """The outcome that `payload` was made from, its messages blank.

    `known` as in `payload`; from a trace, see `steps_of`. Raises ValueError for what no outcome
    of this version can be.
    """
    kind = _OUTCOMES.get(type_name)
    if kind is None:
        raise ValueError(f"no outcome is called {type_name}")
    shared = payload.get("view") if isinstance(payload, dict) else None
    if not isinstance(shared, dict):
        return _structured(payload, kind)
    base = None if known is None else _base(kind, known)
    if base is None or len(base) != shared.get("of"):
        raise ValueError(f"the view of this {type_name} rests on another loop")
    # Without its view first, as in `payload`: what it shares with the loop is there already.
    bare: Any = _structured(payload | {"view": []}, kind)
    try:
        view = tuple(_whole(shared["is"], base))
    except (KeyError, TypeError) as error:
        raise ValueError(f"the view of this {type_name} is no list of messages") from error
    made: Outcome = evolve(bare, view=view)
    return made


def start(loop: Loop) -> Json:
    """The loop in which a run begins, for the header of its trace."""
    return _whole_values.unstructure(loop)


def loop_from(start: Json) -> Loop:
    """The loop that `start` was made from, its messages blank. Raises ValueError."""
    return _structured(start, Loop)


def steps_of(trace: Trace, machine: Machine[Loop] = LOOP) -> Iterator[tuple[Record, Outcome]]:
    """The records of `trace` with their outcomes, for `fsm.replay`.

    `machine` is the one that made the trace: it builds the loops that views rest on. Ends before
    the first record that is missing, and where it cannot go on, which is where any replay would
    have diverged. Raises ValueError.
    """
    loop = loop_from(trace.header.start)
    for record in trace.known:
        told = outcome(record.outcome, record.payload, loop)
        yield record, told
        try:
            loop = decide(machine, State(record.source), loop, told).after
        except Exception:  # a guard or reducer under change may raise anything; replay says so
            return


@define
class Readable:
    """The steps of a trace up to the first that cannot be read, whatever is the matter with it."""

    trace: Trace
    problem: str | None = None  # what was the matter, once all others were given out

    def __iter__(self) -> Iterator[tuple[Record, Outcome]]:
        try:
            yield from steps_of(self.trace)
        except ValueError as error:
            self.problem = str(error)
            return
        if len(self.trace.known) < self.trace.steps:
            self.problem = "it cannot be read"


def loops_of(trace: Trace, machine: Machine[Loop] = LOOP) -> Iterator[tuple[Record, Loop, Loop]]:
    """Each record with the loop before it and the one after, messages blank, up to the first
    record that is missing.

    Raises ValueError, also where `machine` decides otherwise than the record says.
    """
    loop = loop_from(trace.header.start)
    for record in trace.known:
        told = outcome(record.outcome, record.payload, loop)
        step = decide(machine, State(record.source), loop, told)
        if step.edge.destination.value != record.destination:
            raise ValueError(f"step {record.sequence} would not lead to {record.destination}")
        yield record, loop, step.after
        loop = step.after


def changes(before: Loop, after: Loop) -> dict[str, Json]:
    """What differs, by dotted name: `[old, new]`, and for messages their ids and numbers.

    `added` are the ids the field did not hold before (the view: nor the history), `removed` how
    many it lost, `count` how many it holds.
    """
    found: dict[str, Json] = {}
    for part in ("run", "state", "spent", "now"):
        _compare(part, getattr(before, part), getattr(after, part), found, before)
    return found


# --- what changed ----------------------------------------------------------------------------


def _compare(name: str, old: Any, new: Any, found: dict[str, Json], before: Loop) -> None:
    if old is new:
        return
    if _are_messages(old) or _are_messages(new):
        if name == "now.view" and not old:
            _count(name, before.state.messages, new or (), found, held=0)
        else:
            _count(name, old or (), new or (), found, held=len(old or ()))
    elif attrs.has(type(old)) and type(old) is type(new) and not isinstance(old, Reply | Failure):
        for each in attrs.fields(type(old)):
            was, now = getattr(old, each.name), getattr(new, each.name)
            if was is not now:  # nearly always: the rest is handed on as it is
                _compare(f"{name}.{each.name}", was, now, found, before)
    elif old != new:
        found[name] = [_brief(old), _brief(new)]


def _count(name: str, old: Messages, new: Messages, found: dict[str, Json], held: int) -> None:
    kept = _common(old, new)
    if kept == len(old) == len(new) == held:
        return
    if kept == len(old):
        added, gone = new[kept:], 0
    elif kept == len(new):
        added, gone = (), len(old) - kept
    else:
        ids, now = {message.id for message in old}, {message.id for message in new}
        added = tuple(message for message in new[kept:] if message.id not in ids)
        gone = sum(message.id not in now for message in old[kept:])
    found[name] = {
        "added": [message.id for message in added],
        "removed": gone if held else 0,
        "count": len(new),
    }


def _common(old: Messages, new: Messages) -> int:
    """How many messages both begin with, by id; nearly always the whole of the shorter one."""
    most = min(len(old), len(new))
    if old[:most] == new[:most]:  # the very same messages cost a pointer each
        return most
    pairs = zip(old, new, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if not _same(one, other)), most)


def _same(one: Message, other: Message) -> bool:
    return one is other or one.id == other.id


def _are_messages(value: object) -> bool:
    return isinstance(value, tuple) and bool(value) and isinstance(value[0], Message)


def _brief(value: Any) -> Json:
    """A value as a trace may tell it: content becomes an id, a kind or a length."""
    match value:
        case Reply():
            return value.message.id
        case Failure():
            return value.kind.value
        case str() if len(value) > 120:
            return f"({len(value)} characters)"
    return _converter.unstructure(value)


# --- views -----------------------------------------------------------------------------------


def _base(kind: type[Outcome], known: Loop) -> Messages | None:
    if issubclass(kind, Prepared):
        return known.state.messages
    if issubclass(kind, Drained | Compacted):
        return known.now.view
    return None


def _shared(view: Messages, base: Messages) -> Iterator[Json]:
    """Runs of `base` as [first, how many], and between them what it does not hold."""
    most = min(len(view), len(base))
    if view[:most] == base[:most]:  # the very same messages cost a pointer each
        kept = most
    else:
        pairs = zip(view, base, strict=False)
        kept = next((at for at, pair in enumerate(pairs) if not _alike(*pair)), most)
    if kept:
        yield [0, kept]
    rest = view[kept:]
    place = {message.id: index for index, message in enumerate(base)} if rest else {}
    first, count = 0, 0
    for message in rest:
        at = place.get(message.id)
        if at is not None and not _alike(message, base[at]):
            at = None
        if at is not None and count and at == first + count:
            count += 1
            continue
        if count:
            yield [first, count]
            count = 0
        if at is None:
            yield _converter.unstructure(message)
        else:
            first, count = at, 1
    if count:
        yield [first, count]


def _whole(shared: list[Json], base: Messages) -> Iterator[Message]:
    for each in shared:
        if isinstance(each, list):
            first, count = each
            yield from base[first : first + count]
        else:
            yield _structured(each, Message)


def _alike(one: Message, other: Message) -> bool:
    return one is other or (one.id == other.id and _shape(one) == _shape(other))


# --- the converter ---------------------------------------------------------------------------

_converter = Converter(
    omit_if_default=True, unstruct_collection_overrides={tuple: list}, detailed_validation=False
)

# One letter per block: enough to tell which messages a reducer drops, and nothing of what is said.
_LETTERS: tuple[tuple[type[Block], str], ...] = (
    (Thinking, "h"),
    (RedactedThinking, "r"),
    (ToolUse, "u"),
)
_BLANK: Mapping[str, Block] = {
    "b": Text(""),
    "h": Thinking("", ""),
    "r": RedactedThinking(""),
    "u": ToolUse("", "", {}),
    "x": Opaque({"type": "x"}),
}


def _shape(message: Message) -> str:
    return "".join(
        "b" if is_blank(block) else next((a for t, a in _LETTERS if isinstance(block, t)), "x")
        for block in message.content
    )


def _message_json(message: Message) -> Json:
    return {
        "id": message.id,
        "role": message.role,
        "kind": message.kind.value,
        "blocks": len(message.content),
        "shape": _shape(message),
    }


def _message_from(said: Json, _: object) -> Message:
    return Message(
        id=said["id"],
        role=said["role"],
        kind=Kind(said["kind"]),
        content=tuple(_BLANK.get(letter, _BLANK["x"]) for letter in said["shape"]),
    )


def _reply_json(reply: Reply) -> Json:
    said = {
        "message": _message_json(reply.message),
        "stop_reason": reply.stop_reason,
        "calls": list(reply.calls),
        "cut_calls": list(reply.cut_calls),
        "ids": [call.id for call in reply.message.calls],  # in the order of the blocks
    }
    if reply.message.origin is not None:
        usage = reply.message.origin.usage
        said["usage"] = {"in": usage.prompt_tokens, "out": usage.output_tokens}
    return said


def _reply_from(said: Json, _: object) -> Reply:
    message = _message_from(said["message"], None)
    ids = iter(said["ids"])
    content = tuple(
        ToolUse(next(ids), "", {}) if isinstance(block, ToolUse) else block
        for block in message.content
    )
    return Reply(
        message=evolve(message, content=content),
        stop_reason=said["stop_reason"],
        calls=tuple(said["calls"]),
        cut_calls=tuple(said["cut_calls"]),
    )


_converter.register_unstructure_hook(Message, _message_json)
_converter.register_structure_hook(Message, _message_from)
_converter.register_unstructure_hook(Reply, _reply_json)
_converter.register_structure_hook(Reply, _reply_from)


# A loop is written with its defaults: an old trace must replay under the limits of its day.
_whole_values = _converter.copy(omit_if_default=False)


def _structured(said: Json, kind: type[T]) -> T:
    if not isinstance(said, dict):  # a list or a string would pass where all has a default
        raise ValueError(f"no {kind.__name__} of this version: it is no JSON object")
    try:
        return _converter.structure(said, kind)
    except Exception as error:  # cattrs raises whatever the first wrong value leads to
        raise ValueError(f"no {kind.__name__} of this version: {error!r}") from error
