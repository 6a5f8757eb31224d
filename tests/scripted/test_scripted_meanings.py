"""The meaning of a request: turns, calls and results, thinking, pictures, length."""

from __future__ import annotations

from typing import Any

import pytest

from interlock.scripted.validate import problems
from tests.scripted.asking import (
    CACHED,
    GIF,
    HMM,
    JPEG,
    LARGE_PNG,
    ON,
    PNG,
    READ,
    WEBP,
    WIDE_PNG,
    Broken,
    asked,
    book,
    call,
    image,
    pdf,
    result,
    said,
    user,
    words,
)

GOOD = {
    "the-least": asked(),
    "everything": asked(
        user("hi"),
        said(words("Let me look."), call("toolu_5"), call("toolu_6")),
        user(
            result("toolu_6", [words("a"), image(PNG)]),
            result("toolu_5", "", is_error=False),
            words("and now?", **CACHED),
        ),
        said(words("Done.")),
        user(image(PNG), pdf(b"%PDF-1.7"), words("see")),
        system=[words("be kind", **CACHED)],
        tools=[READ | CACHED, {"type": "web_search_20260318", "name": "web_search"}],
        tool_choice={"type": "tool", "name": "Read"},
        metadata={"user_id": "u"},
        stop_sequences=["END"],
        output_config={"effort": "high"},
        stream=True,
        temperature=0.5,
    ),
    "neighbours-of-one-role-are-one-turn": asked(
        user("hi"),
        said(call("toolu_5")),
        said(call("toolu_6")),
        user(result("toolu_5")),
        user(result("toolu_6")),
        user("go on"),
    ),
    "system-in-the-middle": asked(
        user("hi"), {"role": "system", "content": "be brief"}, said(words("ok")), user("on")
    ),
    "empty-end-of-an-assistant": asked(user("hi"), {"role": "assistant", "content": ""}),
    "paused-server-tool": asked(
        user("hi"),
        said({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}),
    ),
    "thinking-goes-back-unchanged": asked(
        user("hi"), said(HMM, call()), user(result()), thinking=ON
    ),
    "redacted-thinking-too": asked(
        user("hi"),
        said({"type": "redacted_thinking", "data": "b3Bh"}, call("toolu_7")),
        user(result("toolu_7")),
        thinking=ON,
    ),
    "old-thinking-may-stay-when-it-is-switched-off": asked(
        user("hi"), said(HMM, words("done")), user("thanks")
    ),
    "a-call-that-was-made-without-thinking": asked(
        user("hi"), said(call("toolu_2")), user(result("toolu_2")), thinking=ON
    ),
    "adaptive-thinking-may-be-absent": asked(
        user("hi"),
        said(call("toolu_9")),
        user(result("toolu_9")),
        thinking={"type": "adaptive"},
    ),
}


@pytest.mark.parametrize("body", GOOD.values(), ids=GOOD.keys())
def test_a_good_request_passes(body: dict[str, Any]) -> None:
    assert problems(body, signatures=book()) == ()


TURNS = (
    Broken("assistant-first", asked(said(words("x"))), 'first message must use the "user" role'),
    Broken(
        "system-first",
        asked({"role": "system", "content": "x"}, user("hi")),
        "messages.0: role 'system' must follow a 'user' message",
    ),
    Broken(
        "system-before-user",
        asked(user("hi"), {"role": "system", "content": "x"}, user("hi")),
        "messages.1: role 'system' must precede an 'assistant' message or end the array",
    ),
    Broken("empty", asked(user("")), "messages.0: all messages must have non-empty content exce"),
    Broken(
        "empty-assistant-in-the-middle",
        asked(user("x"), said(), user("y")),
        "messages.1: all messages must have non-empty content",
    ),
    Broken("empty-text", asked(user(words(""))), "text content blocks must be non-empty"),
    Broken("blank", asked(user("\n \n")), "text content blocks must contain non-whitespace text"),
    Broken(
        "blank-inside",
        asked(user("x"), said(call()), user(result(content=[words("  ")]))),
        "messages.2.content.0.tool_result.content.0: text content blocks must contain non-whites",
    ),
    Broken(
        "trailing-space",
        asked(user("x"), said(words("y "))),
        "messages: final assistant content cannot end with trailing whitespace",
    ),
)

