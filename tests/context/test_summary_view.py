"""What stands for the history behind a summary."""

from __future__ import annotations

from attrs import evolve

from interlock.context.smaller import weight
from interlock.context.stand_in import Shares, parted, requests_of, summary_message
from interlock.context.summary import INSTRUCTION
from interlock.testing import Answer, SequentialIds, fails
from interlock.testing import says as writes
from phases.world.failures import FailureKind, RefusedBlock
from phases.world.limits import Limits
from phases.world.messages import Kind, Media, Message, Text, ToolResult, derived_id
from tests.context.sessions import answer, call, loop_of, results, round_, rounds, says, user
from tests.context.summaries import PICTURE, TOO_LONG, summarised, words


def test_a_block_that_is_refused_goes_alone_and_the_rest_is_summarised() -> None:
    view = (*rounds(2), says("that is it"))
    place = RefusedBlock(message_id=view[-1].id, block=0)
    bad = fails(FailureKind.BLOCK_REFUSED, refused=(place,))

    made = summarised(view, bad, writes("the summary"))

    first, second = made.model.requests
    assert first.messages[:-2] == second.messages[:-2] == view[:-1]
    assert second.messages[-2].text.startswith("[taken out: ")
    assert second.messages[-1].text == INSTRUCTION
    assert made.outcome.problem is None
    assert "the summary" in words(made.view)


def test_blocks_that_are_refused_again_and_again_end_in_the_cut() -> None:
    view = (*rounds(2), says("that is it"))

    def refusing(message_id: str) -> Answer:
        place = RefusedBlock(message_id=message_id, block=0)
        return fails(FailureKind.BLOCK_REFUSED, refused=(place,))

    ids = [view[-1].id]
    while len(ids) < 4:
        ids.append(derived_id(ids[-1], "mended"))
    limits = evolve(Limits(), max_mends=3, max_summary_tries=1)
    made = summarised(view, *map(refusing, ids), loop=loop_of(view, limits=limits))

    assert len(made.model.requests) == 4
    assert made.outcome.problem is not None


def test_the_users_words_stay_verbatim_also_across_a_second_compaction() -> None:
    first = summarised((user("Use port 8080.\n  Indented."), says("ok")), writes("one")).view
    view = (*first, says("going on"), user("And no tabs!"), says("sure"), user("next"))

    second = summarised(view, writes("two")).view

    assert requests_of(second[:1]) == ["[user] Use port 8080.\n  Indented.", "[user] And no tabs!"]
    assert "two" in second[0].text
    assert second[1:] == view[-1:]


def test_the_oldest_requests_go_first_where_they_are_too_many() -> None:
    past = tuple(user(f"request {at} " + "z" * 3_000) for at in range(20))

    message = summary_message(SequentialIds().new(), past, "s", Shares.of(20_000))

    kept = requests_of((message,))
    assert kept[0] == "[older messages of the user are left out]"
    assert kept[-1].startswith("[user] request 19 ")
    assert weight((message,)) < 5_000
    again = summary_message(SequentialIds().new(), (message,), "s", Shares.of(20_000))
    assert requests_of((again,)) == kept


def test_a_giant_request_is_told_by_its_beginning_and_its_end() -> None:
    past = (user("BEGIN" + "z" * 900_000 + "END"),)

    kept = requests_of((summary_message(SequentialIds().new(), past, "s", Shares.of(20_000)),))

    assert kept[0].startswith("[user] BEGIN")
    assert kept[0].endswith("END")


def test_words_typed_while_a_tool_ran_are_a_request() -> None:
    asked = call("Bash")
    view = (user("start"), says(asked), results(answer(asked), typed="keep port 8080"), says("k"))

    assert requests_of(summarised(view, writes("s")).view[:1]) == [
        "[user] start",
        "[user] keep port 8080",
    ]


def test_an_open_prompt_stays_as_it_is_behind_the_summary() -> None:
    view = (*rounds(2), says("done"), user("queued first"), user("and now?"))

    made = summarised(view, writes("s"))

    assert made.view[1:] == view[-2:]
    assert requests_of(made.view[:1]) == ["[user] do it"]


def test_a_prompt_behind_open_results_stays_and_the_round_goes_whole() -> None:
    view = (*rounds(2), user("typed meanwhile"))

    made = summarised(view, writes("s"))

    assert made.view[1:] == view[-1:]
    assert not any(isinstance(block, ToolResult) for one in made.view for block in one.content)


def test_an_open_call_goes_with_its_thinking_and_its_result() -> None:
    view = (user("do it"), *round_(call(), thinks=True), *round_(call(), thinks=True))

    made = summarised(view, writes("s"))

    assert [one.kind for one in made.view] == [Kind.SUMMARY]
    assert made.model.requests[0].messages[:-1] == view


def test_words_of_a_hook_behind_an_answer_stay() -> None:
    view = (*rounds(1), says("done"), user("tests fail", kind=Kind.NOTE))

    assert parted(view).open == view[-1:]


def test_a_prompt_that_fills_most_of_the_window_is_not_cut_but_refused() -> None:
    view = (*rounds(1), says("done"), user("z" * 500_000))

    made = summarised(view, writes("s"))

    assert made.outcome.view is None
    assert "the last prompt alone takes about 142," in (made.outcome.problem or "")
    assert made.model.requests == []


def test_a_prompt_that_fits_beside_a_summary_stays_word_for_word() -> None:
    view = (*rounds(1), says("done"), user("z" * 300_000))

    made = summarised(view, writes("s"))

    assert made.view[-1] is view[-1]


def test_a_prompt_that_was_refused_does_not_take_the_next_one_down() -> None:
    view = (*rounds(1), says("done"), user("z" * 500_000), user("something small"))

    made = summarised(view, writes("s"))

    assert made.view[-1] is view[-1]
    assert weight(made.view) < 60_000


def test_a_first_prompt_too_large_for_a_summary_is_refused_too() -> None:
    made = summarised((user("z" * 300_000),), writes("s"))

    assert made.outcome.view is None


def test_media_that_were_the_cause_are_left_out_for_good() -> None:
    seen = Message(
        id=derived_id(user("").id, "a"), role="user", kind=Kind.PROMPT, content=(PICTURE,)
    )
    view = (*rounds(1), says("done"), evolve(seen, content=(Text("look"), PICTURE)))

    made = summarised(view, writes("s"), media=False)

    everything = (*made.view, *made.model.requests[0].messages)
    assert not any(isinstance(block, Media) for one in everything for block in one.content)
    assert made.view[-1].id != view[-1].id  # so that the transcript holds the change
    assert "[image left out]" in words(made.view)


def test_replies_that_are_kept_no_longer_say_how_long_the_request_was() -> None:
    view = (*rounds(40, "x" * 5_000), says("that is it", counted=190_000), user("and now?"))

    made = summarised(view, *[TOO_LONG] * 4)

    kept = [one for one in made.view if one.origin is not None]
    assert kept
    assert all(one.origin.usage.prompt_tokens == 0 for one in kept if one.origin is not None)
