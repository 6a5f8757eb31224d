"""The places one can go back to, in a file that is damaged."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from interlock.sessions import Transcript, points_of, read
from phases.world.messages import Kind, Message, Text
from tests.sessions.conversations import histories, prompt, reply, summary, uuid
from tests.sessions.test_tails import line, written


async def put(path: Path, *views: tuple[Message, ...]) -> Path:
    transcript = Transcript(path, session_id=uuid(0), cwd=path.parent)
    for view in views:
        await transcript.record(view)
    transcript.close()
    return path


@settings(deadline=None)
@given(histories(), st.data())
def test_they_are_the_prompts_that_a_resume_finds_whatever_lines_are_damaged(
    history: tuple[Message, ...], data: st.DataObject
) -> None:
    with TemporaryDirectory() as folder:
        path = asyncio.run(put(Path(folder) / "x.jsonl", history))
        lines = path.read_bytes().splitlines(keepends=True)
        bad = data.draw(st.sets(st.integers(0, len(lines) - 1), max_size=3))
        path.write_bytes(b"".join(b"junk\n" if n in bad else each for n, each in enumerate(lines)))

        found, reading = points_of(path), read(path)

    prompts = [each.id for each in reading.messages if each.kind is Kind.PROMPT]
    assert [point.id for point in found.points] == prompts
    assert (found.tip, found.damage) == (reading.tip, reading.damage)


async def test_a_damaged_mark_of_a_compaction_does_not_hide_what_stands_before_it(
    tmp_path: Path,
) -> None:
    talk = (prompt(1, "look"), reply(2, Text("seen")))
    path = await put(tmp_path / "x.jsonl", talk, (summary(3), prompt(4, "and now?")))
    lines = path.read_bytes().splitlines(keepends=True)
    for mark in (1, 2):  # the line that the compaction follows, and its mark
        path.write_bytes(
            b"".join(b"junk\n" if n == mark else each for n, each in enumerate(lines))
        )

        assert [point.line for point in points_of(path).points] == ["look", "and now?"]


def test_a_prompt_behind_a_damaged_line_goes_back_to_what_stands_before_that(
    tmp_path: Path,
) -> None:
    path = written(tmp_path / "x.jsonl", line(1, None, "one"), b"junk", line(3, 2, "three"))

    first, second = points_of(path).points

    assert (first.tip, second.tip) == (None, uuid(1))
