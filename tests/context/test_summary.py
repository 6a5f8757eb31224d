"""Summaries: what is asked, what is tried when it is too long, and what stands for the history."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import anyio
import pytest
from attrs import evolve, frozen
from hypothesis import given, settings

from interlock.context.keepsakes import Keepsake, Keepsakes, RecentFiles
from interlock.context.smaller import shortened, versions, weight, without_media, without_oldest
from interlock.context.stand_in import Shares, local_cut, parted, requests_of, summary_message
from interlock.context.summary import BRIEF, INSTRUCTION, TERSE, ModelSummariser
from interlock.testing import Answer, FakeClock, ScriptedModel, SequentialIds, fails
from interlock.testing import call as calls
from interlock.testing import says as writes
from phases.world.failures import FailureKind, RefusedBlock
from phases.world.limits import Limits
from phases.world.loop import Loop
from phases.world.messages import Kind, Media, Message, Text, Thinking, ToolResult, derived_id
from phases.world.ports import Summarised
from tests.context.sessions import (
    answer,
    call,
    loop_of,
    person_said,
    refused,
    results,
    round_,
    rounds,
    says,
    sessions,
    signed,
    user,
)

TOO_LONG = fails(FailureKind.PROMPT_TOO_LONG)
PICTURE = Media("image", "image/png", "x" * 400)
Messages = tuple[Message, ...]


@frozen(kw_only=True)
class Made:
    """A summary that was asked for, over a scripted model."""

    outcome: Summarised
    model: ScriptedModel
    clock: FakeClock

    @property
    def view(self) -> Messages:
        assert self.outcome.view is not None
        return self.outcome.view

    @property
    def sizes(self) -> list[int]:
        return [weight(request.messages) for request in self.model.requests]


def summarised(
    view: Messages,
    *answers: Answer,
    trigger: str = "reactive",
    loop: Loop | None = None,
    keepsakes: tuple[Keepsakes, ...] = (),
    **more: Any,
) -> Made:
    model, clock = ScriptedModel(list(answers), SequentialIds()), FakeClock()
    port = ModelSummariser(model=model, ids=SequentialIds(), clock=clock, keepsakes=keepsakes)

    async def ask() -> Summarised:
        return await port.summarise(loop or loop_of(view), view, trigger=trigger, **more)

    return Made(outcome=anyio.run(ask), model=model, clock=clock)


def words(messages: Messages) -> str:
    """All that these messages say, results included."""
    return "\n".join(
        part.text
        for message in messages
        for block in message.content
        for part in (block.content if isinstance(block, ToolResult) else (block,))
        if isinstance(part, Text)
    )


# --- what is asked -------------------------------------------------------------------------------


def test_the_request_is_the_sessions_own_with_one_instruction_at_its_end() -> None:
    view = (*rounds(3), says("that is it"), user("and now?"))

    made = summarised(view, writes("the summary"))

    (request,) = made.model.requests
    assert request.messages[:-1] == view
    assert request.messages[-1].text == INSTRUCTION
    assert (request.model, request.purpose) == ("model-a", "compact")
    assert made.outcome.problem is None


def test_a_focus_is_told_beside_the_instruction() -> None:
    made = summarised(rounds(1), writes("s"), trigger="manual", focus="the port number")

    assert made.model.requests[0].messages[-1].text.startswith(INSTRUCTION)
    assert "the port number" in made.model.requests[0].messages[-1].text


def test_calls_in_the_answer_are_ignored() -> None:
    made = summarised(rounds(1), calls(call(), text="the summary"))

    assert "the summary" in made.view[0].text
    assert not any(message.calls for message in made.view)


def test_what_it_cost_is_added_up_failed_tries_included() -> None:
    made = summarised(rounds(8), evolve(TOO_LONG, cost=0.25), writes("s", tokens=7))

    assert (made.outcome.cost, made.outcome.tokens) == (0.25 + 0.01, 7)


# --- too long ------------------------------------------------------------------------------------


def test_each_try_is_smaller_outputs_first_then_media_then_the_oldest_rounds() -> None:
    asked = call()
    shown = says(asked), results(ToolResult(asked.id, (Text("seen"), PICTURE)))
    view = (*rounds(6, "x" * 9_000), *shown, says("so"), user("go on"))

    made = summarised(view, TOO_LONG, TOO_LONG, TOO_LONG, writes("short summary"))

    whole, cut, bare, newest = (request.messages for request in made.model.requests)
    assert made.sizes == sorted(made.sizes, reverse=True)
    assert len(set(made.sizes)) == 4
    assert words(whole).count("x" * 9_000) == 6
    assert "x" * 9_000 not in words(cut)
    assert len(cut) == len(whole)
    assert "[image left out]" in words(bare)
    assert "oldest" in words(newest)
    assert person_said(newest) == person_said(whole)
    assert "short summary" in words(made.view)


def test_after_a_fixed_number_of_tries_the_history_is_cut_without_the_model() -> None:
    view = (*rounds(40, "x" * 5_000), says("that is it"), user("and now?"))

    made = summarised(view, *[TOO_LONG] * 4)

    assert len(made.model.requests) == Limits().max_summary_tries == 4
    assert made.outcome.problem == "scripted: prompt_too_long"
    summary, *newest, last = made.view
    assert summary.kind is Kind.SUMMARY
    assert "No summary could be written: scripted: prompt_too_long" in summary.text
    assert "Read (" in summary.text
    assert "[user] do it" in summary.text
    assert newest[-1].text == "that is it"
    assert last == view[-1]
    assert weight(made.view) < weight(view) / 2


def test_where_nothing_can_be_left_out_the_instruction_grows_shorter() -> None:
    made = summarised((user("hello"),), TOO_LONG, TOO_LONG, writes("short summary"))

    asked = [request.messages[-1].text for request in made.model.requests]
    assert asked == [INSTRUCTION, BRIEF, TERSE]
    assert made.sizes == sorted(made.sizes, reverse=True)


def test_a_request_known_to_be_too_long_is_not_sent() -> None:
    limits = Limits(context_window=20_000)
    view = rounds(10, "x" * 9_000)

    made = summarised(view, writes("s"), loop=loop_of(view, limits=limits))

    (request,) = made.model.requests
    assert weight(request.messages) < limits.hard_limit - limits.summary_room
    assert len(request.messages) == len(view) + 1  # shortened results were enough


def test_room_for_the_summary_is_kept_free_before_the_window_is_full() -> None:
    limits = Limits()

    assert limits.compact_at < limits.hard_limit - limits.summary_room
    assert Limits(context_window=32_768).summary_room == 4_096


def test_the_newest_result_is_shortened_too_where_it_alone_fills_the_window() -> None:
    view = (user("look"), *round_(call("Bash"), "start" + "y" * 900_000 + "LAST-LINE"))

    made = summarised(view, writes("s"))

    told = words(made.model.requests[0].messages)
    assert "start" in told
    assert "LAST-LINE" in told
    assert weight(made.view) < 1_000


def test_without_a_model_the_newest_result_is_shortened_too() -> None:
    view = (user("look"), *round_(call("Bash"), "start" + "y" * 900_000 + "LAST-LINE"))

    made = summarised(view, *[TOO_LONG] * 4)

    assert weight(made.view) < 5_000
    assert made.view[0].kind is Kind.SUMMARY


def test_where_the_fixed_part_leaves_no_room_there_is_no_view_and_no_request() -> None:
    view = rounds(2)

    made = summarised(view, loop=loop_of(view, fixed=250_000))

    assert made.outcome.view is None
    assert "the system prompt and the tools take about 250,000" in (made.outcome.problem or "")


# --- other failures ------------------------------------------------------------------------------


def test_what_may_pass_is_tried_again_after_a_short_wait() -> None:
    made = summarised(rounds(2), fails(FailureKind.OVERLOADED), writes("s"))

    assert made.clock.slept == [0.5]
    first, second = made.model.requests
    assert first == second
    assert made.outcome.problem is None


def test_where_the_model_stays_overloaded_a_fallback_model_writes_the_summary() -> None:
    view = (*rounds(2), *round_(call(), "text", thinks=True), says("so"))
    loop = loop_of(view)
    loop = evolve(loop, run=evolve(loop.run, models=("model-a", "model-b")))

    made = summarised(view, *[fails(FailureKind.OVERLOADED)] * 3, writes("s"), loop=loop)

    assert [request.model for request in made.model.requests] == ["model-a"] * 3 + ["model-b"]
    assert not any(
        isinstance(block, Thinking)
        for message in made.model.requests[-1].messages
        for block in message.content
    )
    assert made.outcome.problem is None


def test_what_does_not_pass_in_time_leads_to_the_cut_where_the_run_would_end_else() -> None:
    down = [fails(FailureKind.SERVER)] * 3

    assert summarised(rounds(9), *down).outcome.view is not None
    assert summarised(rounds(9), *down, trigger="manual").outcome.view is None
    assert summarised(rounds(9), *down, trigger="auto").outcome.view is None


def test_a_long_pause_that_the_server_asks_for_is_not_waited_for() -> None:
    made = summarised(rounds(9), fails(FailureKind.RATE_LIMITED, retry_after=600.0))

    assert made.clock.slept == []
    assert made.outcome.view is not None


@pytest.mark.parametrize("kind", [FailureKind.AUTHENTICATION, FailureKind.BILLING])
def test_a_history_is_not_cut_for_what_the_next_request_would_meet_too(kind: FailureKind) -> None:
    made = summarised(rounds(9), fails(kind))

    assert (made.outcome.view, len(made.model.requests)) == (None, 1)


@pytest.mark.parametrize("kind", [FailureKind.BLOCK_REFUSED, FailureKind.MEDIA_TOO_LARGE])
def test_a_refused_picture_in_the_history_is_left_out_of_the_next_try(kind: FailureKind) -> None:
    asked = call()
    view = (user("see"), says(asked), results(ToolResult(asked.id, (PICTURE,))), says("ah"))

    made = summarised(view, fails(kind), writes("s"))

    assert "[image left out]" in words(made.model.requests[1].messages)
    assert made.outcome.problem is None


# --- what stands for the history -----------------------------------------------------------------


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


# --- keepsakes -----------------------------------------------------------------------------------


@frozen
class Listed:
    """Keepsakes as a list."""

    items: tuple[Keepsake, ...]

    async def keepsakes(self, budget: int) -> tuple[Keepsake, ...]:
        return self.items


def test_keepsakes_follow_the_summary_in_one_note() -> None:
    plan = Listed((Keepsake("Plan", "1. mend it"),))

    made = summarised(rounds(1), writes("s"), keepsakes=(plan,))

    summary, kept = made.view
    assert (summary.kind, kept.kind) == (Kind.SUMMARY, Kind.NOTE)
    assert "Plan:\n1. mend it" in words((kept,))


def test_keepsakes_have_a_budget() -> None:
    many = Listed(tuple(Keepsake(f"Part {at}", "k" * 30_000) for at in range(50)))

    made = summarised(rounds(1), writes("s"), keepsakes=(many,))

    assert "Part 0" in words(made.view)
    assert "Part 49" not in words(made.view)
    assert weight(made.view) < Limits().keepsake_budget + 2_000


def test_the_files_that_were_read_last_are_put_back(tmp_path: Path) -> None:
    (tmp_path / "new.py").write_text("NEW = 1\n")
    (tmp_path / "old.py").write_text("OLD = 1\n" + "#" * 90_000)
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\0\0")
    (tmp_path / "forbidden.py").write_text("FORBIDDEN = 1\n")
    os.mkfifo(tmp_path / "pipe.py")
    names = ("new.py", "gone.py", "picture.png", "forbidden.py", "pipe.py", "old.py")
    files = RecentFiles(
        lambda: [tmp_path / name for name in names],
        Limits(),
        hides=lambda path: path.name == "forbidden.py",
    )

    kept = words(summarised(rounds(1), writes("s"), keepsakes=(files,)).view)

    assert "NEW = 1" in kept
    assert kept.index("new.py") < kept.index("old.py")
    assert "[cut here; read the file for the rest]" in kept
    assert "gone.py" not in kept
    assert "picture.png" not in kept
    assert "forbidden.py" not in kept
    assert "pipe.py" not in kept


# --- laws 5 and 6, over random histories ---------------------------------------------------------


@settings(max_examples=150, deadline=None)
@given(view=sessions())
def test_every_version_and_every_stand_in_is_a_history_that_the_server_takes(
    view: Messages,
) -> None:
    book = signed(view)

    for version in versions(view):
        assert refused(version, book) == ()
        assert person_said(version) == person_said(view)
    for room in (100, 1_000, 50_000):
        shares = Shares.of(room)
        parts = parted(view)
        local = local_cut(parts.past, "why", shares, media=True)
        summary = summary_message(SequentialIds().new(), local.left_out, local.words, shares)
        assert refused((summary, *local.newest, *parts.open), book) == ()


@settings(max_examples=100, deadline=None)
@given(view=sessions())
def test_each_version_is_smaller_than_the_one_before(view: Messages) -> None:
    sizes = [weight(version) for version in versions(view)]

    assert sizes == sorted(set(sizes), reverse=True)


def test_what_is_small_already_is_returned_as_it_is() -> None:
    view = rounds(3)

    assert shortened(view) == view
    assert all(one is other for one, other in zip(without_media(view), view, strict=True))
    assert without_oldest(view, weight(view)) is view
