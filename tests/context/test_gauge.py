"""What fills the window, in parts and by its heaviest item."""

from __future__ import annotations

from interlock.context.gauge import Part, fill, heaviest, held, render, told
from phases.world.limits import Limits
from phases.world.messages import Kind, Message, Text, Thinking, ToolResult, ToolUse
from phases.world.size import MEDIA_TOKENS, estimate
from tests.context.sessions import answer, call, loop_of, results, room, says, user
from tests.model.histories import PIXEL

READ = ToolUse("toolu_read", "Read", {"file_path": "a.py"})
BASH = ToolUse("toolu_bash", "Bash", {"command": "make"})
SESSION = (
    user("please " * 100),
    says(Thinking("hm " * 100, "sig"), "Let me look.", READ, BASH),
    results(answer(READ, "x" * 7_000)),
    results(answer(BASH, "y" * 35_000)),
    user("a reminder", kind=Kind.NOTE),
)


def named(view: tuple[Message, ...], fixed: int = 0) -> str:
    weights = [estimate(one) for one in view]
    return told(heaviest(view, weights, fixed=fixed, size=fixed + sum(weights)))


def test_the_parts_are_named_and_ordered_by_their_size() -> None:
    filled = fill(SESSION, loop_of(fixed=5_000))

    assert [part.name for part in filled.parts] == [
        "results of Bash",
        "system prompt, tools, notes",
        "results of Read",
        "the user's messages",
        "thinking",
        "calls of tools",
        "replies",
        "notes",
    ]
    assert sum(part.tokens for part in filled.parts) in range(filled.size - 40, filled.size + 40)


def test_pictures_are_counted_apart_from_the_results_that_hold_them() -> None:
    seen = ToolResult(READ.id, (Text("a picture"), PIXEL))
    view = (user("look"), says(READ), results(seen))

    parts = {part.name: part.tokens for part in fill(view, loop_of()).parts}

    assert parts["media"] == MEDIA_TOKENS
    assert parts["results of Read"] < 100


def test_the_parts_add_up_to_what_the_server_counted() -> None:
    filled = fill((*SESSION, says("so", counted=40_000)), loop_of(fixed=5_000))

    assert filled.size == 40_000
    assert abs(sum(part.tokens for part in filled.parts) - filled.size) < 10
    assert filled.heaviest.tokens <= filled.size


def test_the_heaviest_item_is_a_result_by_its_tool_and_call() -> None:
    assert named(SESSION) == f"result of Bash ({BASH.id}): 10,025 tokens"


def test_of_results_in_one_message_the_largest_is_named() -> None:
    both = results(answer(READ, "x" * 7_000), answer(BASH, "y" * 35_000))

    assert named((user("go"), says(READ, BASH), both)).startswith(f"result of Bash ({BASH.id})")


def test_the_fixed_part_is_named_where_nothing_is_larger() -> None:
    assert named(SESSION, fixed=12_000) == "system prompt, tools, notes: 12,000 tokens"
    assert named((), fixed=0) == "system prompt, tools, notes: 0 tokens"


def test_other_items_are_named_by_what_they_begin_with() -> None:
    write = call("Write", file_path="a.py", content="x" * 700)

    assert named((user("do  this " + "x" * 700),)).startswith(
        f'the user\'s message "do this {"x" * 32}…": '
    )
    assert named((says(write),)).startswith(f"call of Write ({write.id}): ")
    assert named((says("well " * 100),)).startswith('reply "well well ')
    assert named((user("so far", kind=Kind.SUMMARY),)).startswith("the summary: ")
    assert named((user("remember", kind=Kind.NOTE),)).startswith('note "remember": ')


def test_the_gauge_is_drawn_as_a_table_with_bars() -> None:
    loop = loop_of(fixed=5_000, limits=Limits(context_window=20_000))

    lines = render(fill(SESSION, loop)).splitlines()

    assert lines[0].endswith(" of 20,000 tokens (87%)")
    assert lines[1] == "  results of Bash                 10,026   50%  ##########"
    assert lines[2] == "  system prompt, tools, notes      5,000   25%  #####"
    assert lines[-1] == f"heaviest: result of Bash ({BASH.id}): 10,025 tokens"


def test_an_empty_window_can_be_drawn() -> None:
    assert render(fill((), loop_of(fixed=0))).splitlines() == [
        "0 of 200,000 tokens (0%)",
        "heaviest: system prompt, tools, notes: 0 tokens",
    ]


def test_a_level_finds_in_the_window_what_came_in_less_what_lighter_ones_freed() -> None:
    assert held(room(1_000, freed=300)) == 700
    assert held(room(100, freed=300)) == 0
    assert Part("a", 1_000) == Part("a", 1_000)
