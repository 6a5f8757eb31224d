"""Level 1: results that are too long go into files, their beginnings and ends stay."""

from __future__ import annotations

import re
import stat
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock.context.level import Level
from interlock.context.result_budget import ResultBudget
from phases.world.limits import Limits
from phases.world.messages import Media, Message, Text, ToolResult
from phases.world.size import estimate
from tests.context.sessions import answer, applied, call, results, room, says, user
from tests.model.histories import PIXEL

_IS_A_LEVEL: type[Level] = ResultBudget  # for the type checker
LIMITS = Limits(tool_output_cap=3_000, turn_output_cap=6_000)
LONG = "first line\n" + "x" * 50_000 + "\nlast line"


def turn(*texts: str) -> tuple[Message, ...]:
    asked = [call() for _ in texts]
    return (
        user("do it"),
        says(*asked),
        *(results(answer(*pair)) for pair in zip(asked, texts, strict=True)),
    )


def texts_of(messages: tuple[Message, ...]) -> list[str]:
    return [
        block.text
        for message in messages
        for block in message.content
        if isinstance(block, ToolResult)
    ]


def file_named_in(text: str) -> Path:
    found = re.search(r"the whole is in (\S+): page through it with Read", text)
    assert found is not None, text
    return Path(found[1])


async def test_a_long_result_keeps_its_beginning_and_end_and_names_a_file_with_the_whole(
    tmp_path: Path,
) -> None:
    messages = turn(LONG)
    folder = tmp_path / "tool-results"

    trimmed = await applied(ResultBudget(folder), messages, room(limits=LIMITS))

    (text,) = texts_of(trimmed.messages)
    assert len(text) <= LIMITS.tool_output_cap
    assert text.startswith("first line\n")
    assert text.endswith("\nlast line")
    path = file_named_in(text)
    assert path.parent == folder
    assert path.read_text() == LONG
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_the_call_the_message_and_what_was_typed_beside_the_result_stay_as_they_were(
    tmp_path: Path,
) -> None:
    asked = call()
    messages = (
        user("do it"),
        says(asked),
        results(answer(asked, LONG, is_error=True), typed="careful"),
    )

    trimmed = await applied(ResultBudget(tmp_path), messages, room(limits=LIMITS))

    assert trimmed.messages[:2] == messages[:2]
    after = trimmed.messages[2]
    result = after.content[0]
    assert isinstance(result, ToolResult)
    assert (after.id, after.kind) == (messages[2].id, messages[2].kind)
    assert (result.tool_use_id, result.is_error) == (asked.id, True)
    assert after.content[1:] == (Text("careful"),)


async def test_what_was_freed_is_the_difference_of_the_estimates(tmp_path: Path) -> None:
    messages = turn(LONG)

    trimmed = await applied(ResultBudget(tmp_path), messages, room(limits=LIMITS))

    assert trimmed.freed == sum(map(estimate, messages)) - sum(map(estimate, trimmed.messages))
    assert trimmed.freed > 10_000


async def test_short_results_give_back_the_very_same_tuple(tmp_path: Path) -> None:
    messages = turn("a" * 2_000, "b" * 2_000)

    trimmed = await applied(ResultBudget(tmp_path / "none"), messages, room(limits=LIMITS))

    assert trimmed.messages is messages
    assert trimmed.freed == 0
    assert not (tmp_path / "none").exists()


async def test_results_of_one_turn_share_a_budget_and_the_short_ones_are_left_alone(
    tmp_path: Path,
) -> None:
    messages = turn("short", "b" * 2_900, "c" * 2_900, "d" * 2_900)

    trimmed = await applied(ResultBudget(tmp_path), messages, room(limits=LIMITS))

    sizes = [len(text) for text in texts_of(trimmed.messages)]
    assert sizes[0] == len("short")
    assert sum(sizes) <= LIMITS.turn_output_cap
    assert min(sizes[1:]) > 1_800  # a fair share each


