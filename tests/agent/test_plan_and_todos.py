"""Plan mode and the to-do list through a whole session: approval, refusal, summaries, resumes."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import define, field

from interlock.options import Options, PermissionMode, Resume
from interlock.permissions import Answer, Decision, Question
from interlock.scripted import ScriptedServer, reply, tool_use
from tests.agent.support import MODEL, Room, results, sent, tell

CAREFUL = Options(model=MODEL)
PLANNING = Options(model=MODEL, permission_mode=PermissionMode.PLAN)
PLAN = "1. Write new.txt."
YES = Answer(allowed=True, reason="the user allowed it")
NO = Answer(allowed=False, reason="the user said no: first the tests")


@define
class Person:
    """Gives these answers, one to each question."""

    answers: list[Answer]
    asked: list[str] = field(factory=list)

    async def ask(self, question: Question, decision: Decision) -> Answer:
        self.asked.append(question.tool)
        return self.answers.pop(0)


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room.made(tmp_path)


WRITE = reply(tool_use("Write", {"file_path": "new.txt", "content": "new"}))
ENTER = reply(tool_use("EnterPlanMode", {}))
PRESENT = reply(tool_use("ExitPlanMode", {"plan": PLAN}))


async def test_a_plan_is_refused_planned_again_approved_and_done(room: Room) -> None:
    person = Person([NO, YES, YES])
    answers = [ENTER, WRITE, PRESENT, WRITE, PRESENT, WRITE, reply("Done.")]
    async with (
        ScriptedServer(answers) as server,
        room.open(server, options=CAREFUL, asker=person) as agent,
    ):
        await tell(agent, "write it, but plan first")

        told = [results(request)[0] for request in server.requests[1:]]
        assert [error for _, _, error in told] == [False, True, True, True, False, False]
        assert "first the tests" in told[2][1]
        assert person.asked == ["ExitPlanMode", "ExitPlanMode", "Write"]
        assert str(agent.paths.plan) in told[4][1]
        assert agent.paths.plan.read_text() == f"{PLAN}\n"
        assert agent.permission_mode is PermissionMode.DEFAULT
    assert (room.work / "new.txt").read_text() == "new"


async def test_while_it_is_on_the_model_is_told_with_each_prompt(room: Room) -> None:
    async with (
        ScriptedServer([reply("Yes."), reply("Yes.")]) as server,
        room.open(server, options=PLANNING, asker=Person([])) as agent,
    ):
        await tell(agent, "plan it")
        agent.set_permission_mode(PermissionMode.DEFAULT)
        await tell(agent, "and now?")

    counts = [str(sent(request)).count("Plan mode is on") for request in server.requests]
    assert counts == [1, 1]


async def test_where_nobody_can_approve_the_plan_is_the_answer(room: Room) -> None:
    async with (
        ScriptedServer([WRITE, reply(PLAN)]) as server,
        room.open(server, options=PLANNING) as agent,
    ):
        told = await tell(agent, "plan it")

    assert "give the whole plan as your answer" in str(sent(server.requests[0]))
    assert results(server.requests[1])[0][2]
    assert (told.ending, told.typed) == (("completed", None), PLAN)


async def test_the_plan_and_its_mode_survive_summaries_and_resumes(room: Room) -> None:
    answers = [
        PRESENT,
        *(reply(word) for word in ("Yes.", "A summary.", "On.", "Another.", "On.")),
    ]
    again = Options(model=MODEL, resume=Resume(over_mode=True))
    async with ScriptedServer(answers) as server:
        async with room.open(server, options=PLANNING, asker=Person([])) as agent:
            assert await agent.compact(lambda update: None) is not None  # nothing was said yet
        async with room.open(server, options=PLANNING, asker=Person([YES])) as agent:
            await tell(agent, "plan it")
            assert await agent.compact(lambda update: None) is None
            await tell(agent, "on")
        async with room.open(server, options=again, asker=Person([])) as agent:
            assert agent.permission_mode is PermissionMode.DEFAULT
            assert await agent.compact(lambda update: None) is None
            await tell(agent, "on")

    for request in (server.requests[3], server.requests[5]):
        assert f"The plan that the user approved ({agent.paths.plan}):\\n{PLAN}" in str(
            sent(request)
        )


async def test_a_session_left_in_plan_mode_is_in_it_again(room: Room) -> None:
    again = Options(model=MODEL, resume=Resume(over_mode=True))
    async with ScriptedServer([ENTER, reply("Yes."), WRITE, reply("No.")]) as server:
        async with room.open(server, options=CAREFUL, asker=Person([])) as agent:
            await tell(agent, "plan it")
        async with room.open(server, options=again, asker=Person([])) as agent:
            await tell(agent, "write it")

    assert "Plan mode is on" in str(sent(server.requests[2]))
    assert results(server.requests[3])[0][2]
    assert not (room.work / "new.txt").exists()


# --- the to-do list ---


def todos(*statuses: str) -> dict[str, object]:
    listed = [
        {"content": f"Step {at}", "status": status, "activeForm": f"Doing step {at}"}
        for at, status in enumerate(statuses, 1)
    ]
    return {"todos": listed}


async def test_one_todo_is_in_progress_from_the_first_to_the_last(room: Room) -> None:
    states = [
        ("in_progress", "pending"),
        ("in_progress", "in_progress"),
        ("pending", "pending"),
        ("completed", "in_progress"),
        ("completed", "completed"),
    ]
    answers = [reply(tool_use("TodoWrite", todos(*state))) for state in states]
    async with (
        ScriptedServer([*answers, reply("Done.")]) as server,
        room.open(server) as agent,
    ):
        await tell(agent, "go")

    told = [results(request)[0][2] for request in server.requests[1:]]
    assert told == [False, True, True, False, False]


async def test_an_open_list_is_put_back_beside_summaries_also_after_a_resume(room: Room) -> None:
    answers = [
        reply(tool_use("TodoWrite", todos("completed", "in_progress"))),
        *(reply(word) for word in ("Yes.", "A summary.", "On.", "Another.", "On.")),
    ]
    async with ScriptedServer(answers) as server:
        async with room.open(server) as agent:
            await tell(agent, "go")
            assert await agent.compact(lambda update: None) is None
            await tell(agent, "on")
        async with room.open(server, options=Options(model=MODEL, resume=Resume())) as agent:
            assert await agent.compact(lambda update: None) is None
            await tell(agent, "on")

    for request in (server.requests[3], server.requests[5]):
        assert "[x] Step 1\\n[>] Step 2" in str(sent(request))
