"""Edit and Write against a plain model of bytes, for whatever files there may be."""

from __future__ import annotations

import codecs
import os
import re
import stat
import tempfile
from pathlib import Path
from typing import Any

import anyio
from attrs import frozen
from hypothesis import assume, given
from hypothesis import strategies as st

from interlock.tools.filetext import FileText, NotText, lf, places
from tests.tools.places import Place, real

# Letters that are equal after normalisation and differ in bytes are among them on purpose.
PIECES = st.sampled_from(
    ["a", "b", "ab", " ", "\t", "\n", "\r\n", "\r", "é", "e\u0301", "ﬁ", "\u2028", "你", "😀"]
)
TEXTS = st.lists(PIECES, max_size=14).map("".join)
ODD = st.sampled_from([b"\xe9", b"\x99", b"\xf0\x9f", b"\xff"])
FILES = st.lists(st.one_of(PIECES.map(str.encode), ODD), max_size=14).map(b"".join)
_LONE_CR = re.compile(rb"\r(?!\n)")
MODES = st.sampled_from([0o644, 0o600, 0o755, 0o664])


@frozen
class Encoding:
    """How a text is stored: what stands in front, and a codec."""

    mark: bytes
    codec: str

    def bytes(self, text: str) -> bytes:
        return self.mark + text.encode(self.codec)


PLAIN = Encoding(b"", "utf-8")
ENCODINGS = st.sampled_from(
    [
        PLAIN,
        Encoding(codecs.BOM_UTF8, "utf-8"),
        Encoding(codecs.BOM_UTF16_LE, "utf-16-le"),
        Encoding(codecs.BOM_UTF16_BE, "utf-16-be"),
    ]
)


@given(FILES)
def test_any_bytes_that_count_as_text_come_back_as_they_were(data: bytes) -> None:
    source = FileText.of(data)

    assert source.bytes(source.text) == data


@given(st.binary(max_size=40))
def test_bytes_are_refused_or_exact(data: bytes) -> None:
    try:
        source = FileText.of(data)
    except NotText:
        return

    assert source.bytes(source.text) == data


@given(FILES, TEXTS.filter(bool), FILES, TEXTS, st.booleans(), MODES)
def test_an_edit_is_a_replacement_of_bytes(
    before: bytes, old: str, after: bytes, new: str, everywhere: bool, mode: int
) -> None:
    """In files without CRLF the model is bytes.replace; a refusal changes nothing."""
    data = before + old.encode() + after
    assume(b"\r\n" not in data and "\r\n" not in new and old != new)
    accepted = (data.count(old.encode()) == 1 or everywhere) and (
        FileText.of(data).bad_byte is None or _letters(new) <= _letters(old)
    )

    found = _after(data, mode, "Edit", old_string=old, new_string=new, replace_all=everywhere)

    assert found == (data.replace(old.encode(), new.encode()) if accepted else data)


@given(ENCODINGS, TEXTS, TEXTS.filter(bool), TEXTS, TEXTS, MODES)
def test_in_every_encoding_an_edit_is_a_replacement_of_text(
    encoding: Encoding, before: str, old: str, after: str, new: str, mode: int
) -> None:
    """With line ends of one kind the model is str.replace between decode and encode."""
    for ends in ("\n", "\r\n"):
        text = _with_ends(before + old + after, ends)
        one, other = _with_ends(old, ends), _with_ends(new, ends)
        assume(one not in ("", other))
        if ends not in text:
            continue  # no neighbour says which line end to take
        data = encoding.bytes(text)
        accepted = text.count(one) == 1

        found = _after(data, mode, "Edit", old_string=one, new_string=other)

        assert found == (encoding.bytes(text.replace(one, other)) if accepted else data)


EDITS = st.lists(st.tuples(TEXTS.filter(bool), TEXTS, st.booleans()), min_size=1, max_size=4)


@given(ENCODINGS, TEXTS, EDITS, MODES)
def test_several_edits_are_replacements_one_after_the_other_or_nothing(
    encoding: Encoding, text: str, edits: list[tuple[str, str, bool]], mode: int
) -> None:
    text = _with_ends(text + "".join(old for old, _, _ in edits[:2]), "\n")
    edits = [(_with_ends(old, "\n"), _with_ends(new, "\n"), every) for old, new, every in edits]
    expected: str | None = text
    for old, new, everywhere in edits:
        if expected is not None and old not in ("", new) and old in expected:
            once = expected.count(old) == 1
            expected = expected.replace(old, new) if once or everywhere else None
        else:
            expected = None

    found = _after(
        encoding.bytes(text),
        mode,
        "MultiEdit",
        edits=[
            {"old_string": old, "new_string": new, "replace_all": everywhere}
            for old, new, everywhere in edits
        ],
    )

    assert found == encoding.bytes(text if expected is None else expected)