PAIRS = (
    Broken(
        "no-result",
        asked(user("x"), said(call()), user("y")),
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after:"
        " toolu_1. Each `tool_use` block must have a corresponding `tool_result` block in the",
    ),
    Broken("nothing-after", asked(user("x"), said(call())), "immediately after: toolu_1."),
    Broken(
        "one-of-two",
        asked(user("x"), said(call(), call("toolu_2")), user(result())),
        "immediately after: toolu_2.",
    ),
    Broken(
        "result-after-text",
        asked(user("x"), said(call()), user(words("y"), result())),
        "immediately after: toolu_1.",
    ),
    Broken(
        "result-after-text-in-a-merged-turn",
        asked(user("x"), said(call()), user("y"), user(result())),
        "immediately after: toolu_1.",
    ),
    Broken(
        "result-once-more-a-turn-later",
        asked(user("x"), said(call()), user(result()), said(words("z")), user(result())),
        "messages.4.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1.",
    ),
    Broken("orphan", asked(user(result())), "messages.0.content.0: unexpected `tool_use_id` fou"),
    Broken(
        "two-results",
        asked(user("x"), said(call()), user(result(), result())),
        "messages.2.content.1: each tool_use must have a single result. Found multiple"
        " `tool_result` blocks with id: toolu_1",
    ),
    Broken(
        "id-twice-in-a-turn",
        asked(user("x"), said(call(), call()), user(result())),
        "messages.1.content.1: `tool_use` ids must be unique",
    ),
    Broken(
        "id-twice-over-turns",
        asked(user("x"), said(call()), user(result()), said(call()), user(result())),
        "messages.3.content.0: `tool_use` ids must be unique",
    ),
    Broken(
        "error-without-words",
        asked(user("x"), said(call()), user(result(content="", is_error=True))),
        "messages.2.content.0.tool_result: content cannot be empty if `is_error` is true",
    ),
    Broken(
        "error-with-a-picture",
        asked(user("x"), said(call()), user(result(content=[image(PNG)], is_error=True))),
        "messages.2.content.0.tool_result: all content must be type `text` if `is_error` is true",
    ),
)

