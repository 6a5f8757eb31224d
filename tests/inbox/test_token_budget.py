"""A token budget, asked for in words or by flag: used up, or given up early, and said aloud."""

from __future__ import annotations

import pytest

from interlock.cli.flags import parse
from interlock.cli.headless import options_of
from interlock.errors import UsageError
from interlock.options import Options, PermissionMode
from interlock.scripted import Reply, ScriptedServer, reply
from interlock.testing import Stage, play, says
from interlock.token_budget import amount_of, asked_for
from recovery.reducers import NUDGE
from tests.agent.support import MODEL, Room, tell
from tests.inbox.looking import last_said, notices


@pytest.mark.parametrize(
    ("prompt", "budget"),
    [
        ("+500k fix the tests", 500_000),
        ("+500K", 500_000),
        ("fix the tests +500k", 500_000),
        ("fix the tests, +1.5m.", 1_500_000),
        ("  +2M, then stop", 2_000_000),
        ("use 2M tokens", 2_000_000),
        ("Use 500k tokens: find all bugs", 500_000),
        ("find all bugs, spend 20000 tokens", 20_000),
        ("find all bugs\nuse 2 m tokens!", 2_000_000),
        # Prose, numbers and half words are none.
        ("", None),
        ("fix the tests", None),
        ("+500 lines", None),
        ("+500kg of flour", None),
        ("a+500k", None),
        ("it grew by +500k since then", None),
        ("why does it use 500k tokens here", None),
        ("use 500k", None),
        ("how can I use 2M tokens?", None),
        ("reuse 500k tokens", None),
        ("+0k", None),
        ("+1234567890k", None),
        ("+1.k", None),
        ("-500k", None),
    ],
)
def test_a_budget_is_the_first_or_the_last_words_of_a_prompt(
    prompt: str, budget: int | None
) -> None:
    assert asked_for(prompt) == budget


@pytest.mark.parametrize(
    ("text", "amount"),
    [("500000", 500_000), ("500k", 500_000), ("2M", 2_000_000), ("0", None), ("x", None)],
)
def test_the_flag_takes_numbers_as_prompts_do(text: str, amount: int | None) -> None:
    assert amount_of(text) == amount


def test_the_flag_reaches_the_options() -> None:
    assert options_of(parse(["--token-budget", "500k", "go"])).token_budget == 500_000
    assert options_of(parse(["go"])).token_budget is None


def test_a_flag_that_is_no_amount_is_refused() -> None:
    with pytest.raises(UsageError, match="no number of tokens"):
        parse(["--token-budget", "much", "go"])


# --- what is said about it ---------------------------------------------------------------------


def test_each_nudge_and_the_end_are_told_with_the_per_cent_reached() -> None:
    run = play(says("a", tokens=600), says("b", tokens=500), stage=Stage(token_budget=1_200))

    assert notices(run.updates) == [
        "token budget: 50 % used (600 of 1,200); going on (nudge 1 of 12)",
        "token budget: 92 % used (1,100 of 1,200); that is enough",
    ]


def test_diminishing_returns_are_told_as_what_they_are() -> None:
    answers = [says(text, tokens=gain) for text, gain in (("a", 900), ("b", 80), ("c", 60))]

    run = play(*answers, stage=Stage(token_budget=10_000))

    assert notices(run.updates)[-1] == (
        "token budget: 10 % used (1,040 of 10,000); stopped early: going on brought little"
        " (diminishing returns)"
    )


def test_without_a_budget_and_in_a_sub_agent_nothing_is_said() -> None:
    alone = play(says("a"))
    child = play(says("a"), stage=Stage(token_budget=1_000, agent_id="child"))

    assert notices(alone.updates) == notices(child.updates) == []


# --- the whole agent ---------------------------------------------------------------------------


def says_so_much(text: str, tokens: int) -> Reply:
    return reply(text, usage={"output_tokens": tokens})


def budget_notices(found: list[str]) -> list[str]:
    return [text for text in found if text.startswith("token budget")]


async def test_a_budget_in_the_prompt_is_used_and_its_words_are_sent(room: Room) -> None:
    answers = [says_so_much("some", 600), says_so_much("more", 600)]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "+1k find all bugs")

        assert told.trace.reasons == ("token_budget_continuation",)
        assert last_said(server.requests[0]) == [("text", "+1k find all bugs")]
        assert last_said(server.requests[1]) == [("text", NUDGE.format(spent=600, budget=1_000))]
        assert len(budget_notices(notices(told.updates))) == 2
        assert server.verdict() == ()


async def test_data_beside_what_was_typed_gives_no_orders(room: Room) -> None:
    async with ScriptedServer([reply("fine")]) as server, room.open(server) as agent:
        summary = await agent.prompt(
            "Review this\n\n-limit\n+500k", lambda update: None, typed="Review this"
        )

        assert summary.turns == 1
        assert len(server.requests) == 1


async def test_a_budget_of_the_options_holds_for_prompts_that_name_none(room: Room) -> None:
    options = Options(
        model=MODEL, token_budget=1_000, permission_mode=PermissionMode.BYPASS_PERMISSIONS
    )
    answers = [says_so_much(text, 950) for text in ("a", "b", "c")]
    async with ScriptedServer(answers) as server, room.open(server, options=options) as agent:
        by_option = await tell(agent, "find all bugs")
        by_words = await tell(agent, "find more, use 1500 tokens")

        assert by_option.trace.reasons == ()
        assert by_words.trace.reasons == ("token_budget_continuation",)


async def test_without_one_the_run_ends_with_the_answer(room: Room) -> None:
    async with ScriptedServer([reply("done")]) as server, room.open(server) as agent:
        told = await tell(agent, "find all bugs")

    assert told.trace.reasons == ()
    assert budget_notices(notices(told.updates)) == []
