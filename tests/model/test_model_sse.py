"""Server-sent events: any way to cut the bytes tells the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.model.sse import BOM, SseError, SseEvent, SseParser

NAMES = st.sampled_from(["", "ping", "content_block_delta", "größe"])
DATA = st.lists(st.text("ab{}: \u00e9\u2028\U0001f600", max_size=6), min_size=1, max_size=3)
NOISE = st.sampled_from(["", ": comment", "retry: 3000", "id: 7", "unknown: x", "nocolon"])


def parsed(*chunks: bytes) -> list[SseEvent]:
    parser = SseParser()
    return [event for chunk in chunks for event in parser.feed(chunk)]


def test_an_event_has_a_name_and_data() -> None:
    assert parsed(b'event: ping\ndata: {"type": "ping"}\n\n') == [("ping", b'{"type": "ping"}')]


@pytest.mark.parametrize("eol", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
def test_all_three_line_ends_are_known(eol: str) -> None:
    lines = ["event: a", "data: 1", "", "data: 2", ""]

    assert parsed("".join(line + eol for line in lines).encode()) == [("a", b"1"), ("", b"2")]


def test_several_data_lines_are_one_text() -> None:
    assert parsed(b"data: one\nevent: x\ndata:two\ndata:\n\n") == [("x", b"one\ntwo\n")]


def test_only_one_space_after_the_colon_is_dropped() -> None:
    assert parsed(b"event:x\ndata:  y\n\n") == [("x", b" y")]


def test_comments_retry_lines_and_events_without_data_tell_nothing() -> None:
    assert parsed(b": hello\n\nretry: 3000\n\nevent: meta_only\n\ndata: x\n\n") == [("", b"x")]


def test_a_name_does_not_outlive_its_blank_line() -> None:
    assert parsed(b"event: message_start\n\ndata: {}\n\n") == [("", b"{}")]


def test_an_event_that_no_blank_line_ends_does_not_exist() -> None:
    assert parsed(b"event: message_stop\ndata: {}\n") == []


def test_a_byte_order_mark_is_skipped_at_the_start_only() -> None:
    assert parsed(BOM + b"data: x\n\n", b"data: \xef\xbb\xbf\n\n") == [("", b"x"), ("", BOM)]


def test_a_server_that_never_ends_an_event_does_not_fill_the_memory() -> None:
    parser = SseParser(max_event_bytes=100)

    for _ in range(100):
        assert parser.feed(b"x") == []
    with pytest.raises(SseError, match="longer than 100 bytes"):
        parser.feed(b"x")


@given(
    events=st.lists(st.tuples(NAMES, DATA, NOISE), max_size=4),
    eol=st.sampled_from(["\n", "\r\n", "\r"]),
    bom=st.booleans(),
    cuts=st.lists(st.integers(0, 200)),
)
def test_any_chunking_gives_equal_events(
    events: list[tuple[str, list[str], str]], eol: str, bom: bool, cuts: list[int]
) -> None:
    lines = [
        line
        for name, data, noise in events
        for line in (
            *([noise] if noise else []),
            *([f"event: {name}"] if name else []),
            *(f"data: {one}" for one in data),
            "",
        )
    ]
    whole = (BOM if bom else b"") + "".join(line + eol for line in lines).encode()
    ends = sorted({min(cut, len(whole)) for cut in cuts} | {len(whole)})
    chunks = [whole[start:end] for start, end in zip([0, *ends], ends, strict=False)]

    assert parsed(*chunks) == [(name, "\n".join(data).encode()) for name, data, _ in events]
    assert parsed(*(bytes([byte]) for byte in whole)) == parsed(whole)
