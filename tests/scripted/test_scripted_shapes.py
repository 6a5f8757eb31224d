"""The shape of a request: what is refused before anybody asks what it means."""

from __future__ import annotations

import pytest

from interlock.scripted.validate import problems
from tests.scripted.asking import (
    CACHED,
    HMM,
    ON,
    PNG,
    READ,
    Broken,
    asked,
    book,
    call,
    image,
    result,
    said,
    user,
    without,
    words,
)

PARAMETERS = (
    Broken("no-model", without("model"), "model: Field required"),
    Broken("model-type", asked(model=3), "model: Input should be a valid string"),
    Broken("model-empty", asked(model=""), "model: String should have at least 1 character"),
    Broken("no-max-tokens", without("max_tokens"), "max_tokens: Field required"),
    Broken("max-tokens-type", asked(max_tokens="9"), "max_tokens: Input should be a valid int"),
    Broken("max-tokens-bool", asked(max_tokens=True), "max_tokens: Input should be a valid int"),
    Broken("max-tokens-range", asked(max_tokens=-1), "max_tokens: Input should be greater than"),
    Broken("no-messages", without("messages"), "messages: Field required"),
    Broken("messages-type", asked() | {"messages": {}}, "messages: Input should be a valid list"),
    Broken("messages-none", asked() | {"messages": []}, "messages: at least one message is req"),
    Broken("unknown-key", asked(foo=1), "foo: Extra inputs are not permitted"),
    Broken("stream", asked(stream="yes"), "stream: Input should be a valid boolean"),
    Broken("temperature", asked(temperature=2), "temperature: Input should be a number from 0"),
    Broken("stop-type", asked(stop_sequences=[1]), "stop_sequences.0: Input should be a valid s"),
    Broken("stop-blank", asked(stop_sequences=[" "]), "stop_sequences.0: each stop sequence must"),
    Broken("effort", asked(output_config={"effort": "huge"}), "output_config.effort: Input shoul"),
    Broken("thinking-kind", asked(thinking={"type": "x"}), "thinking: Input tag found using 'ty"),
    Broken(
        "thinking-key",
        asked(thinking={"type": "disabled", "budget_tokens": 1024}),
        "thinking.disabled.budget_tokens: Extra inputs are not permitted",
    ),
    Broken(
        "no-budget",
        asked(thinking={"type": "enabled"}),
        "thinking.enabled.budget_tokens: Field required",
    ),
    Broken(
        "budget-small",
        asked(thinking=ON | {"budget_tokens": 1023}),
        "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024",
    ),
    Broken(
        "budget-large",
        asked(thinking=ON | {"budget_tokens": 4000}),
        "`max_tokens` must be greater than `thinking.budget_tokens`",
    ),
    Broken(
        "thinking-and-forced-tool",
        asked(thinking=ON, tools=[READ], tool_choice={"type": "any"}),
        "Thinking may not be enabled when tool_choice forces tool use.",
    ),
)

TOOLS = (
    Broken("type", asked(tools=[1]), "tools.0: Input should be a valid dictionary"),
    Broken("nameless", asked(tools=[{"input_schema": {}}]), "tools.0.custom.name: Field required"),
    Broken(
        "name",
        asked(tools=[READ | {"name": "Re ad"}]),
        "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
    ),
    Broken(
        "name-length",
        asked(tools=[READ | {"name": "x" * 129}]),
        "tools.0.custom.name: String should match pattern",
    ),
    Broken("twice", asked(tools=[READ, READ]), "tools: Tool names must be unique."),
    Broken(
        "schema-missing",
        asked(tools=[{"name": "Read"}]),
        "tools.0.custom.input_schema: Field required",
    ),
    Broken(
        "schema-kind",
        asked(tools=[READ | {"input_schema": {"type": "string"}}]),
        "tools.0.custom.input_schema.type: Input should be 'object'",
    ),
    Broken(
        "schema-untyped",
        asked(tools=[READ | {"input_schema": {}}]),
        "tools.0.custom.input_schema.type: Field required",
    ),
    Broken("key", asked(tools=[READ | {"x": 1}]), "tools.0.custom.x: Extra inputs are not perm"),
    Broken("choice-kind", asked(tools=[READ], tool_choice={"type": "x"}), "tool_choice: Input t"),
    Broken(
        "choice-without-tools", asked(tool_choice={"type": "auto"}), "tool_choice may only be sp"
    ),
    Broken(
        "choice-of-a-stranger",
        asked(tools=[READ], tool_choice={"type": "tool", "name": "Write"}),
        "Tool 'Write' not found in provided tools",
    ),
)

