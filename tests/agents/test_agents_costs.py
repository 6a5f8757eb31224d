"""What a tree spends stands on every book above it, and one budget bounds it whole."""

from __future__ import annotations

import pytest

from interlock import spending
from interlock.options import Options, PermissionMode
from interlock.scripted import ScriptedServer, SentRequest, reply
from interlock.scripted.replies import Answer
from tests.agent.support import MODEL, Room, results, tell
from tests.agents.families import by_prompt, children, first_words, hand, of

FREE = PermissionMode.BYPASS_PERMISSIONS


async def test_costs_and_tokens_are_booked_on_child_and_parent(room: Room) -> None:
    answers = by_prompt(
        {
            "go": [reply(hand("one"), hand("other", model="haiku")), reply("done")],
            "one": [reply(hand("below")), reply("ok")],
            "below": [reply("deep")],
            "other": [reply("ok")],
        }
    )
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "go")
        left = children(agent)
        kept = spending.total(agent.paths.costs)

    one, below, other = (left[f"do {name}"].result for name in ("one", "below", "other"))
    assert one["costUSD"] > below["costUSD"] > 0
    whole = told.summary
    assert set(whole.models) == {MODEL, "claude-haiku-5-5"}
    assert whole.models["claude-haiku-5-5"].cost == pytest.approx(other["costUSD"])
    assert whole.usage.output_tokens == sum(
        use.usage.output_tokens for use in whole.models.values()
    )
    assert whole.cost == pytest.approx(sum(use.cost or 0 for use in whole.models.values()))
    assert kept == pytest.approx(whole.cost)


async def test_a_parent_is_told_what_its_children_spent_before_its_next_request(
    room: Room,
) -> None:
    answers = by_prompt({"go": [reply(hand("one")), reply("done")], "one": [reply("ok")]})
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        told = await tell(agent, "go")

    asked = [record for record in told.trace if record.outcome == "Prepared"]
    assert [record.payload.get("cost", 0) > 0 for record in asked] == [False, True]


async def test_one_budget_bounds_the_whole_tree(room: Room) -> None:
    """Eight children that would each go on for ever, side by side."""

    def answer(request: SentRequest) -> Answer:
        if first_words(request) == "go":
            return reply(*(hand(f"n{number}") for number in range(8)))
        return reply({"type": "text", "text": "on"}, hand("deeper"))

    budget = 0.5
    options = Options(model=MODEL, permission_mode=FREE, max_budget_usd=budget)
    deep = {"INTERLOCK_MAX_AGENT_DEPTH": "1", "INTERLOCK_MAX_CONCURRENT_REQUESTS": "1"}
    async with (
        ScriptedServer(answer) as server,
        room.open(server, options=options, environ=deep) as agent,
    ):
        told = await tell(agent, "go")
        left = children(agent)

    assert told.summary.reason == "budget_exhausted"
    dearest = max((told.summary.cost or 0) / len(server.requests) * 4, 0.05)
    # Each child looks before each of its requests; one may be under way as the last cent goes.
    assert budget <= (told.summary.cost or 0) < budget + 8 * dearest
    assert {each.result["error"] for each in left.values()} == {"budget_exhausted"}


async def test_a_model_without_a_price_cannot_be_used_under_a_budget(room: Room) -> None:
    answers = by_prompt({"go": [reply(hand("one", model="local-model")), reply("done")]})
    options = Options(model=MODEL, permission_mode=FREE, max_budget_usd=1.0)
    async with ScriptedServer(answers) as server, room.open(server, options=options) as agent:
        await tell(agent, "go")

    assert "no price is known for the model local-model" in results(server.requests[1])[0][1]
    assert of(server.requests, "one") == []
