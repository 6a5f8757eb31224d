"""The script: what can be written, and what is said of what cannot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import orjson
import pytest

from interlock.scripted import (
    End,
    ErrorEvent,
    Expect,
    RawSse,
    Reply,
    ScriptError,
    Settings,
    Status,
    cut,
    load,
    parse,
    reply,
    status,
    stream_error,
    text,
    tool_use,
)


def test_a_script_is_a_list_of_replies() -> None:
    script = parse([{"content": [{"type": "text", "text": "hi"}], "stop_reason": "end_turn"}])

    assert script.replies == (Reply(content=({"type": "text", "text": "hi"},)),)


def test_or_an_object_with_a_description_and_options() -> None:
    script = parse(
        {
            "description": "two words",
            "options": {"strict": False, "window": 4000},
            "replies": [{"content": [{"type": "text", "text": "two words"}]}],
        }
    )

    assert script.description == "two words"
    assert script.settings == Settings(strict=False, window=4000)


def test_an_http_error_keeps_status_headers_and_body() -> None:
    script = parse(
        [
            {"error": {"status": 429, "headers": {"Retry-After": 3}, "body": {"a": 1}}},
            {"error": {"status": 200, "raw_body": "<html>"}},
        ]
    )

    assert script.replies == (
        Status(status=429, headers={"retry-after": "3"}, body={"a": 1}),
        Status(status=200, raw_body="<html>"),
    )


def test_raw_lines_keep_every_word_about_how_they_are_sent() -> None:
    script = parse(
        [
            {
                "raw_sse": ["event: ping", ""],
                "end": "repeat",
                "repeat": [": alive", ""],
                "every_s": 0.2,
                "eol": "\r\n",
                "chunk_bytes": 3,
                "raw_unicode": True,
            }
        ]
    )

    assert script.replies == (
        RawSse(
            lines=("event: ping", ""),
            end=End.REPEAT,
            repeat=(": alive", ""),
            every_s=0.2,
            eol="\r\n",
            chunk_bytes=3,
            raw_unicode=True,
        ),
    )


def test_a_good_reply_may_say_how_it_goes_wrong() -> None:
    script = parse(
        [
            {
                "content": [{"type": "text", "text": "hi"}],
                "delay_s": 1,
                "drip_s": 0.5,
                "cut_after": 3,
                "end": "reset",
                "error_event": {"type": "overloaded_error", "message": "Overloaded"},
                "expect": {"last_text_contains": "hello"},
            }
        ]
    )

    assert script.replies == (
        Reply(
            content=({"type": "text", "text": "hi"},),
            delay_s=1.0,
            drip_s=0.5,
            cut_after=3,
            end=End.RESET,
            error_event=ErrorEvent(type="overloaded_error", message="Overloaded"),
            expect=Expect(last_text_contains="hello"),
        ),
    )


def test_placeholders_are_filled_after_parsing_so_that_any_value_fits(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_bytes(orjson.dumps([{"content": [text("see {{WORK}}/a.txt")]}]))

    script = load(path, {"WORK": 'C:\\odd "place"'})

    assert script.replies == (reply('see C:\\odd "place"/a.txt'),)


def test_the_small_words_build_the_same_values_as_a_file() -> None:
    built = (
        reply("hi", tool_use("Read", {"a": 1}, id="toolu_1")),
        status(529, "overloaded_error", "Overloaded", retry_after=1.5),
        stream_error("overloaded_error", "Overloaded", "Hel", after=3),
        cut("Hel", after=3, end="stall"),
    )

    written = parse(
        [
            {
                "content": [
                    {"type": "text", "text": "hi"},
                    {"type": "tool_use", "name": "Read", "input": {"a": 1}, "id": "toolu_1"},
                ],
                "stop_reason": "tool_use",
            },
            {
                "error": {
                    "status": 529,
                    "headers": {"retry-after": "1.5"},
                    "body": {
                        "type": "error",
                        "error": {"type": "overloaded_error", "message": "Overloaded"},
                    },
                }
            },
            {
                "content": [{"type": "text", "text": "Hel"}],
                "cut_after": 3,
                "error_event": {"type": "overloaded_error", "message": "Overloaded"},
            },
            {"content": [{"type": "text", "text": "Hel"}], "cut_after": 3, "end": "stall"},
        ]
    )

    assert built == written.replies


@attrs.frozen
class Bad:
    id: str
    raw: Any
    said: str


BAD = (
    Bad("no-object", "hi", 'script: "hi" is no object; write {...}'),
    Bad("no-replies", {}, "script: 'replies' is missing; give a list"),
    Bad(
        "no-kind", [{}], "script[0]: says nothing to answer; give one of: content, error, raw_sse"
    ),
    Bad("stranger", [{"content": [], "stop": "x"}], "script[0]: 'stop' is unknown; known are"),
    Bad("type", [{"content": 3}], "script[0].content: 3 does not fit; give a list"),
    Bad("bool-is-no-number", [{"content": [], "delay_s": True}], "delay_s: true does not fit"),
    Bad("negative", [{"content": [], "drip_s": -1}], "drip_s: -1.0 is below zero"),
    Bad("block", [{"content": [{"text": "x"}]}], "content[0]: a block needs a 'type'"),
    Bad("repeat", [{"content": [{"type": "text", "repeat": "x"}]}], 'content[0].repeat: "x"'),
    Bad("end", [{"raw_sse": [], "end": "bye"}], "end: 'bye' is unknown; use close, reset, stall"),
    Bad("reply-repeats", [{"content": [], "end": "repeat"}], "end: 'repeat' needs raw_sse"),
    Bad("repeat-what", [{"raw_sse": [], "end": "repeat"}], "end 'repeat' without lines"),
    Bad("line", [{"raw_sse": ["a", 1]}], "raw_sse[1]: 1 is no string; quote it"),
    Bad("status", [{"error": {"status": 99}}], "error.status: 99 is no final status"),
    Bad("bodies", [{"error": {"status": 500, "body": 1, "raw_body": "x"}}], "exclude each other"),
    Bad("expect", [{"content": [], "expect": {"x": "y"}}], "script[0].expect: 'x' is unknown"),
    Bad("option", {"replies": [], "options": {"x": 1}}, "script.options: 'x' is unknown"),
    Bad(
        "value", [{"content": [text("{{WORK}}")]}], "no value for {{WORK}}; give a value for WORK"
    ),
)


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.id)
def test_a_bad_script_is_refused_in_one_line_that_says_where(bad: Bad) -> None:
    with pytest.raises(ScriptError) as refused:
        parse(bad.raw)

    assert bad.said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_no_json_is_named(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text("[")

    with pytest.raises(ScriptError, match=r"script\.json: not JSON"):
        load(path)