async def test_results_of_different_turns_do_not_share(tmp_path: Path) -> None:
    messages = (*turn("a" * 2_900, "b" * 2_900), *turn("c" * 2_900, "d" * 2_900)[1:])

    trimmed = await applied(ResultBudget(tmp_path), messages, room(limits=LIMITS))

    assert trimmed.messages is messages


async def test_a_small_window_makes_the_budget_smaller(tmp_path: Path) -> None:
    limits = Limits(context_window=8_000)  # half of it is some 14,000 characters
    messages = turn(*["x" * 20_000] * 4)

    trimmed = await applied(ResultBudget(tmp_path), messages, room(limits=limits))

    assert sum(map(len, texts_of(trimmed.messages))) <= 14_000


async def test_a_picture_in_a_result_stays(tmp_path: Path) -> None:
    asked = call()
    seen = ToolResult(asked.id, (Text(LONG), PIXEL))
    messages = (user("do it"), says(asked), results(seen))

    trimmed = await applied(ResultBudget(tmp_path), messages, room(limits=LIMITS))

    result = trimmed.messages[2].content[0]
    assert isinstance(result, ToolResult)
    assert [type(part) for part in result.content] == [Text, Media]


async def test_a_file_that_an_earlier_cut_names_is_named_again_and_not_written_twice(
    tmp_path: Path,
) -> None:
    earlier = tmp_path / "toolu_1-0.txt"
    earlier.write_text("the whole")
    cut = "x" * 4_000 + f"\n[... left out; the whole is in {earlier} ...]\n" + "y" * 4_000

    trimmed = await applied(ResultBudget(tmp_path), turn(cut), room(limits=LIMITS))

    (text,) = texts_of(trimmed.messages)
    assert file_named_in(text) == earlier
    assert list(tmp_path.iterdir()) == [earlier]


async def test_a_folder_that_cannot_be_written_is_told_and_the_result_is_cut_all_the_same(
    tmp_path: Path,
) -> None:
    (tmp_path / "file").write_text("in the way")

    trimmed = await applied(ResultBudget(tmp_path / "file"), turn(LONG), room(limits=LIMITS))

    (text,) = texts_of(trimmed.messages)
    assert len(text) <= LIMITS.tool_output_cap
    assert "the whole could not be saved: " in text


async def test_ids_of_calls_cannot_lead_out_of_the_folder_nor_share_a_file(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "in" / "here"
    messages: tuple[Message, ...] = (user("do it"),)
    for id_ in ("../../out", ".._.._out", "a" * 300):
        asked = call()
        result = ToolResult(id_, (Text(LONG),))
        messages += (says(asked), results(result))

    trimmed = await ResultBudget(folder).apply(messages, room(limits=LIMITS))

    files = {file_named_in(text) for text in texts_of(trimmed.messages)}
    assert len(files) == 3
    assert {path.parent for path in files} == {folder}


async def test_a_result_that_was_cut_comes_out_the_same_from_an_untrimmed_history(
    tmp_path: Path,
) -> None:
    # As after an interrupt: the view was made, and the history is what it was before.
    level = ResultBudget(tmp_path)
    messages = turn(LONG)
    first = await level.apply(messages, room(limits=LIMITS))

    again = await level.apply((*messages, user("go on")), room(limits=LIMITS))
    resumed = await ResultBudget(tmp_path).apply(messages, room(limits=LIMITS))

    assert again.messages[:-1] == first.messages
    assert resumed.messages == first.messages


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sizes=st.lists(st.integers(0, 40_000), max_size=6), cap=st.integers(0, 20_000))
async def test_whatever_the_sizes_a_second_look_changes_nothing(
    tmp_path: Path, sizes: list[int], cap: int
) -> None:
    limits = Limits(tool_output_cap=cap, turn_output_cap=2 * cap)
    messages = (*turn(*("x" * size for size in sizes)), user("go on"))

    trimmed = await applied(ResultBudget(tmp_path), messages, room(limits=limits))
    anew = await ResultBudget(tmp_path).apply(trimmed.messages, room(limits=limits))

    assert anew.messages is trimmed.messages
    assert trimmed.freed >= 0
