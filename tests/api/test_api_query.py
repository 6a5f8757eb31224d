"""One prompt: its messages, its result, and what is left when nobody reads on."""

from __future__ import annotations

import asyncio
import base64
import os
import signal
import subprocess
import sys
from contextlib import aclosing
from pathlib import Path

import pytest
from attrs import evolve

import interlock
from interlock import (
    AgentOptions,
    AssistantMessage,
    Init,
    Notice,
    Result,
    Text,
    TextArrived,
    ToolResultMessage,
    UserMessage,
)
from interlock.scripted import Answer, Reply, SentRequest, ServerThread, reply, status, tool_use
from interlock.testing import scene
from tests.agent.support import held, living, unanswered
from tests.waiting import wait_until


@interlock.tool
def weather(city: str) -> str:
    """Tells the weather of a city."""
    return f"sunny in {city}"


def ours() -> set[str]:
    """The names of the tasks of ours that are not over."""
    return {task.get_name() for task in asyncio.all_tasks() if "interlock" in task.get_name()}


async def test_a_run_is_told_message_by_message_and_ends_in_its_result(tmp_path: Path) -> None:
    answers = [reply("Look:", tool_use("weather", {"city": "Rome"})), reply("It is sunny.")]
    async with scene(answers, tmp_path) as place:
        options = place.options(tools=[weather], allowed_tools="weather")
        ran = await place.run("How is Rome?", options)

    init, prompt, *_ = ran.messages
    assert isinstance(init, Init)
    assert (init.session_id, init.cwd) == (ran.result.session_id, place.work)
    assert "weather" in init.tools
    assert isinstance(prompt, UserMessage)
    assert prompt.text == "How is Rome?"
    said = [one for one in ran.messages if isinstance(one, AssistantMessage)]
    assert [one.text for one in said] == ["Look:", "It is sunny."]
    assert [call.name for call in said[0].calls] == ["weather"]
    (result,) = (one for one in ran.messages if isinstance(one, ToolResultMessage))
    assert (result.tool, result.input, result.text) == (
        "weather",
        {"city": "Rome"},
        "sunny in Rome",
    )
    assert ran.result.text == "It is sunny."
    assert (ran.result.reason, ran.result.turns, ran.result.ok) == ("completed", 2, True)
    assert set(ran.result.models) == {"claude-sonnet-4-5"}
    assert ran.result.transcript.exists()
    assert ran.result.trace.exists()


async def test_text_is_told_as_it_arrives_only_to_those_who_ask_for_it(tmp_path: Path) -> None:
    async with scene([reply("one"), reply("two")], tmp_path) as place:
        plain = await place.run("1")
        partial = await place.run("2", place.options(partial_messages=True))

    assert not any(isinstance(one, TextArrived) for one in plain.messages)
    assert [one.text for one in partial.messages if isinstance(one, TextArrived)] == ["two"]


async def test_a_run_that_fails_is_a_result_and_an_error_only_where_that_is_asked_for(
    tmp_path: Path,
) -> None:
    async with scene([status(401, "authentication_error", "bad key")], tmp_path) as place:
        ran = await place.run("hi")

    assert not ran.result.ok
    assert ran.result.error_kind == "api_error"
    with pytest.raises(interlock.RunFailed) as failed:
        ran.result.raise_for_error()
    assert failed.value.result is ran.result
    assert str(failed.value) == ran.result.error


async def test_data_beside_a_prompt_gives_no_orders(tmp_path: Path) -> None:
    async with scene([reply("seen")], tmp_path) as place:
        (place.work / "secret.txt").write_text("hidden")
        async with interlock.Client(place.options()) as client:
            await client.run("Review this", data="@secret.txt +500k")

    text = str(place.requests[0].body["messages"])
    assert "Review this\\n\\n@secret.txt +500k" in text
    assert "hidden" not in text


async def test_a_picture_can_be_a_part_of_a_prompt(tmp_path: Path) -> None:
    dot = base64.b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
        "gg=="
    )
    async with (
        scene([reply("a dot")], tmp_path) as place,
        interlock.Client(place.options()) as client,
    ):
        result = await client.run([interlock.image(dot), Text("What is it?")])

    sent = place.requests[0].body["messages"][-1]["content"]
    assert result.text == "a dot"
    assert "image" in [block["type"] for block in sent]
    with pytest.raises(interlock.UsageError, match="no picture the API takes"):
        interlock.image(b"no picture")


# --- leaving early ---------------------------------------------------------------------------


def slowly(request: SentRequest) -> Answer:
    return reply("the first words and many more to come")


async def test_who_closes_the_run_early_has_ended_it(tmp_path: Path) -> None:
    async with scene(slowly, tmp_path) as place, held(place.server, b"first words") as line:
        options = elsewhere(place.options(), line.url)
        async with aclosing(interlock.query("go", options)) as messages:
            async for message in messages:
                if isinstance(message, interlock.RequestStarted):
                    await place.server.wait_for_request(1)
                    break

        assert ours() == set()


async def test_a_break_ends_the_run_beside_what_comes_next(tmp_path: Path) -> None:
    async with scene(slowly, tmp_path) as place, held(place.server, b"first words") as line:
        options = elsewhere(place.options(), line.url)
        async for message in interlock.query("go", options):
            if isinstance(message, interlock.RequestStarted):
                await place.server.wait_for_request(1)
                break

        await until_over()


