"""Histories as tests write them, random ones that a thinking model could have made, and rooms."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Sequence
from typing import Any

import orjson
from attrs import evolve
from hypothesis import strategies as st

from interlock.context.level import Level, Room, Trimmed
from interlock.model.request import Gate
from interlock.scripted import SignatureBook
from interlock.scripted.validate import problems
from interlock.testing import SequentialIds, Stage
from phases.world.limits import Limits
from phases.world.loop import Features, Loop
from phases.world.messages import (
    Block,
    Kind,
    Message,
    Origin,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    encoded,
)
from phases.world.ports import Request
from phases.world.usage import Usage

MODEL = "model-x"
THINKING = 2_000
_numbers = itertools.count(1)


def user(text: str, *, kind: Kind = Kind.PROMPT) -> Message:
    return Message(id=_fresh(), role="user", kind=kind, content=(Text(text),))


def says(*content: Block | str, counted: int = 0) -> Message:
    """A reply; `counted` is what the server says the request was long, in tokens."""
    usage = Usage(input_tokens=counted, output_tokens=0)
    origin = Origin(api_id="msg_1", model=MODEL, stop_reason=None, usage=usage)
    blocks = tuple(Text(one) if isinstance(one, str) else one for one in content)
    return Message(id=_fresh(), role="assistant", kind=Kind.REPLY, content=blocks, origin=origin)


def call(name: str = "Read", **arguments: str) -> ToolUse:
    return ToolUse(f"toolu_{next(_numbers)}", name, arguments)


def results(*answers: ToolResult, typed: str = "") -> Message:
    words = (Text(typed),) if typed else ()
    return Message(id=_fresh(), role="user", kind=Kind.RESULT, content=(*answers, *words))


def answer(asked: ToolUse, text: str = "done", *, is_error: bool = False) -> ToolResult:
    return ToolResult(asked.id, (Text(text),), is_error)


def round_(
    asked: ToolUse, text: str = "done", *, thinks: bool = False, counted: int = 0
) -> tuple[Message, Message]:
    """One turn: a reply with one call, and its result."""
    thought = (Thinking("hm", f"sig-{asked.id}"),) if thinks else ()
    return says(*thought, asked, counted=counted), results(answer(asked, text))


def rounds(count: int, text: str = "done", *, name: str = "Read") -> tuple[Message, ...]:
    """A prompt and so many turns of tools; the first reads file 1, and so on."""
    turns = (round_(call(name, file_path=f"src/{at}.py"), text) for at in range(1, count + 1))
    return (user("do it"), *itertools.chain.from_iterable(turns))


def loop_of(
    messages: tuple[Message, ...] = (),
    *,
    limits: Limits | None = None,
    features: Features | None = None,
    fixed: int = 100,
) -> Loop:
    stage = Stage(limits=limits or Limits(), features=features or Features(), fixed_tokens=fixed)
    loop = stage.loop(SequentialIds())
    return with_messages(loop, messages) if messages else loop


def with_messages(loop: Loop, messages: tuple[Message, ...]) -> Loop:
    return evolve(loop, state=evolve(loop.state, messages=messages))


def room(size: int = 0, *, freed: int = 0, limits: Limits | None = None) -> Room:
    return Room(loop=loop_of(limits=limits), size=size, freed=freed)


async def applied(level: Level, messages: tuple[Message, ...], where: Room) -> Trimmed:
    """Apply a level, and insist that in the room it made there is nothing left to do."""
    first = await level.apply(messages, where)
    again = await level.apply(first.messages, evolve(where, freed=where.freed + first.freed))
    assert again.messages is first.messages
    assert again.freed == 0
    return first


def _fresh() -> str:
    return str(uuid.UUID(int=next(_numbers)))


# --- the judge -------------------------------------------------------------------------------


def refused(messages: Sequence[Message], book: SignatureBook) -> tuple[str, ...]:
    """What the strict server has against a request with these messages, thinking on."""
    request = Request(model=MODEL, messages=tuple(messages), max_tokens=8_000)
    body = Gate(thinking_budget=THINKING).build(request).body
    return problems(orjson.loads(body), signatures=book)


def signed(messages: Sequence[Message]) -> SignatureBook:
    """The book of a server that has said all replies of `messages`."""
    book = SignatureBook()
    for message in messages:
        if message.role == "assistant":
            blocks: list[dict[str, Any]] = [
                orjson.loads(encoded(block.wire())) for block in message.content
            ]
            book.issue(MODEL, blocks)
    return book


# --- random ones -----------------------------------------------------------------------------

SIZES = st.sampled_from([1, 40, 3_000])


@st.composite
def sessions(draw: st.DrawFn) -> tuple[Message, ...]:
    """Prompts, each followed by rounds of tools, the last of which may still be open.

    Replies think or do not; results come one by one or together, with notes after them and
    words that were typed meanwhile; a reply may be a pause, which the next one continues.
    """
    messages: list[Message] = []
    for at in range(draw(st.integers(1, 4))):
        messages.append(user(f"prompt {at}"))
        for _ in range(draw(st.integers(0, 5))):
            messages += draw(_turns())
        if draw(st.booleans()):
            messages.append(says(*draw(_thoughts()), "that is it"))
    if messages[-1].role == "assistant":
        messages.append(user("and now?"))
    return tuple(messages)


@st.composite
def _turns(draw: st.DrawFn) -> list[Message]:
    asked = [call(draw(st.sampled_from(["Read", "Edit"]))) for _ in range(draw(st.integers(1, 3)))]
    if draw(st.integers(0, 5)) == 0:  # paused: what the next reply continues has the thinking
        messages = [says(*draw(_thoughts()), "wait"), says(*asked)]
    else:
        messages = [says(*draw(_thoughts()), *asked)]
    answers = [answer(one, "x" * draw(SIZES)) for one in asked]
    typed = draw(st.sampled_from(["", "", "typed with a result"]))
    if draw(st.booleans()):
        messages.append(results(*answers, typed=typed))
    else:
        messages += [results(one, typed=typed) for one in answers]
    if draw(st.booleans()):
        messages.append(user("a reminder", kind=Kind.NOTE))
    if draw(st.integers(0, 4)) == 0:
        messages.append(user("typed meanwhile"))
    return messages


@st.composite
def _thoughts(draw: st.DrawFn) -> list[Block]:
    if draw(st.booleans()):
        return []
    number = next(_numbers)
    thought: list[Block] = [Thinking(draw(st.sampled_from(["", "hm  \n"])), f"sig-{number}")]
    if draw(st.integers(0, 3)) == 0:
        thought.append(RedactedThinking(f"data-{number}"))
    return thought


def person_said(messages: Sequence[Message]) -> list[str]:
    """Every word a person typed, wherever it stands."""
    return [
        block.text
        for message in messages
        if message.role == "user" and message.kind in (Kind.PROMPT, Kind.RESULT)
        for block in message.content
        if isinstance(block, Text)
    ]
