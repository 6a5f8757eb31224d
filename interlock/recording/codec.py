"""What ports are given and give, as JSON and back, with nothing lost.

Each message stands in a recording once, under a number; a view is the runs of numbers it is made
of, so that a recording grows with the run and not with its square.
"""

from __future__ import annotations

from collections.abc import Callable
from types import UnionType
from typing import Any, get_args
from weakref import ref

from attrs import define, field, frozen
from cattrs import Converter
from cattrs.gen import make_dict_unstructure_fn

from phases.world.messages import (
    Media,
    Message,
    Opaque,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from phases.world.ports import (
    Begun,
    CallFinished,
    Failed,
    RawEvent,
    Replied,
    TextDelta,
    ThinkingDelta,
)

Json = Any
Messages = tuple[Message, ...]

_BLOCKS: dict[str, type] = {
    each.__name__: each
    for each in (Text, Thinking, RedactedThinking, ToolUse, ToolResult, Media, Opaque)
}
_PLAIN = frozenset({str, int, float, bool})
_EVENTS: dict[str, type] = {
    each.__name__: each
    for each in (Begun, TextDelta, ThinkingDelta, RawEvent, CallFinished, Replied, Failed)
}


@frozen
class _Whole:
    message: Message


Held = Callable[[], Message | None]


def _held(message: Message) -> Held:
    return lambda: message


@define
class Pool:
    """Messages by number, and the values that name them so. `added` is told each new one.

    The same pool writes and reads: what a player makes itself can be held against what is there.
    """

    added: Callable[[int, Json], None] | None = None
    messages: list[Message | None] = field(factory=list)
    _numbers: dict[str, list[tuple[int, Held]]] = field(factory=dict)
    _lately: tuple[Messages, tuple[tuple[int, int], ...]] = ((), ())
    _hold: Callable[[Message], Held] = _held
    _converter: Converter = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._converter = _converter(self)

    @classmethod
    def writing(cls) -> Pool:
        """One that keeps no message alive: what a long run has let go of cannot come again."""
        return cls(hold=ref)

    def forget_what_is_gone(self) -> None:
        """Of messages that nobody holds any more the numbers are of no use."""
        numbers = {
            id_: [each for each in known if each[1]() is not None]
            for id_, known in self._numbers.items()
        }
        self._numbers = {id_: known for id_, known in numbers.items() if known}

    def add(self, said: Json) -> None:
        """The next message of a recording."""
        self._put(self._converter.structure(said, _Whole).message)

    def encoded(self, value: object) -> Json:
        """A value of a port, or several messages, as JSON."""
        if value is None or type(value) in _PLAIN:
            return value
        if isinstance(value, tuple) and all(isinstance(each, Message) for each in value):
            return self.runs(value)
        said = self._converter.unstructure(value)
        return {"is": type(value).__name__, **said} if type(value) in _EVENTS.values() else said

    def decoded(self, said: Json, kind: Any) -> Any:
        """The value of this kind that `said` was made from. Raises ValueError."""
        try:
            return self._converter.structure(said, kind)
        except Exception as error:  # cattrs raises whatever the first wrong value leads to
            name = getattr(kind, "__name__", str(kind))
            raise ValueError(f"holds no {name} of this version: {error!r}") from error

    def event(self, said: Json) -> Any:
        """An event of a model's stream."""
        kind = _EVENTS.get(said.get("is", "")) if isinstance(said, dict) else None
        if kind is None:
            raise ValueError("holds an event of a stream that is unknown here")
        return self.decoded(said, kind)

    # --- messages ----------------------------------------------------------------------------

    def number(self, message: Message) -> int:
        for number, held in reversed(self._numbers.get(message.id, ())):
            one = held()
            if one is message or (one is not None and one == message):
                return number
        number = self._put(message)
        if self.added is not None:
            self.added(number, self._converter.unstructure(_Whole(message)))
        return number

    def _put(self, message: Message) -> int:
        number = len(self.messages)
        held = self._hold(message)
        self.messages.append(message if self._hold is _held else None)
        self._numbers.setdefault(message.id, []).append((number, held))
        return number

    def runs(self, messages: Messages) -> Json:
        # A view is most often the one before with something behind it. Tuples compare by identity
        # first, so to see that costs next to nothing however long it is.
        known, lately = self._lately
        same = len(known) if messages[: len(known)] == known else 0
        runs = [[first, count] for first, count in lately] if same else []
        for message in messages[same:]:
            number = self.number(message)
            if runs and number == runs[-1][0] + runs[-1][1]:
                runs[-1][1] += 1
            else:
                runs.append([number, 1])
        self._lately = messages, tuple((first, count) for first, count in runs)
        return runs

    def listed(self, runs: Json) -> Messages:
        found: list[Message] = []
        for first, count in runs:
            some = self.messages[first : first + count]
            if len(some) != count or first < 0:
                raise ValueError(f"names messages {first} to {first + count}: not all are there")
            found += [message for message in some if message is not None]
        return tuple(found)


def _converter(pool: Pool) -> Converter:
    """With a message as its number; `_WHOLE` stands for one that is written in full."""
    whole = Converter(
        omit_if_default=True,
        unstruct_collection_overrides={tuple: list},
        detailed_validation=False,
    )
    # With its defaults: what a run began with counts as of its day.
    numbered = whole.copy(omit_if_default=False)
    for name, block in _BLOCKS.items():
        whole.register_unstructure_hook(block, _naming(name, block, whole))
        numbered.register_unstructure_hook(block, _naming(name, block, whole))
    for each in (whole, numbered):
        # As it was written: 1 is not 1.0 in a trace.
        each.register_structure_hook(float, lambda said, _: said)
        each.register_structure_hook_func(_is_block, lambda said, _: _block(said, whole))
    numbered.register_unstructure_hook_func(_are_messages, pool.runs)
    numbered.register_structure_hook_func(_are_messages, lambda said, _: pool.listed(said))
    numbered.register_unstructure_hook(Message, pool.number)
    numbered.register_structure_hook(Message, lambda said, _: pool.listed([[said, 1]])[0])
    numbered.register_unstructure_hook(_Whole, lambda held: whole.unstructure(held.message))
    numbered.register_structure_hook(
        _Whole, lambda said, _: _Whole(whole.structure(said, Message))
    )
    return numbered


def _are_messages(kind: Any) -> bool:
    return bool(kind == Messages)


def _is_block(kind: Any) -> bool:
    return isinstance(kind, UnionType) and set(get_args(kind)) <= set(_BLOCKS.values())


def _naming(name: str, block: type, converter: Converter) -> Callable[[Any], Json]:
    fields: Callable[[Any], Json] = make_dict_unstructure_fn(
        block, converter, _cattrs_omit_if_default=True
    )
    return lambda value: {"is": name, **fields(value)}


def _block(said: Json, converter: Converter) -> Any:
    return converter.structure(said, _BLOCKS[said["is"]])
