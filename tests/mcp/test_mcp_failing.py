"""Servers that die, say nothing, talk nonsense or come late: the rest goes on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interlock.errors import UsageError
from interlock.scripted import ScriptedServer
from phases.world.updates import Notice, ToolProgress
from tests.agent.support import Room, Told, living, results, sent, tell
from tests.mcp.support import calls, fake, tools_of, with_servers

ECHO = "mcp__fake__echo"
PATIENT = {"MCP_TIMEOUT": "60000", "INTERLOCK_MCP_GRACE_S": "60"}


def notices(told: Told) -> list[str]:
    return [update.text for update in told.updates if isinstance(update, Notice)]


async def test_a_tool_of_a_server_is_called_by_the_model(room: Room) -> None:
    async with (
        ScriptedServer(calls((ECHO, {"text": "hello"}))) as model,
        room.open(model, options=with_servers(fake()), environ=PATIENT) as agent,
    ):
        told = await tell(agent, "echo")

    assert told.ending == ("completed", None)
    assert tools_of(model.requests[0])[-1] == ECHO
    assert [(text, error) for _, text, error in results(model.requests[1])] == [("hello", False)]


async def test_a_call_in_which_the_server_dies_fails_with_its_exit_code_and_last_words(
    room: Room, tmp_path: Path
) -> None:
    server = fake("dies", env={"FAKE_DIED": str(tmp_path / "died")})
    script = calls((ECHO, {}), (ECHO, {"text": "again"}))
    async with (
        ScriptedServer(script) as model,
        room.open(model, options=with_servers(server), environ=PATIENT) as agent,
    ):
        told = await tell(agent, "echo")

    ((_, first, failed),) = results(model.requests[1])
    assert failed
    assert "The MCP server fake was lost" in first
    assert "exit code 3" in first
    assert "the disk is on fire" in first
    assert "not known" in first  # whether it took effect
    assert [text for _, text, _ in results(model.requests[2])] == ["again"]  # it was restarted
    assert told.ending == ("completed", None)


async def test_a_server_that_dies_in_every_call_is_given_up(room: Room) -> None:
    script = calls(*[(ECHO, {})] * 4)
    environ = {**PATIENT, "INTERLOCK_MCP_MAX_RESTARTS": "1"}
    async with (
        ScriptedServer(script) as model,
        room.open(model, options=with_servers(fake("dies")), environ=environ) as agent,
    ):
        await tell(agent, "echo")
        (status,) = agent.servers.status()

    assert status.status == "failed"
    ((_, last, failed),) = results(model.requests[4])
    assert failed
    assert "is not there" in last
    assert "exit code 3" in last


async def test_a_mute_call_ends_at_its_limit_and_is_cancelled(room: Room, tmp_path: Path) -> None:
    log = tmp_path / "log"
    server = fake("mute", env={"FAKE_LOG": str(log)}, timeout=300)
    async with (
        ScriptedServer(calls((ECHO, {}))) as model,
        room.open(model, options=with_servers(server), environ=PATIENT) as agent,
    ):
        told = await tell(agent, "echo")

    ((_, text, failed),) = results(model.requests[1])
    assert failed
    assert "did not answer within 0.3 s" in text
    heard = [json.loads(line).get("method") for line in log.read_text().splitlines()]
    assert "notifications/cancelled" in heard
    assert told.ending == ("completed", None)


@pytest.mark.parametrize("code", [-32000, -32001, -32050, 7])
async def test_what_a_server_answers_an_error_with_is_its_own_and_it_stays(
    room: Room, code: int
) -> None:
    script = calls(*[(ECHO, {})] * 5)
    async with (
        ScriptedServer(script) as model,
        room.open(model, options=with_servers(fake(f"refuses={code}")), environ=PATIENT) as agent,
    ):
        told = await tell(agent, "echo")
        (status,) = agent.servers.status()

    said = f"The MCP server fake refused the tool echo: database is locked (code {code})."
    last = [results(request)[-1] for request in model.requests[1:]]
    assert [(text, error) for _, text, error in last] == [(said, True)] * 5
    assert status.status == "connected"
    assert not [one for one in notices(told) if "fake" in one]  # it was never lost


@pytest.mark.parametrize(
    "rest", ['"x": "\\ud83d lone"}}', '"x": "tab\there"}}', '"x": 1}', '"x": [}}', f"{'[' * 5000}"]
)
async def test_an_answer_that_cannot_be_read_fails_its_call_at_once(room: Room, rest: str) -> None:
    server = fake("garbles", env={"FAKE_GARBLED": rest})
    async with (
        ScriptedServer(calls((ECHO, {}))) as model,
        room.open(model, options=with_servers(server), environ=PATIENT) as agent,
    ):
        told = await tell(agent, "echo")

    ((_, text, failed),) = results(model.requests[1])
    assert failed
    assert "refused the tool echo: its answer cannot be read: " in text
    assert told.ending == ("completed", None)


async def test_an_interrupt_cancels_the_call_at_the_server(room: Room, tmp_path: Path) -> None:
    log = tmp_path / "log"
    server = fake("mute", "progress", env={"FAKE_LOG": str(log)})
    async with (
        ScriptedServer(calls((ECHO, {}))) as model,
        room.open(model, options=with_servers(server), environ=PATIENT) as agent,
    ):

        def stop(update: object, number: int) -> None:
            if isinstance(update, ToolProgress):  # so the server has the call
                agent.interrupt()

        told = await tell(agent, "echo", on=stop)

    assert told.ending[0] == "aborted_tools"
    heard = [json.loads(line) for line in log.read_text().splitlines()]
    called = [one["id"] for one in heard if one.get("method") == "tools/call"]
    ended = [
        one["params"]["requestId"] for one in heard if one.get("method", "").endswith("cancelled")
    ]
    assert called == ended


async def test_plain_text_among_the_messages_is_told_and_harms_nothing(room: Room) -> None:
    async with (
        ScriptedServer(calls((ECHO, {"text": "hello"}))) as model,
        room.open(model, options=with_servers(fake("noise")), environ=PATIENT) as agent,
    ):
        told = await tell(agent, "echo")

    assert [text for _, text, _ in results(model.requests[1])] == ["hello"]
    assert any("plain text among its messages: server log line" in one for one in notices(told))


async def test_progress_is_shown(room: Room) -> None:
    async with (
        ScriptedServer(calls((ECHO, {}))) as model,
        room.open(model, options=with_servers(fake("progress")), environ=PATIENT) as agent,
    ):
        told = await tell(agent, "echo")

    shown = [one.text for one in told.updates if isinstance(one, ToolProgress)]
    assert "1 of 2: half\n" in shown


async def test_a_server_that_cannot_start_is_named_and_the_others_go_on(room: Room) -> None:
    options = with_servers(fake("crash", name="broken"), fake())
    async with (
        ScriptedServer(calls((ECHO, {"text": "here"}))) as model,
        room.open(model, options=options, environ=PATIENT) as agent,
    ):
        told = await tell(agent, "echo")

    assert [text for _, text, _ in results(model.requests[1])] == ["here"]
    (words,) = [one for one in notices(told) if "broken" in one]
    assert "exit code 7" in words
    assert "cannot find my settings" in words


async def test_a_slow_server_joins_at_a_later_request_with_a_note(
    room: Room, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    options = with_servers(fake(f"gate={gate}", name="slow"), fake())
    script = calls(
        (ECHO, {}), ("Bash", {"command": f"touch {gate}; sleep 2"}), ("mcp__slow__echo", {})
    )
    environ = {"MCP_TIMEOUT": "60000", "INTERLOCK_MCP_GRACE_S": "2"}
    async with (
        ScriptedServer(script) as model,
        room.open(model, options=options, environ=environ) as agent,
    ):
        told = await tell(agent, "echo")

    first, _, third, fourth = model.requests
    assert ECHO in tools_of(first)
    assert "mcp__slow__echo" not in tools_of(first)
    assert tools_of(third) == [*tools_of(first), "mcp__slow__echo"]  # at the end
    assert "new tools now: mcp__slow__echo" in str(sent(third)[-1])
    assert [text for _, text, _ in results(fourth)] == ["ok"]
    assert "the MCP server slow: 1 tool joined" in notices(told)


async def test_a_server_that_never_answers_is_named_at_its_limit(room: Room) -> None:
    server = fake("never", name="never", startupTimeout=400)
    async with (
        ScriptedServer(calls((ECHO, {"text": "here"}))) as model,
        room.open(model, options=with_servers(server, fake()), environ=PATIENT) as agent,
    ):
        told = await tell(agent, "echo")

    assert [text for _, text, _ in results(model.requests[1])] == ["here"]
    assert any(
        "never is not there: it did not answer within 0.4 s" in one for one in notices(told)
    )


async def test_a_prompt_fails_loudly_without_a_server_that_it_requires(room: Room) -> None:
    server = fake("never", required=True, startupTimeout=400)
    environ = {**PATIENT, "INTERLOCK_MCP_GRACE_S": "0"}
    async with (
        ScriptedServer(calls()) as model,
        room.open(model, options=with_servers(server), environ=environ) as agent,
    ):
        with pytest.raises(UsageError, match="fake is needed and not there: it did not answer"):
            await tell(agent, "echo")

    assert model.requests == ()


async def test_no_process_of_a_server_outlives_the_session(room: Room) -> None:
    options = with_servers(fake("child", "mute"), fake("never", name="never"))
    environ = {"MCP_TIMEOUT": "60000", "INTERLOCK_MCP_GRACE_S": "1"}
    async with (
        ScriptedServer(calls()) as model,
        room.open(model, options=options, environ=environ) as agent,
    ):
        await tell(agent, "hello")
        assert any("fake_server" in one for one in living(room.work))

    assert living(room.work) == []
