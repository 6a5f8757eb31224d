"""A client: many prompts in one session, and what can be done between and during them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import interlock
from interlock import Client, Result, UsageError, UserMessage
from interlock.scripted import Answer, SentRequest, reply, tool_use
from interlock.testing import Scene, scene
from tests.agent.support import held
from tests.api.test_api_query import elsewhere


def write(text: str) -> Answer:
    return reply("", tool_use("Write", {"file_path": "new.txt", "content": text}))


@pytest.mark.parametrize("wrong", [["str"], [5], b"x", None, {"a": 1}])
async def test_what_is_no_prompt_is_refused_and_spoils_no_later_one(
    tmp_path: Path, wrong: object
) -> None:
    async with scene([reply("one")], tmp_path) as place, Client(place.options()) as client:
        with pytest.raises(UsageError, match="is no prompt"):
            await client.run(wrong)  # type: ignore[arg-type]
        result = await client.run("1")

    assert result.text == "one"


async def test_prompts_of_a_client_share_one_history(tmp_path: Path) -> None:
    async with (
        scene([reply("one"), reply("two")], tmp_path) as place,
        Client(place.options()) as client,
    ):
        first = await client.run("1")
        second = await client.run("2")

    assert first.session_id == second.session_id
    assert [one["role"] for one in place.requests[1].body["messages"]] == [
        "user",
        "assistant",
        "user",
    ]


async def test_an_interrupt_ends_the_prompt_and_not_the_session(tmp_path: Path) -> None:
    async with (
        scene([reply("first words"), reply("again")], tmp_path) as place,
        held(place.server, b"first words") as line,
        Client(elsewhere(place.options(), line.url)) as client,
    ):
        result = None
        async for message in client.query("go"):
            if isinstance(message, interlock.RequestStarted):
                await place.server.wait_for_request(1)
                client.interrupt()
            result = message
        line.release()
        again = await client.run("once more")

    assert isinstance(result, Result)
    assert (result.reason, result.ok) == ("aborted_streaming", False)
    assert again.text == "again"


async def test_an_interrupt_before_the_first_step_counts(tmp_path: Path) -> None:
    async with (
        scene(lambda request: reply("never"), tmp_path) as place,
        Client(place.options()) as client,
    ):
        messages = client.query("go")
        async for message in messages:
            client.interrupt()
            last = message

    assert isinstance(last, Result)
    assert last.reason == "aborted_streaming"


async def test_words_said_meanwhile_are_read_between_two_turns(tmp_path: Path) -> None:
    answers = [reply("", tool_use("Glob", {"pattern": "*"})), reply("done")]
    async with scene(answers, tmp_path) as place, Client(place.options()) as client:
        said = []
        async for message in client.query("go"):
            if isinstance(message, interlock.ToolStarted):
                client.say("and be quick")
            if isinstance(message, UserMessage):
                said.append(message.text)
        unread = client.unread

    assert said == ["go", "and be quick"]
    assert unread == ()
    assert "and be quick" in str(place.requests[1].body["messages"])


async def test_model_and_mode_can_be_changed_between_prompts(tmp_path: Path) -> None:
    async with (
        scene([reply("one"), write("x"), reply("two")], tmp_path) as place,
        Client(place.options()) as client,
    ):
        await client.run("1")
        client.set_model("claude-haiku-4-5")
        client.set_permission_mode("acceptEdits")
        result = await client.run("2")

    assert [one.body["model"] for one in place.requests] == [
        "claude-sonnet-4-5",
        "claude-haiku-4-5",
        "claude-haiku-4-5",
    ]
    assert result.denials == ()
    assert (place.work / "new.txt").read_text() == "x"


async def test_what_was_used_and_what_fills_the_window_can_be_looked_at(tmp_path: Path) -> None:
    async with scene([reply("one")], tmp_path) as place, Client(place.options()) as client:
        result = await client.run("1")

        assert client.cost == result.cost
        assert set(client.models) == {"claude-sonnet-4-5"}
        assert client.context().size > 0
        assert client.transcript == result.transcript
        assert client.servers() == ()
        assert {"Read", "Bash"} <= set(client.tools)
        assert "general-purpose" in client.agents


async def test_a_result_has_the_cost_of_its_prompt_and_of_the_session(tmp_path: Path) -> None:
    async with (
        scene([reply("one"), reply("two")], tmp_path) as place,
        Client(place.options()) as client,
    ):
        first = await client.run("1")
        second = await client.run("2")

        assert first.cost == first.session_cost
        assert second.session_cost == client.cost
        assert second.cost is not None
        assert second.cost + (first.cost or 0.0) == pytest.approx(client.cost)
        assert 0 < second.cost < (client.cost or 0.0)


async def test_a_rewind_takes_back_files_and_words(tmp_path: Path) -> None:
    answers = [reply("hello"), write("x"), reply("written"), reply("back")]
    async with (
        scene(answers, tmp_path) as place,
        Client(place.options(permission_mode="acceptEdits")) as client,
    ):
        await client.run("say hello")
        await client.run("write it")
        assert (place.work / "new.txt").exists()
        planned = client.plan_rewind("write it")
        done = await client.rewind(client.points()[-1])
        await client.run("where are we?")

    assert planned.point.text == "write it"
    assert [one.path.name for one in done.back] == ["new.txt"]
    assert not (place.work / "new.txt").exists()
    assert "write it" not in str(place.requests[-1].body["messages"])


async def test_a_fork_goes_on_from_here_and_leaves_the_session_as_it_is(tmp_path: Path) -> None:
    async with (
        scene([reply("one"), reply("left"), reply("right")], tmp_path) as place,
        Client(place.options()) as client,
    ):
        await client.run("start")
        async with client.fork() as branch:
            other = await branch.run("go left")
        here = await client.run("go right")

    assert other.session_id != here.session_id
    assert "go left" not in str(place.requests[2].body["messages"])
    assert "start" in str(place.requests[1].body["messages"])


async def test_a_session_is_gone_on_with_by_its_title(tmp_path: Path) -> None:
    async with scene([reply("one"), reply("two")], tmp_path) as place:
        client = Client(place.options())
        async with client:
            first = await client.run("start")
            client.rename("the long job")
        again = await place.run("go on", place.options(resume="long job"))

    assert again.result.session_id == first.session_id


async def test_one_compacts_by_hand(tmp_path: Path) -> None:
    async with (
        scene([reply("one"), reply("<summary>so far</summary>")], tmp_path) as place,
        Client(place.options()) as client,
    ):
        await client.run("start")
        before = client.context().size
        await client.compact("the start")

        assert client.context().size != before


# --- misuse is told in one line --------------------------------------------------------------


async def test_a_second_prompt_at_once_is_refused(tmp_path: Path) -> None:
    async with scene([reply("one")], tmp_path) as place, Client(place.options()) as client:
        async for _ in client.query("1"):
            with pytest.raises(UsageError, match="a prompt is under way"):
                await client.run("2")


async def test_a_client_that_is_not_open_says_how_to_open_it() -> None:
    with pytest.raises(UsageError, match="async with Client"):
        await Client().run("hi")


async def test_a_closed_client_can_be_opened_again_as_another_session(tmp_path: Path) -> None:
    async with scene([reply("one"), reply("two")], tmp_path) as place:
        client = Client(place.options())
        async with client:
            first = await client.run("1")
        async with client:
            second = await client.run("2")

    assert first.session_id != second.session_id


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda client: client.set_permission_mode("yolo"), "there are default, acceptEdits"),
        (lambda client: client.set_model(" "), "model: ' ' is no name of a model"),
        (lambda client: client.set_model("a\nb"), "is no name of a model"),
        (lambda client: client.set_model(5), "Client.set_model: name: 5 is not text"),
        (lambda client: client.plan_rewind(b"x"), "plan_rewind: to: b'x' is not a Point"),
        (lambda client: client.say("x", priority="soon"), "there are now, next, later"),
        (lambda client: client.rename("x"), "nothing was said yet"),
        (lambda client: client.plan_rewind("x"), "nobody has said anything"),
        (lambda client: client.plan_rewind("x", "all"), "there are both, files, conversation"),
    ],
)
async def test_what_cannot_be_done_is_told_in_one_line(
    call: object, line: str, tmp_path: Path
) -> None:
    assert callable(call)
    async with scene([], tmp_path) as place, Client(place.options()) as client:
        with pytest.raises(UsageError, match=line):
            call(client)


async def test_what_a_session_was_can_be_read_when_it_is_closed(tmp_path: Path) -> None:
    client = Client()
    with pytest.raises(UsageError, match="the client is not open"):
        assert client.session_id

    async with scene([reply("one")], tmp_path) as place:
        client = Client(place.options())
        async with client:
            result = await client.run("1")

        assert client.session_id == result.session_id
        assert client.transcript == result.transcript
        assert client.cost == result.session_cost
        with pytest.raises(UsageError, match="the client is not open"):
            client.interrupt()


async def test_an_empty_prompt_is_refused_and_the_next_one_runs(tmp_path: Path) -> None:
    async with scene([reply("one")], tmp_path) as place, Client(place.options()) as client:
        with pytest.raises(UsageError, match="the prompt is empty"):
            await client.run("  ")
        result = await client.run("1")

    assert result.text == "one"


async def test_a_client_may_be_closed_in_another_task_than_it_was_opened_in(
    tmp_path: Path,
) -> None:
    import asyncio

    async with scene([reply("one")], tmp_path) as place:
        client = await asyncio.create_task(Client(place.options()).__aenter__())
        result = await asyncio.create_task(client.run("1"))
        await asyncio.create_task(client.aclose())

    assert result.text == "one"


# --- sub-agents ------------------------------------------------------------------------------


def by_agent(request: SentRequest) -> Answer:
    said = str(request.body["messages"])
    if "count the files" in said and "delegate" not in said:
        return reply("there are none")
    if "there are none" in said:
        return reply("none, says the counter")
    call = {"description": "count", "prompt": "count the files", "subagent_type": "counter"}
    return reply("", tool_use("Agent", call))


async def test_what_a_sub_agent_says_has_its_agent(tmp_path: Path) -> None:
    counter = interlock.AgentDefinition(
        name="counter", description="counts", prompt="You count files."
    )
    async with scene(by_agent, tmp_path) as place:
        options = place.options(agents=[counter], permission_mode="bypassPermissions")
        ran = await place.run("delegate it", options)

    said = [one for one in ran.messages if isinstance(one, interlock.AssistantMessage)]
    assert [(one.text, one.agent.type if one.agent else None) for one in said] == [
        ("", None),
        ("there are none", "counter"),
        ("none, says the counter", None),
    ]
    assert ran.result.text == "none, says the counter"


def kinds(messages: Sequence[interlock.AnyMessage]) -> list[str]:
    return [type(one).__name__ for one in messages]


async def test_init_comes_first_and_the_result_last(tmp_path: Path) -> None:
    async with scene([reply("one")], tmp_path) as place:
        ran = await place.run("1")

    assert (kinds(ran.messages)[0], kinds(ran.messages)[-1]) == ("Init", "Result")
    assert isinstance(place, Scene)
