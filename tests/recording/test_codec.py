"""Values of ports go into a recording and come back, with nothing lost."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from interlock.recording.codec import Pool
from phases.world.failures import Failure, FailureKind, RefusedBlock
from phases.world.loop import NEVER_COMPACTED, Reply
from phases.world.messages import (
    Kind,
    Media,
    Message,
    Opaque,
    Origin,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from phases.world.outcomes import Freed
from phases.world.ports import Caption, Failed, Mend, Mended, Piped, RawEvent, Replied, Summarised
from phases.world.usage import Usage

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.floats(allow_nan=False, allow_infinity=False, width=32)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=5,
)
TEXTS = st.text(st.characters(codec="utf-8"))
OBJECTS = st.dictionaries(TEXTS, JSON, max_size=3)
PARTS = st.builds(Text, TEXTS) | st.builds(
    Media, st.sampled_from(["image", "document"]), TEXTS, TEXTS
)
BLOCKS = st.one_of(
    PARTS,
    st.builds(Text, TEXTS, st.lists(JSON, max_size=2).map(tuple)),
    st.builds(Thinking, TEXTS, TEXTS),
    st.builds(RedactedThinking, TEXTS),
    st.builds(ToolUse, TEXTS, TEXTS, OBJECTS, st.none() | TEXTS),
    st.builds(ToolResult, TEXTS, st.lists(PARTS, max_size=2).map(tuple), st.booleans()),
    st.builds(Opaque, OBJECTS),
)
MESSAGES = st.builds(
    Message,
    id=st.sampled_from("abc"),  # few, so that one id stands for several contents
    role=st.sampled_from(["user", "assistant"]),
    kind=st.sampled_from(Kind),
    content=st.lists(BLOCKS, max_size=3).map(tuple),
    origin=st.none()
    | st.builds(
        Origin,
        api_id=TEXTS,
        model=TEXTS,
        stop_reason=st.none(),
        usage=st.builds(Usage, input_tokens=st.integers(0, 9)),
    ),
)
VIEWS = st.lists(MESSAGES, max_size=5).map(tuple)


def there_and_back(value: Any) -> Any:
    """Through the bytes of a file, into the pool of somebody who has only that."""
    said: list[Any] = []
    there, back = Pool(added=lambda _, message: said.append(message)), Pool()
    encoded = orjson.loads(orjson.dumps(there.encoded(value)))
    for message in orjson.loads(orjson.dumps(said)):
        back.add(message)
    assert back.messages == there.messages
    is_event = isinstance(encoded, dict) and "is" in encoded
    return back.event(encoded) if is_event else back.decoded(encoded, type(value))


@given(VIEWS)
def test_a_view_comes_back_whole_and_each_message_is_written_once(view: Any) -> None:
    said: list[Any] = []
    there, back = Pool(added=lambda _, message: said.append(message)), Pool()
    runs = [there.encoded(each) for each in (view, view, view[1:])]
    for message in said:
        back.add(message)

    assert [back.listed(each) for each in runs] == [view, view, view[1:]]
    assert len(said) == sum(each not in view[:at] for at, each in enumerate(view))


@given(MESSAGES, TEXTS)
def test_a_reply_comes_back_whole(message: Message, text: str) -> None:
    reply = Reply(message=message, stop_reason=text, calls=("a",), cut_calls=())
    replied = Replied(reply=reply, usage=Usage(output_tokens=1), cost=None)

    assert there_and_back(replied) == replied


FAILURE = Failure(
    kind=FailureKind.OVERLOADED,
    message="no",
    retry_after=1,  # as a server may say it: it must not become 1.0
    refused=RefusedBlock(message_id="m", block=0),
    beside=(RefusedBlock(message_id="m", block=1, told=True),),
)
VIEW = (Message(id="a", role="user", kind=Kind.NOTE, content=(Text("x"),)),)


@pytest.mark.parametrize(
    "value",
    [
        Failed(failure=FAILURE, usage=Usage(), cost=0.5),
        RawEvent({"type": "ping", "deep": [{"x": None}]}),
        Caption(text="Read two files", cost=None, tokens=3),
        Piped(view=VIEW, size=7, tracking=NEVER_COMPACTED, freed=(Freed(level="snip", tokens=1),)),
        Summarised(view=VIEW, problem=None),
        Summarised(view=None, problem="no"),
        Mended(messages=VIEW, mends=(Mend(message_id="a", what="w"),)),
    ],
)
def test_each_value_comes_back_equal_and_of_the_same_types(value: Any) -> None:
    back = there_and_back(value)

    assert back == value
    assert repr(back) == repr(value)


def test_a_message_that_changed_under_its_id_is_another_one() -> None:
    pool = Pool()
    first, cleared = VIEW[0], evolve(VIEW[0], content=(Text("(cleared)"),))

    runs = [pool.encoded((each,)) for each in (first, cleared, first)]

    assert runs == [[[0, 1]], [[1, 1]], [[0, 1]]]