async def test_a_break_before_anything_began_ends_the_run_all_the_same(tmp_path: Path) -> None:
    async with scene(slowly, tmp_path) as place, held(place.server, b"first words") as line:
        async for message in interlock.query("go", elsewhere(place.options(), line.url)):
            assert isinstance(message, Init)
            break

        await until_over()


async def test_a_reader_that_is_cancelled_leaves_nothing_running(tmp_path: Path) -> None:
    async with scene(slowly, tmp_path) as place, held(place.server, b"first words") as line:
        options = elsewhere(place.options(), line.url)
        reader = asyncio.create_task(interlock.run_async("go", options))
        await place.server.wait_for_request(1)
        reader.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reader

        assert ours() == set()


async def test_what_is_cancelled_while_it_opens_leaves_nothing_either(tmp_path: Path) -> None:
    async with scene([], tmp_path) as place:
        opening = asyncio.create_task(interlock.Client(place.options()).__aenter__())
        await asyncio.sleep(0)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening

        assert ours() == set()


def elsewhere(options: AgentOptions, url: str) -> AgentOptions:
    return evolve(options, base_url=url)


async def until_over() -> None:
    while ours():
        await asyncio.wait({task for task in asyncio.all_tasks() if task.get_name() in ours()})


async def test_many_runs_side_by_side_are_strangers(tmp_path: Path) -> None:
    def answer(request: SentRequest) -> Reply:
        said = request.body["messages"][-1]["content"]
        return reply(f"answer to {said if isinstance(said, str) else said[-1]['text']}")

    async with scene(answer, tmp_path) as place:
        runs = [interlock.run_async(f"question {n}", place.options()) for n in range(20)]
        results = await asyncio.gather(*runs)

    assert [one.text for one in results] == [f"answer to question {n}" for n in range(20)]
    assert len({one.session_id for one in results}) == 20


# --- without a loop --------------------------------------------------------------------------


def options_for(server: ServerThread, folder: Path) -> AgentOptions:
    return AgentOptions(
        cwd=folder,
        home=folder / "home",
        base_url=server.base_url,
        api_key="key",
        setting_sources=(),
    )


def test_run_needs_no_event_loop(tmp_path: Path) -> None:
    with ServerThread([reply("Hello.")]) as server:
        result = interlock.run("hi", options_for(server, tmp_path))

    assert result.raise_for_error().text == "Hello."


async def test_run_says_what_to_use_where_a_loop_is_running(tmp_path: Path) -> None:
    with pytest.raises(interlock.WrongLoop, match=r"await interlock\.run_async"):
        interlock.run("hi")


def test_outside_of_asyncio_one_line_says_what_is_needed(tmp_path: Path) -> None:
    opening = interlock.Client().__aenter__()

    with pytest.raises(interlock.WrongLoop, match="no asyncio event loop runs here"):
        opening.send(None)


def test_within_the_loop_of_another_library_run_says_so(tmp_path: Path) -> None:
    # What such a library brings along; ours is in the way of none in the tests' environment.
    (tmp_path / "sniffio.py").write_text(
        "class AsyncLibraryNotFoundError(RuntimeError): ...\n"
        "def current_async_library(): return 'trio'\n"
    )
    code = """import interlock, sniffio
try:
    interlock.run("hi")
except interlock.WrongLoop as error:
    print(error)
"""

    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": f"{Path(__file__).parents[2]}{os.pathsep}{tmp_path}"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.startswith("trio's event loop runs here, and the agent needs asyncio")


def test_a_ctrl_c_ends_run_with_its_transcript_whole(tmp_path: Path) -> None:
    code = """import interlock
options = interlock.AgentOptions(permission_mode="bypassPermissions", setting_sources=())
interlock.run("go", options)
"""

    def answer(request: SentRequest) -> Answer:
        return reply("", tool_use("Bash", {"command": "echo $$ > pid; sleep 100"}))

    with ServerThread(answer) as server:
        environment = {
            **os.environ,
            "ANTHROPIC_API_KEY": "key",
            "ANTHROPIC_BASE_URL": server.base_url,
            "INTERLOCK_HOME": str(tmp_path / "home"),
        }
        work = tmp_path / "work"
        work.mkdir()
        program = subprocess.Popen(
            [sys.executable, "-c", code], cwd=work, env=environment, stderr=subprocess.PIPE
        )
        wait_until(lambda: (work / "pid").exists() and (work / "pid").read_text().strip())
        program.send_signal(signal.SIGINT)
        _, said = program.communicate(timeout=60)

    assert said.decode().rstrip().endswith("KeyboardInterrupt")
    (transcript,) = (tmp_path / "home").rglob("projects/*/*.jsonl")
    assert unanswered(transcript) == []
    assert living(work) == []


def test_settings_files_warn_in_the_messages(tmp_path: Path) -> None:
    (tmp_path / ".interlock").mkdir()
    (tmp_path / ".interlock" / "settings.json").write_text(
        '{"permissions": {"allow": ["Raed(x)"]}}'
    )

    async def messages(options: AgentOptions) -> list[interlock.AnyMessage]:
        return [message async for message in interlock.query("hi", options)]

    with ServerThread([reply("Hello.")]) as server:
        options = evolve(options_for(server, tmp_path), setting_sources="project")
        told = asyncio.run(messages(options))

    assert isinstance(told[0], Init)
    assert "Raed" in next(one.text for one in told if isinstance(one, Notice))
    assert isinstance(told[-1], Result)
