"""Models that think as they see fit: no budget is sent, and their thinking goes back whole."""

from __future__ import annotations

from uuid import UUID

import orjson

from interlock.model.prices import facts, price
from interlock.model.request import Gate
from phases.world.messages import Block, Kind, Message, Text, Thinking, ToolResult, ToolUse
from phases.world.ports import Request
from phases.world.usage import Usage

ADAPTIVE, OLDER = "claude-sonnet-5-5", "claude-haiku-4-5"


def messages(*turns: tuple[str, tuple[Block, ...]]) -> tuple[Message, ...]:
    return tuple(
        Message(
            id=str(UUID(int=number)),
            role="assistant" if role == "assistant" else "user",
            kind=Kind.REPLY if role == "assistant" else Kind.PROMPT,
            content=content,
        )
        for number, (role, content) in enumerate(turns)
    )


# It thought before the first call, and saw no need to before the second.
HISTORY = messages(
    ("user", (Text("do it"),)),
    ("assistant", (Thinking("hm", "signed"), ToolUse("toolu_1", "Read", {}))),
    ("user", (ToolResult("toolu_1", (Text("one"),)),)),
    ("assistant", (ToolUse("toolu_2", "Read", {}),)),
    ("user", (ToolResult("toolu_2", (Text("two"),)),)),
)


def body(*, adaptive: bool, budget: int | None = None) -> dict[str, object]:
    request = Request(model=ADAPTIVE, messages=HISTORY, max_tokens=8_000)
    built = Gate(thinking_budget=budget).build(request, adaptive=adaptive)
    return dict(orjson.loads(built.body))


def test_an_adaptive_model_is_sent_no_budget_even_if_one_was_set() -> None:
    sent = body(adaptive=True, budget=4_000)

    assert sent["thinking"] == {"type": "adaptive"}
    assert sent["max_tokens"] == 8_000


def test_its_thinking_goes_back_although_a_later_reply_had_none() -> None:
    sent = orjson.dumps(body(adaptive=True)).decode()

    assert '"signature":"signed"' in sent


def test_another_model_without_a_budget_is_sent_neither() -> None:
    sent = body(adaptive=False)

    assert "thinking" not in sent
    assert "signed" not in orjson.dumps(sent).decode()


def test_which_models_these_are_stands_in_the_table() -> None:
    newer, older = facts(ADAPTIVE), facts(OLDER)

    assert newer is not None
    assert newer.adaptive
    assert older is not None
    assert not older.adaptive


def test_a_long_prompt_costs_more_where_the_list_says_so() -> None:
    short = price("claude-haiku-5-5", Usage(input_tokens=100_000, output_tokens=1_000))
    long = price("claude-haiku-5-5", Usage(input_tokens=100_001, output_tokens=1_000))

    assert short == (100_000 * 0.10 + 1_000 * 0.50) / 1_000_000
    assert long == 5 * (100_001 * 0.10 + 1_000 * 0.50) / 1_000_000
