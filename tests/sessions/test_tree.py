"""The branches inside one transcript, as a tree."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import frozen

from interlock.errors import TranscriptError
from interlock.sessions import Part, Transcript, delete, family_of, fork
from interlock.sessions.branches import Family
from phases.world.messages import Message, Text
from tests.sessions.conversations import call, prompt, reply, result, summary, uuid
from tests.sessions.test_resume_at import LATER, SEEN, session, went_on
from tests.sessions.test_tails import line, written

GIVEN = Path(__file__).parent / "transcripts"


@frozen
class Shape:
    """What of a part is compared: what was said, how much, and how it goes on."""

    said: tuple[str, ...]
    goes_on: bool
    parts: tuple[Shape, ...] = ()


def shape(part: Part) -> Shape:
    return Shape(part.prompts, part.goes_on, tuple(shape(each) for each in part.parts))


def shapes(found: Family) -> list[Shape]:
    return [shape(part) for part in found.parts]


async def test_a_session_without_branches_is_one_part_parallel_calls_or_not(
    tmp_path: Path,
) -> None:
    path = await session(tmp_path / "s.jsonl", LATER)

    (part,) = family_of(path).parts

    assert shape(part) == Shape(("look", "paint it red"), goes_on=True)
    assert (part.messages, part.first, part.last) == (len(LATER), uuid(1), uuid(7))


async def test_each_branch_says_where_it_begins_and_which_one_goes_on(tmp_path: Path) -> None:
    path = await session(tmp_path / "s.jsonl", LATER)
    await went_on(path, uuid(5), prompt(8, "paint it blue"), reply(9, Text("blue")))
    await went_on(path, uuid(9), prompt(10, "darker"))
    await went_on(path, uuid(9), prompt(11, "brighter"))

    assert shapes(family_of(path)) == [
        Shape(
            ("look",),
            goes_on=True,
            parts=(
                Shape(("paint it red",), goes_on=False),
                Shape(
                    ("paint it blue",),
                    goes_on=True,
                    parts=(
                        Shape(("darker",), goes_on=False),
                        Shape(("brighter",), goes_on=True),
                    ),
                ),
            ),
        )
    ]


async def test_a_compaction_is_no_branch(tmp_path: Path) -> None:
    kept = (summary(20), LATER[-1], prompt(21, "and now?"))
    path = await session(tmp_path / "s.jsonl", LATER, kept)

    assert shapes(family_of(path)) == [Shape(("look", "paint it red", "and now?"), goes_on=True)]


async def test_a_branch_from_before_a_compaction_hangs_where_it_was_begun(tmp_path: Path) -> None:
    path = await session(tmp_path / "s.jsonl", LATER, (summary(20), prompt(21, "and now?")))
    await went_on(path, uuid(5), prompt(22, "back"))

    (whole,) = family_of(path).parts

    assert [each.prompts for each in whole.parts] == [("paint it red", "and now?"), ("back",)]
    assert [each.goes_on for each in whole.parts] == [False, True]


async def test_a_mark_that_goes_back_is_where_the_session_goes_on(tmp_path: Path) -> None:
    path = await session(tmp_path / "s.jsonl", LATER)
    mark = {"type": "system", "uuid": uuid(30), "parentUuid": uuid(5), "subtype": "went_back"}
    written(tmp_path / "mark", mark)
    path.write_bytes(path.read_bytes() + (tmp_path / "mark").read_bytes())

    assert shapes(family_of(path)) == [
        Shape(
            ("look",),
            goes_on=True,
            parts=(Shape(("paint it red",), goes_on=False), Shape((), goes_on=True)),
        )
    ]
    await went_on_from_the_end(path, prompt(31, "paint it blue"))
    (whole,) = family_of(path).parts
    assert [each.prompts for each in whole.parts] == [("paint it red",), ("paint it blue",)]
    assert [each.goes_on for each in whole.parts] == [False, True]


async def went_on_from_the_end(path: Path, *said: Message) -> None:
    transcript = Transcript(path, session_id=path.stem, cwd=path.parent)
    await transcript.record((*transcript.take_up().messages, *said))
    transcript.close()


async def test_a_session_that_is_a_branch_tells_what_it_was_copied_from_and_its_own_part(
    tmp_path: Path,
) -> None:
    path = await session(tmp_path / "s.jsonl", LATER)
    fork(path, tmp_path / "t.jsonl", "t", uuid(5))
    await went_on_from_the_end(tmp_path / "t.jsonl", prompt(8, "paint it blue"))

    found = family_of(tmp_path / "t.jsonl")

    assert (found.copied, found.copied_up_to) == (1, uuid(5))
    assert shapes(found) == [Shape(("paint it blue",), goes_on=True)]


def test_branches_of_another_program_are_told_by_the_order_of_the_file() -> None:
    (whole,) = family_of(GIVEN / "forked.jsonl").parts

    assert shape(whole) == Shape(
        ("start",),
        goes_on=True,
        parts=(
            Shape(("branch A first", "branch A second"), goes_on=False),
            Shape(("branch B first", "branch B second, the newest"), goes_on=True),
        ),
    )


def test_a_damaged_line_does_not_tear_the_tree(tmp_path: Path) -> None:
    path = written(
        tmp_path / "s.jsonl",
        line(1, None, "one"),
        b'{"uuid": "gone"',
        {**line(3, None, "three"), "parentUuid": "gone"},
    )

    assert shapes(family_of(path)) == [Shape(("one", "three"), goes_on=True)]


def test_a_file_in_which_nothing_was_said_has_no_parts(tmp_path: Path) -> None:
    assert family_of(written(tmp_path / "s.jsonl")) == Family(parts=())


async def test_a_call_that_was_never_answered_and_then_answered_is_no_branch(
    tmp_path: Path,
) -> None:
    asked = reply(2, call("a"), call("b"))
    path = await session(tmp_path / "s.jsonl", (prompt(1), asked, result(3, asked, "b")))
    await went_on_from_the_end(path, result(4, asked, "a"), prompt(5, "on"))

    assert shapes(family_of(path)) == [Shape(("go on", "on"), goes_on=True)]


# --- deleting --------------------------------------------------------------------------------


async def test_a_session_is_deleted_with_all_that_lies_beside_it(tmp_path: Path) -> None:
    path = await session(tmp_path / "s.jsonl", SEEN)
    other = await session(tmp_path / "t.jsonl", SEEN)
    (tmp_path / "s" / "runs").mkdir(parents=True)

    delete(path)

    assert list(tmp_path.iterdir()) == [other]


async def test_a_session_that_is_being_written_is_not_deleted(tmp_path: Path) -> None:
    transcript = Transcript(tmp_path / "s.jsonl", session_id="s", cwd=tmp_path)
    await transcript.record(SEEN)

    with pytest.raises(TranscriptError, match="another process is writing this session"):
        delete(transcript.path)

    assert transcript.path.exists()
    transcript.close()
    delete(transcript.path)
    with pytest.raises(TranscriptError, match="cannot be read: No such file"):
        delete(transcript.path)
