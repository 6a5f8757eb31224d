"""After an overload: the fallback stays for the prompt, and the way back is the next one."""

from __future__ import annotations

import pytest

from interlock.cooldown import CoolDown
from interlock.options import Options, PermissionMode
from interlock.scripted import Answer, ScriptedServer, reply, status, thinking
from interlock.testing import FakeClock
from tests.agent.support import FALLBACK, MODEL, Room, sent, tell

BOTH = Options(
    model=MODEL,
    fallback_models=(FALLBACK,),
    permission_mode=PermissionMode.BYPASS_PERMISSIONS,
)
BUSY = status(529, "overloaded_error", "Overloaded")


def test_the_order_is_as_configured_until_a_model_is_overloaded() -> None:
    clock = FakeClock()
    cooldown = CoolDown(300.0, clock)

    before = cooldown.order(("a", "b", "b", "c"))
    cooldown.overloaded("a")
    during = cooldown.order(("a", "b", "c"))
    clock.now += 300.0
    after = cooldown.order(("a", "b", "c"))

    assert (before, during, after) == (("a", "b", "c"), ("b", "c", "a"), ("a", "b", "c"))


def test_where_all_are_cooling_the_configured_order_holds() -> None:
    cooldown = CoolDown(300.0, FakeClock())
    cooldown.overloaded("b")
    cooldown.overloaded("a")

    assert cooldown.order(("a", "b")) == ("a", "b")


def test_without_a_time_each_prompt_begins_with_the_first() -> None:
    cooldown = CoolDown(0.0, FakeClock())
    cooldown.overloaded("a")

    assert cooldown.order(("a", "b")) == ("a", "b")


@pytest.mark.parametrize("jump", [-86_400.0, 86_400.0], ids=["back", "forward"])
def test_a_clock_that_is_set_keeps_no_model_out_for_a_day(jump: float) -> None:
    clock = FakeClock()
    cooldown = CoolDown(300.0, clock)
    cooldown.overloaded("a")

    clock.now += jump

    assert cooldown.order(("a", "b")) == ("a", "b")


async def test_the_next_prompt_begins_with_the_fallback_until_the_time_is_up(room: Room) -> None:
    clock = FakeClock()
    answers: list[Answer] = [BUSY, reply("one"), reply("two"), reply("three")]
    async with (
        ScriptedServer(answers) as server,
        room.open(
            server, options=BOTH, clock=clock, environ={"INTERLOCK_MAX_RETRIES": "0"}
        ) as agent,
    ):
        for words in ("1", "2"):
            await tell(agent, words)
        clock.now += 301
        await tell(agent, "3")

        models = [request.body["model"] for request in server.requests]
        assert models == [MODEL, FALLBACK, FALLBACK, MODEL]
        assert server.verdict() == ()


async def test_back_at_the_first_model_what_the_other_thought_is_not_sent(room: Room) -> None:
    clock = FakeClock()
    thought = thinking("hm", "signed-by-the-fallback")
    answers: list[Answer] = [BUSY, reply(thought, "one"), reply("two")]
    async with (
        ScriptedServer(answers) as server,
        room.open(
            server,
            options=BOTH,
            clock=clock,
            environ={"INTERLOCK_MAX_RETRIES": "0", "MAX_THINKING_TOKENS": "2000"},
        ) as agent,
    ):
        await tell(agent, "1")
        clock.now += 301
        await tell(agent, "2")

        assert [block["type"] for block in sent(server.requests[-1])] == ["text"] * 3
        assert server.verdict() == ()