BLOCKS = (
    Broken("message", asked("hi"), "messages.0: Input should be a valid dictionary"),
    Broken("no-role", asked({"content": "hi"}), "messages.0.role: Field required"),
    Broken("no-content", asked({"role": "user"}), "messages.0.content: Field required"),
    Broken("role", asked({"role": "tool", "content": "x"}), 'messages: Unexpected role "tool"'),
    Broken("key", asked(user("hi") | {"id": "m"}), "messages.0.id: Extra inputs are not permit"),
    Broken("content", asked({"role": "user", "content": 3}), "messages.0.content: Input should"),
    Broken("block", asked(user(3)), "messages.0.content.0: Input should be a valid dictionary"),
    Broken("untyped", asked(user({"text": "x"})), "messages.0.content.0.type: Field required"),
    Broken(
        "unknown-type",
        asked(user({"type": "hologram"})),
        "messages.0.content.0: Input tag 'hologram' found using 'type' does not match any",
    ),
    Broken("field", asked(user({"type": "text"})), "messages.0.content.0.text.text: Field requ"),
    Broken("field-type", asked(user(words(3))), "messages.0.content.0.text.text: Input sho"),  # type: ignore[arg-type]
    Broken("extra", asked(user(words("x", y=1))), "messages.0.content.0.text.y: Extra inputs a"),
    Broken(
        "extra-inside",
        asked(user("x"), said(call()), user(result(content=[words("x", y=1)]))),
        "messages.2.content.0.tool_result.content.0.text.y: Extra inputs are not permitted",
    ),
    Broken("call-of-user", asked(user(call())), "`tool_use` blocks can only be in `assistant` m"),
    Broken(
        "result-of-assistant",
        asked(user("x"), said(result())),
        "messages.1.content.0: `tool_result` blocks can only be in `user` messages",
    ),
    Broken(
        "call-id",
        asked(user("x"), said(call("a b"))),
        "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ),
    Broken(
        "call-name",
        asked(user("x"), said(call(name="a b"))),
        "messages.1.content.0.tool_use.name: String should match pattern",
    ),
    Broken(
        "call-input",
        asked(user("x"), said(call(input="{}"))),
        "messages.1.content.0.tool_use.input: Input should be a valid dictionary",
    ),
    Broken(
        "cache-on-thinking",
        asked(user("x"), said(HMM | CACHED, call())),
        "messages.1.content.0.thinking.cache_control: Extra inputs are not permitted",
    ),
    Broken(
        "cache-kind",
        asked(user(words("x", cache_control={"type": "eternal"}))),
        "messages.0.content.0.text.cache_control.type: Input should be 'ephemeral'",
    ),
    Broken("system-block", asked(system=[image(PNG)]), "system.0.type: Input should be 'text'"),
    Broken("system-empty", asked(system=[words("")]), "system.0: text content blocks must be n"),
)

CACHE = (
    Broken(
        "five",
        asked(
            user(*[words("x", **CACHED)] * 3),
            system=[words("y", **CACHED)],
            tools=[READ | CACHED],
        ),
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    Broken(
        "four-and-the-automatic-one",
        asked(user(*[words("x", **CACHED)] * 4), **CACHED),
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    ),
    Broken(
        "empty-text",
        asked(user(words("", **CACHED))),
        "messages.0.content.0.text: cache_control cannot be set for empty text blocks",
    ),
    Broken(
        "longer-lived-last",
        asked(
            user(
                words("x", **CACHED),
                words("y", cache_control={"type": "ephemeral", "ttl": "1h"}),
            )
        ),
        "messages.0.content.1.cache_control.ttl: a ttl='1h' cache_control block must not come",
    ),
)


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(one, id=f"{group}:{one.id}")
        for group, rows in {
            "parameters": PARAMETERS,
            "tools": TOOLS,
            "blocks": BLOCKS,
            "cache": CACHE,
        }.items()
        for one in rows
    ],
)
def test_a_request_that_breaks_one_rule_is_told_which_and_where(broken: Broken) -> None:
    found = problems(broken.body, signatures=book())

    assert broken.told in found[0]


def test_counting_tokens_takes_no_max_tokens() -> None:
    assert problems(without("max_tokens"), counting=True) == ()
    assert problems(asked(), counting=True) == ("max_tokens: Extra inputs are not permitted",)