@given(ENCODINGS, FILES, TEXTS, MODES)
def test_a_written_file_holds_the_content_in_the_encoding_it_had(
    encoding: Encoding, data: bytes, content: str, mode: int
) -> None:
    """A file with LF only gets what was given; what would mix encodings changes nothing."""
    if encoding is not PLAIN:
        data = encoding.bytes(data.decode(errors="replace"))
    data = data.replace(b"\r", b"") if encoding is PLAIN else data
    source = FileText.of(data)
    assume("\r" not in source.text)
    accepted = source.bad_byte is None or content.isascii()

    found = _after(data, mode, "Write", content=content)

    assert found == (encoding.bytes(content) if accepted else data)


@given(st.lists(st.sampled_from(["a\n", "b\r\n", "c\n", "d\r\n", "\r\n", "e"]), max_size=9), TEXTS)
def test_a_written_line_that_was_there_keeps_its_end(lines: list[str], more: str) -> None:
    """Writing back what Read showed changes no byte; what is put behind moves no end before it."""
    text = "".join(lines)
    data = text.encode()
    shown = text.replace("\r\n", "\n")
    more = _with_ends(more, "\n")

    same = _after(data, 0o644, "Write", content=shown)
    longer = _after(data, 0o644, "Write", content=shown + more)

    assert same == data
    assert longer.startswith(data)
    assert longer.replace(b"\r\n", b"\n").decode() == shown + more


@given(FILES, TEXTS.filter(bool), FILES, TEXTS)
def test_an_edit_leaves_all_around_it_and_every_kept_line_end(
    before: bytes, old: str, after: bytes, new: str
) -> None:
    # A lone CR is a character like any, but one put in front of an LF would join it.
    before, after = _LONE_CR.sub(b"", before), _LONE_CR.sub(b"", after)
    old, new = (_LONE_CR.sub(b"", text.encode()).decode() for text in (old, new))
    assume(old)
    source = FileText.of(before + old.encode() + after)
    old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    start = source.view.find(old)
    rest = source.view[start + len(old) :]

    text = source.spliced([start], old, new)

    # The view changed as in a plain replacement ...
    assert text.replace("\r\n", "\n") == source.view[:start] + new + rest
    # ... and the ends of the lines before and after are those that were there.
    first, last = source.view[:start].count("\n"), rest.count("\n")
    old_ends, new_ends = _ends(source.text), _ends(text)
    assert new_ends[:first] == old_ends[:first]
    assert new_ends[len(new_ends) - last :] == old_ends[len(old_ends) - last :]


@given(FILES | TEXTS.map(lambda text: lf(text).replace("\n", "\r\n").encode()), TEXTS, TEXTS)
def test_all_places_at_once_are_all_places_one_by_one(data: bytes, old: str, new: str) -> None:
    source = FileText.of(data)
    old, new = lf(old), lf(new)
    assume(old)

    at_once = source.replaced(old, new)

    assert at_once == source.spliced(list(places(source.view, old)), old, new)


@given(TEXTS)
def test_a_new_file_holds_exactly_what_was_written(content: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        place = Place(real(Path(name)))

        anyio.run(_write, place, content)

        assert (place.folder / "a.txt").read_bytes() == content.encode()
        assert os.listdir(name) == ["a.txt"]  # noqa: PTH208 (names are what is compared)


async def _write(place: Place, content: str) -> None:
    await place.said("Write", file_path="a.txt", content=content)


def _after(data: bytes, mode: int, tool: str, **arguments: Any) -> bytes:
    """What a file holds after a call. In any case its mode is the same, and it is alone."""
    with tempfile.TemporaryDirectory() as name:
        place = Place(real(Path(name)))
        path = place.put("a.txt", data)
        path.chmod(mode)

        async def edit() -> None:
            await place.call("Read", file_path="a.txt")
            await place.call(tool, file_path="a.txt", **arguments)

        anyio.run(edit)
        assert stat.S_IMODE(path.stat().st_mode) == mode
        assert os.listdir(name) == ["a.txt"]  # noqa: PTH208 (names are what is compared)
        return path.read_bytes()


def _with_ends(text: str, end: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "").replace("\n", end)


def _letters(text: str) -> set[str]:
    return {letter for letter in text if not letter.isascii()}


def _ends(text: str) -> list[str]:
    return ["\r\n" if line.endswith("\r") else "\n" for line in text.split("\n")[:-1]]
