"""The store of collapses: what it holds, and what a resume or a crash makes of it."""

from __future__ import annotations

from pathlib import Path

import orjson

from interlock.context.collapse import Collapses
from tests.context.sessions import applied, rounds
from tests.context.test_collapse import CALM, FULL, OUTPUT, STAGING, notes


async def test_the_store_survives_a_resume_and_the_transcript_shows_the_whole_again(
    tmp_path: Path,
) -> None:
    path = tmp_path / "session" / "collapses.jsonl"
    messages = rounds(20, OUTPUT)
    collapses = Collapses(path)
    before = await collapses.apply(messages, FULL)
    longer = (*before.messages, *rounds(8, OUTPUT)[1:])
    await collapses.apply(longer, STAGING)

    resumed = Collapses(path)
    after = await applied(resumed, (*messages, *longer[-16:]), CALM)

    assert after.messages == longer
    assert after.freed == before.freed
    assert resumed.staged(after.messages) == collapses.staged(longer) == 1


async def test_notes_are_in_the_store_and_what_tools_said_is_not(tmp_path: Path) -> None:
    path = tmp_path / "collapses.jsonl"
    await Collapses(path).apply(rounds(20, OUTPUT), FULL)

    lines = [orjson.loads(line) for line in path.read_bytes().splitlines()]

    assert [next(iter(line)) for line in lines] == ["stage", "stage", "commit"]
    assert b"what the file says" not in path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600


async def test_a_store_that_a_crash_has_torn_is_read_as_far_as_it_goes_and_continued(
    tmp_path: Path,
) -> None:
    path = tmp_path / "collapses.jsonl"
    messages = rounds(20, OUTPUT)
    await Collapses(path).apply(messages, STAGING)
    lines = path.read_bytes().splitlines(keepends=True)
    commit = orjson.dumps({"commit": [orjson.loads(lines[0])["stage"]]})
    path.write_bytes(b"".join([*lines, commit, b"\n"]))
    with path.open("ab") as file:
        file.write(b'not JSON\n[1]\n{"stage": 3}\n{"commit": ["')

    torn = Collapses(path)
    after = await torn.apply(messages, CALM)
    await torn.drain(after.messages)
    again = await Collapses(path).apply(messages, CALM)

    assert len(notes(after.messages)) == 1
    assert len(notes(again.messages)) == 2


async def test_a_store_that_cannot_be_written_holds_for_this_process(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    collapses = Collapses(tmp_path / "file" / "collapses.jsonl")

    trimmed = await applied(collapses, rounds(20, OUTPUT), FULL)

    assert len(notes(trimmed.messages)) == 2
