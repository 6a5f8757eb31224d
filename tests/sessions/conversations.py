"""Messages to write down: some by hand, and any history a session could have."""

from __future__ import annotations

from uuid import UUID

from hypothesis import strategies as st

from phases.world.messages import (
    Block,
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
from phases.world.usage import Usage


def uuid(number: int) -> str:
    return str(UUID(int=(4 << 76) | (8 << 60) | number))


def prompt(number: int, text: str = "go on") -> Message:
    return Message(id=uuid(number), role="user", kind=Kind.PROMPT, content=(Text(text),))


def reply(number: int, *blocks: Block, stop_reason: str = "end_turn") -> Message:
    origin = Origin(
        api_id=f"msg_{number}",
        model="model-x",
        stop_reason=stop_reason,
        usage=Usage(input_tokens=27, output_tokens=47, cache_read_input_tokens=1000),
        request_id=f"req_{number}",
    )
    return Message(
        id=uuid(number), role="assistant", kind=Kind.REPLY, content=blocks, origin=origin
    )


def call(id_: str) -> ToolUse:
    return ToolUse(id_, "Bash", {"command": "true"})


def result(number: int, of: Message, call_id: str, text: str = "done") -> Message:
    content = (ToolResult(call_id, (Text(text),)),)
    return Message(id=uuid(number), role="user", kind=Kind.RESULT, content=content, source=of.id)


def summary(number: int, text: str = "so far") -> Message:
    return Message(id=uuid(number), role="user", kind=Kind.SUMMARY, content=(Text(text),))


# --- any history -----------------------------------------------------------------------------

_words = st.text(max_size=12)
_media = st.builds(
    Media, st.sampled_from(["image", "document"]), st.just("image/png"), st.just("aGk=")
)
_json = st.dictionaries(
    _words, st.none() | st.booleans() | st.integers(-(2**53), 2**53) | _words, max_size=3
)
_said = st.one_of(
    st.builds(Text, _words),
    st.builds(Thinking, _words, _words),
    st.builds(RedactedThinking, _words),
    st.builds(lambda raw: Opaque({"type": "server_tool_use", "raw": raw}), _json),
)
_parts = st.lists(st.builds(Text, _words) | _media, max_size=2).map(tuple)
_usage = st.builds(Usage, input_tokens=st.integers(0, 9), output_tokens=st.integers(0, 9))


@st.composite
def histories(draw: st.DrawFn) -> tuple[Message, ...]:
    """Prompts, replies with calls, results in the order of their calls, notes between."""
    found: list[Message] = []

    def next_id() -> str:
        return uuid(len(found) + 1)

    for _ in range(draw(st.integers(1, 4))):
        first = draw(st.sampled_from([Kind.PROMPT, Kind.NOTE, Kind.INTERRUPTION]))
        content = draw(st.lists(st.builds(Text, _words) | _media, min_size=1, max_size=2))
        found.append(Message(id=next_id(), role="user", kind=first, content=tuple(content)))
        for _ in range(draw(st.integers(0, 2))):
            found.append(_reply(draw, next_id()))
            answered = found[-1]
            for each in answered.calls:
                block = ToolResult(each.id, draw(_parts), draw(st.booleans()))
                if draw(st.booleans()):  # what loads tools says nothing else
                    block = ToolResult(each.id, (), loads=("mcp__a__b", "mcp__a__c"))
                found.append(
                    Message(
                        id=next_id(),
                        role="user",
                        kind=Kind.RESULT,
                        content=(block,),
                        source=answered.id,
                    )
                )
    return tuple(found)


def _reply(draw: st.DrawFn, id_: str) -> Message:
    said = draw(st.lists(_said, max_size=3))
    calls = [
        ToolUse(f"toolu_{id_}_{n}", "Bash", draw(_json), draw(st.none() | st.just("broken")))
        for n in range(draw(st.integers(0, 3)))
    ]
    origin = st.builds(
        Origin,
        api_id=st.sampled_from(["msg_a", "msg_b"]),  # proxies give one id to several replies
        model=st.just("model-x"),
        stop_reason=st.sampled_from(["end_turn", "tool_use", None]),
        usage=_usage,
        request_id=st.none() | st.just("req_1"),
    )
    return Message(
        id=id_,
        role="assistant",
        kind=Kind.REPLY,
        content=(*said, *calls),
        origin=draw(st.none() | origin),
    )
