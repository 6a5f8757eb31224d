"""Edit and Write against a plain model of bytes, for whatever files there may be."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import anyio
from hypothesis import assume, given
from hypothesis import strategies as st

from interlock.tools.filetext import FileText, NotText
from tests.tools.places import Place, real

PIECES = st.sampled_from(["a", "b", "ab", " ", "\t", "\n", "\r\n", "é", "你", "😀"])
TEXTS = st.lists(PIECES, max_size=14).map("".join)
ODD = st.sampled_from([b"\xe9", b"\x99", b"\xf0\x9f", b"\xff"])
FILES = st.lists(st.one_of(PIECES.map(str.encode), ODD), max_size=14).map(b"".join)


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


@given(FILES, TEXTS.filter(bool), FILES, TEXTS, st.booleans())
def test_an_edit_is_a_replacement_of_bytes(
    before: bytes, old: str, after: bytes, new: str, everywhere: bool
) -> None:
    """In files with LF only the model is bytes.replace; a refusal changes nothing."""
    data = (before + old.encode() + after).replace(b"\r", b"")
    old, new = old.replace("\r", ""), new.replace("\r", "")
    assume(old != new)
    accepted = (data.count(old.encode()) == 1 or everywhere) and (
        FileText.of(data).bad_byte is None or new.isascii()
    )

    found = _after_edit(data, old, new, everywhere)

    assert found == (data.replace(old.encode(), new.encode()) if accepted else data)


@given(FILES, TEXTS.filter(bool), FILES, TEXTS)
def test_an_edit_leaves_all_around_it_and_every_kept_line_end(
    before: bytes, old: str, after: bytes, new: str
) -> None:
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


@given(TEXTS)
def test_a_new_file_holds_exactly_what_was_written(content: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        place = Place(real(Path(name)))

        anyio.run(_write, place, content)

        assert (place.folder / "a.txt").read_bytes() == content.encode()
        assert os.listdir(name) == ["a.txt"]  # noqa: PTH208 (names are what is compared)


async def _write(place: Place, content: str) -> None:
    await place.said("Write", file_path="a.txt", content=content)


def _after_edit(data: bytes, old: str, new: str, everywhere: bool) -> bytes:
    with tempfile.TemporaryDirectory() as name:
        place = Place(real(Path(name)))
        path = place.put("a.txt", data)

        async def edit() -> None:
            await place.call("Read", file_path="a.txt")
            await place.call(
                "Edit", file_path="a.txt", old_string=old, new_string=new, replace_all=everywhere
            )

        anyio.run(edit)
        return path.read_bytes()


def _ends(text: str) -> list[str]:
    return ["\r\n" if line.endswith("\r") else "\n" for line in text.split("\n")[:-1]]
