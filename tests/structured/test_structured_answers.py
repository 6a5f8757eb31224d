"""Whole runs that are to end in an answer of a given form: over real requests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interlock.cli.result import result_of
from interlock.errors import UsageError
from interlock.options import Options, PermissionMode
from interlock.scripted import Answer, ScriptedServer, reply, tool_use
from interlock.summary import UNGIVEN
from interlock.tools import tool
from tests.agent.support import MODEL, Room, Told, results, sent, tell

CITY = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "people": {"type": "integer"}},
    "required": ["name", "people"],
}
ULM = {"name": "Ulm", "people": 126_000}


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room.made(tmp_path)


def gives(answer: Any) -> Answer:
    return reply(tool_use("StructuredOutput", answer))


def asking(schema: dict[str, Any] = CITY, **more: Any) -> Options:
    return Options(**{"model": MODEL, "json_schema": schema} | more)


async def played(
    room: Room, answers: list[Answer], options: Options | None = None, **opened: Any
) -> tuple[Told, ScriptedServer]:
    async with (
        ScriptedServer(answers) as server,
        room.open(server, options=options or asking(), **opened) as agent,
    ):
        told = await tell(agent, "the city")
    assert server.verdict() == ()
    return told, server


async def test_the_answer_is_what_the_tool_was_given(room: Room) -> None:
    told, server = await played(room, [gives(ULM), reply("Done.")])

    (offered,) = (
        one for one in server.requests[0].body["tools"] if one["name"] == "StructuredOutput"
    )
    said = result_of(told.summary)
    assert offered["input_schema"] == CITY
    assert said["structured_output"] == ULM
    assert said["result"] == '{"name":"Ulm","people":126000}'
    assert (said["subtype"], said["is_error"], told.ending) == (
        "success",
        False,
        ("completed", None),
    )


async def test_an_end_without_one_is_no_end(room: Room) -> None:
    told, server = await played(room, [reply("It is Ulm."), gives(ULM), reply("Done.")])

    assert told.summary.structured_output == ULM
    assert "call the tool StructuredOutput" in str(sent(server.requests[1])[-1])


async def test_one_that_does_not_fit_is_refused_with_every_reason_and_mended(room: Room) -> None:
    told, server = await played(room, [gives({"people": "many"}), gives(ULM), reply("Done.")])

    (result,) = results(server.requests[1])
    assert result[1:] == (
        (
            "The answer does not fit the schema: $: 'name' is a required property;"
            " $.people: 'many' is not of type 'integer'"
        ),
        True,
    )
    assert told.summary.structured_output == ULM


@pytest.mark.parametrize("bad", [gives({}), reply("I would rather talk.")])
async def test_after_five_attempts_the_run_ends_with_an_error_of_its_own(
    room: Room, bad: Answer
) -> None:
    told, server = await played(room, [bad] * 6)

    said = result_of(told.summary)
    assert said["subtype"] == "error_max_structured_output_retries"
    assert said["is_error"] is True
    assert said["errors"] == [
        "No answer came that fits the schema, in 5 attempts (--json-schema)."
    ]
    assert "structured_output" not in said
    assert len(server.requests) <= 6


async def test_the_number_of_attempts_can_be_set(room: Room) -> None:
    environ = {"MAX_STRUCTURED_OUTPUT_RETRIES": "1"}
    told, server = await played(room, [reply("No.")], environ=environ)

    assert told.summary.error == "structured_output"
    assert len(server.requests) == 1


async def test_each_prompt_has_an_answer_of_its_own(room: Room) -> None:
    answers = [gives(ULM), reply("Done."), reply("No."), gives({**ULM, "people": 1}), reply("Ok.")]
    async with ScriptedServer(answers) as server, room.open(server, options=asking()) as agent:
        first = await tell(agent, "the city")
        second = await tell(agent, "the city again")

    assert first.summary.structured_output == ULM
    assert second.summary.structured_output == {**ULM, "people": 1}


async def test_null_is_an_answer(room: Room) -> None:
    schema = {"type": ["string", "null"]}
    told, _ = await played(room, [gives({"answer": None}), reply("Done.")], asking(schema))

    assert result_of(told.summary)["structured_output"] is None
    assert told.summary.structured_output is not UNGIVEN


@pytest.mark.parametrize("mode", [PermissionMode.PLAN, PermissionMode.DONT_ASK])
async def test_it_needs_no_permission_and_no_place_among_the_chosen_tools(
    room: Room, mode: PermissionMode
) -> None:
    options = asking(permission_mode=mode, tools=("Read",))
    told, server = await played(room, [gives(ULM), reply("Done.")], options)

    assert told.summary.structured_output == ULM
    assert {one["name"] for one in server.requests[0].body["tools"]} == {
        "Read",
        "StructuredOutput",
    }


async def test_what_cuts_the_run_short_keeps_its_own_name(room: Room) -> None:
    told, _ = await played(room, [gives({})], asking(max_turns=1))

    assert told.ending == ("max_turns", "max_turns")


async def test_a_tool_of_that_name_is_refused(room: Room) -> None:
    @tool(name="StructuredOutput")
    def other(x: int) -> int:
        """Another."""
        return x

    async with ScriptedServer([]) as server:
        with pytest.raises(UsageError, match="a tool cannot be called StructuredOutput"):
            async with room.open(server, options=asking(), tools=[other]):
                pass