THINKING = (
    Broken(
        "changed-words",
        asked(user("x"), said(HMM | {"thinking": "hm"}, words("y")), user("z"), thinking=ON),
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    Broken(
        "foreign-signature",
        asked(user("x"), said(HMM | {"signature": "x"}, words("y")), user("z"), thinking=ON),
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    Broken(
        "another-model",
        asked(user("x"), said(HMM, words("y")), user("z"), thinking=ON, model="model-y"),
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    ),
    Broken(
        "foreign-data",
        asked(user("x"), said({"type": "redacted_thinking", "data": "x"}, words("y")), user("z")),
        "messages.1.content.0: Invalid `data` in `redacted_thinking` block",
    ),
    Broken(
        "at-the-end",
        asked(user("x"), said(words("y"), HMM), user("z"), thinking=ON),
        "messages.1: The final block in an assistant message cannot be `thinking`.",
    ),
    Broken(
        "switched-off-in-a-trajectory",
        asked(user("x"), said(HMM, call()), user(result())),
        "messages.1.content.0.type: When `thinking` is disabled, an `assistant` message in the"
        " final position cannot contain `thinking`.",
    ),
    Broken(
        "forgotten",
        asked(user("x"), said(call()), user(result()), thinking=ON),
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found"
        " `tool_use`. When `thinking` is enabled, a final `assistant` message must start with",
    ),
    Broken(
        "forgotten-after-text",
        asked(user("x"), said(words("y"), call("toolu_8")), user(result("toolu_8")), thinking=ON),
        "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `text`",
    ),
    Broken(
        "lost-with-adaptive-thinking",
        asked(user("x"), said(call()), user(result()), thinking={"type": "adaptive"}),
        "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modi",
    ),
)

MEDIA = (
    Broken("no-base64", asked(user(image(PNG, data="%"))), "base64.data: Invalid base64 data"),
    Broken("empty", asked(user(image(b""))), "messages.0.content.0.image.source.base64.data: ima"),
    Broken("no-picture", asked(user(image(b"hello"))), "base64.data: Could not process image"),
    Broken("cut-header", asked(user(image(PNG[:18]))), "base64.data: Could not process image"),
    Broken("kind", asked(user(image(PNG, "image/tiff"))), "base64.media_type: Input should be on"),
    Broken(
        "other-kind",
        asked(user(image(PNG, "image/jpeg"))),
        "messages.0.content.0.image.source.base64: The image was specified using the image/jpeg"
        " media type, but the image appears to be a image/png image",
    ),
    Broken(
        "heavy",
        asked(user(image(PNG + bytes(4 * 1024 * 1024)))),
        "messages.0.content.0.image.source.base64: image exceeds 5 MB maximum: 5592",
    ),
    Broken(
        "wide-png",
        asked(user(image(WIDE_PNG))),
        "messages.0.content.0.image.source.base64.data: At least one of the image dimensions"
        " exceed max allowed size: 8000 pixels",
    ),
    Broken("wide-gif", asked(user(image(GIF, "image/gif"))), "exceed max allowed size: 8000"),
    Broken("wide-jpeg", asked(user(image(JPEG, "image/jpeg"))), "exceed max allowed size: 8000"),
    Broken("wide-webp", asked(user(image(WEBP, "image/webp"))), "exceed max allowed size: 8000"),
    Broken(
        "many",
        asked(user(*[image(LARGE_PNG)] * 21)),
        "exceed max allowed size for many-image requests: 2000 pixels",
    ),
    Broken(
        "inside-a-result",
        asked(user("x"), said(call()), user(result(content=[image(WIDE_PNG)]))),
        "messages.2.content.0.tool_result.content.0.image.source.base64.data: At least one of",
    ),
    Broken("pdf", asked(user(pdf(b"MZ"))), "document.source.base64.data: The PDF specified was n"),
    Broken(
        "source",
        asked(user({"type": "image", "source": {"type": "disk"}})),
        "messages.0.content.0.image.source: Input tag found using 'type' does not match",
    ),
    Broken(
        "source-key",
        asked(user({"type": "image", "source": {"type": "url", "url": "x", "y": 1}})),
        "messages.0.content.0.image.source.url.y: Extra inputs are not permitted",
    ),
)


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(one, id=f"{group}:{one.id}")
        for group, rows in {
            "turns": TURNS,
            "pairs": PAIRS,
            "thinking": THINKING,
            "media": MEDIA,
        }.items()
        for one in rows
    ],
)
def test_a_request_that_breaks_one_rule_is_told_which_and_where(broken: Broken) -> None:
    found = problems(broken.body, signatures=book())

    assert broken.told in found[0]


def test_a_model_that_cannot_read_foreign_thinking_may_get_the_calls_without_it() -> None:
    body = asked(user("x"), said(call()), user(result()), thinking=ON, model="model-y")

    assert problems(body, signatures=book()) == ()


def test_the_window_is_a_limit_on_the_whole_request() -> None:
    body = asked(user("word " * 1000))

    assert problems(body, window=4000) == ()
    assert problems(body, window=1000) == ("prompt is too long: 1256 tokens > 1000 maximum",)
    assert problems(body, window=10, tokens=lambda _: 11) == (
        "prompt is too long: 11 tokens > 10 maximum",
    )
