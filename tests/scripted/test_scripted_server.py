"""The server: routes, which answer a request gets, what is recorded, and who is left waiting."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import orjson
import pytest

from interlock.scripted import (
    ByMarker,
    Expect,
    ScriptedServer,
    ScriptError,
    SentRequest,
    ServerThread,
    Settings,
    reply,
    tool_use,
)
from interlock.scripted.__main__ import main


def asked(text: str = "hi", **more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": text}]
    return {"model": "model-x", "max_tokens": 10, "messages": messages, **more}


@pytest.mark.asyncio
async def test_answers_are_given_in_order(http: httpx2.AsyncClient) -> None:
    async with ScriptedServer([reply("one"), reply("two")]) as server:
        url = f"{server.base_url}/v1/messages"
        told = [(await http.post(url, json=asked())).json()["content"][0]["text"] for _ in "12"]

    assert told == ["one", "two"]
    assert server.verdict() == ()


@pytest.mark.asyncio
async def test_a_request_beyond_the_script_is_a_fault(http: httpx2.AsyncClient) -> None:
    async with ScriptedServer([reply("one")]) as server:
        url = f"{server.base_url}/v1/messages"
        await http.post(url, json=asked())
        answer = await http.post(url, json=asked())

    assert answer.status_code == 500
    assert answer.headers["x-should-retry"] == "false"
    assert answer.json()["error"]["message"] == (
        "scripted server, request 2: overrun: the script has no answer left"
    )
    assert server.verdict() == ("request 2: overrun: the script has no answer left",)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("expect", "told"),
    [
        (Expect(model="model-y"), "expected model 'model-y', got 'model-x'"),
        (Expect(system_contains="rude"), "expected the system prompt to contain 'rude', got 'be"),
        (Expect(last_text_contains="bye"), "expected the last text to contain 'bye', got 'hi'"),
        (Expect(tool_result_contains="x"), "expected the tool results to contain 'x', got ''"),
    ],
    ids=["model", "system", "text", "result"],
)
async def test_an_unmet_expectation_is_a_fault(
    http: httpx2.AsyncClient, expect: Expect, told: str
) -> None:
    async with ScriptedServer([reply("one", expect=expect)]) as server:
        answer = await http.post(f"{server.base_url}/v1/messages", json=asked(system="be kind"))

    assert answer.status_code == 500
    assert told in answer.json()["error"]["message"]
    assert told in server.verdict()[0]


@pytest.mark.asyncio
async def test_a_met_expectation_is_not_noticed(http: httpx2.AsyncClient) -> None:
    expect = Expect(last_text_contains="there", tool_result_contains="one")
    body = asked() | {
        "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": [tool_use("Read", id="toolu_1")]},
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "toolu_1", "content": "one\n"},
                    {"type": "text", "text": "see there"},
                ],
            },
        ]
    }

    async with ScriptedServer([reply("ok", expect=expect)]) as server:
        answer = await http.post(f"{server.base_url}/v1/messages", json=body)

    assert answer.status_code == 200
    assert server.verdict() == ()


@pytest.mark.asyncio
async def test_a_function_may_answer(http: httpx2.AsyncClient) -> None:
    async with ScriptedServer(lambda sent: reply(f"number {sent.index}")) as server:
        url = f"{server.base_url}/v1/messages"
        told = [(await http.post(url, json=asked())).json()["content"][0]["text"] for _ in "12"]

    assert told == ["number 1", "number 2"]


@pytest.mark.asyncio
async def test_a_function_that_breaks_is_named(http: httpx2.AsyncClient) -> None:
    def answer(sent: SentRequest) -> None:
        raise KeyError("oops")

    async with ScriptedServer(answer) as server:
        told = await http.post(f"{server.base_url}/v1/messages", json=asked())

    assert told.status_code == 500
    assert server.verdict() == ("request 1: the answering function raised KeyError('oops')",)


@pytest.mark.asyncio
async def test_each_agent_may_have_a_list_of_its_own(http: httpx2.AsyncClient) -> None:
    routes = ByMarker({"You explore": [reply("found")], "lead": [reply("one"), reply("two")]})

    async with ScriptedServer(routes) as server:
        url = f"{server.base_url}/v1/messages"
        bodies = [asked("lead"), asked(system="You explore"), asked("lead"), asked("stranger")]
        answers = [(await http.post(url, json=body)).json() for body in bodies]

    assert [answer["content"][0]["text"] for answer in answers[:3]] == ["one", "found", "two"]
    assert answers[3]["type"] == "error"
    assert server.verdict() == ("request 4: overrun: the script has no answer left",)


@pytest.mark.asyncio
async def test_requests_are_recorded_as_they_came(http: httpx2.AsyncClient) -> None:
    raw = orjson.dumps(asked())

    async with ScriptedServer([reply("one")]) as server:
        await http.post(f"{server.base_url}/v1/messages?beta=true", content=raw)

    (sent,) = server.requests
    assert (sent.index, sent.path, sent.raw, sent.body) == (1, "/v1/messages", raw, asked())
    assert sent.headers["x-api-key"] == "none"
    assert sent.problems == ()


@pytest.mark.asyncio
async def test_bodies_need_not_be_kept(http: httpx2.AsyncClient) -> None:
    seen: list[str] = []

    def answer(sent: SentRequest) -> Any:
        seen.append(sent.body["model"])
        return reply("ok")

    async with ScriptedServer(answer, Settings(record_bodies=False)) as server:
        await http.post(f"{server.base_url}/v1/messages", json=asked())

    assert seen == ["model-x"]
    assert (server.requests[0].body, server.requests[0].raw) == ({}, b"")


@pytest.mark.asyncio
async def test_a_request_can_be_waited_for(http: httpx2.AsyncClient) -> None:
    async with ScriptedServer([reply("one"), reply("two")]) as server:
        waiting = asyncio.ensure_future(server.wait_for_request(2))
        await http.post(f"{server.base_url}/v1/messages", json=asked("first"))
        assert not waiting.done()
        await http.post(f"{server.base_url}/v1/messages", json=asked("second"))

        sent = await waiting

    assert sent.body == asked("second")


@pytest.mark.asyncio
async def test_tokens_are_counted_beside_the_script(sdk: Any) -> None:
    async with ScriptedServer([]) as server:
        counted = await sdk(server.base_url).messages.count_tokens(
            model="model-x", messages=[{"role": "user", "content": "word " * 100}]
        )

    assert 100 < counted.input_tokens < 150
    assert (len(server.counts), server.requests) == (1, ())


@pytest.mark.asyncio
async def test_health_needs_no_key() -> None:
    async with ScriptedServer([]) as server, httpx2.AsyncClient() as client:
        answer = await client.get(f"{server.base_url}/health")

    assert answer.json() == {"status": "ok", "scripted": True}


@pytest.mark.asyncio
async def test_other_paths_and_methods_are_refused(http: httpx2.AsyncClient) -> None:
    async with ScriptedServer([]) as server:
        lost = await http.get(f"{server.base_url}/v2/messages")
        wrong = await http.get(f"{server.base_url}/v1/messages")

    assert (lost.status_code, lost.json()["error"]["type"]) == (404, "not_found_error")
    assert wrong.status_code == 405


@pytest.mark.asyncio
async def test_the_connection_is_kept_for_the_next_request() -> None:
    head = b"POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: k\r\nanthropic-version: x\r\n"
    body = orjson.dumps(asked())
    request = b"%bcontent-length: %d\r\n\r\n%b" % (head, len(body), body)

    async with ScriptedServer([reply("one"), reply("two")]) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(request + request)  # the second before the first is answered
        found = await reader.readuntil(b'"two"')
        writer.close()
        await writer.wait_closed()

    assert b'"one"' in found
    assert [sent.index for sent in server.requests] == [1, 2]


@pytest.mark.asyncio
async def test_a_client_that_asks_before_it_sends_is_told_to_go_on() -> None:
    head = b"POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: k\r\nanthropic-version: x\r\n"
    body = orjson.dumps(asked())

    async with ScriptedServer([reply("one")]) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"%bexpect: 100-continue\r\ncontent-length: %d\r\n\r\n" % (head, len(body)))
        told = await reader.readuntil(b"\r\n\r\n")
        writer.write(body)
        answer = await reader.readuntil(b'"one"')
        writer.close()
        await writer.wait_closed()

    assert told.startswith(b"HTTP/1.1 100 ")
    assert answer.startswith(b"HTTP/1.1 200 ")


@pytest.mark.asyncio
async def test_a_client_that_speaks_no_http_is_hung_up_on() -> None:
    async with ScriptedServer([]) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"\x00\x01\x02\r\n\r\n")
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()

    assert answer == b""


def test_in_its_own_thread_it_serves_callers_without_a_loop() -> None:
    with ServerThread([reply("one")]) as server:
        client = anthropic.Anthropic(api_key="none", base_url=server.base_url, max_retries=0)
        with client:
            message = client.messages.create(
                model="model-x", max_tokens=10, messages=[{"role": "user", "content": "hi"}]
            )
        sent = server.wait_for_request(1)

    assert message.content[0].to_dict() == {"type": "text", "text": "one"}
    assert sent == server.requests[0]
    assert server.verdict() == ()


def test_waiting_for_a_request_that_never_comes_ends() -> None:
    with ServerThread([]) as server, pytest.raises(TimeoutError):
        server.wait_for_request(1, timeout=0.01)


def test_a_port_that_is_taken_is_told_to_the_caller() -> None:
    with (
        ServerThread([]) as server,
        pytest.raises(OSError, match="address already in use"),
        ServerThread([], Settings(port=server.port)),
    ):
        pass


def test_the_command_serves_a_file_until_ctrl_c(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_bytes(
        orjson.dumps(
            {"description": "says where", "replies": [{"content": [reply("{{WORK}}").content[0]]}]}
        )
    )
    command = [sys.executable, "-m", "interlock.scripted", str(path), "--set", "WORK=/w"]

    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        announced = process.stdout.readline()
        url = announced.split()[-1]
        headers = {"x-api-key": "none", "anthropic-version": "x"}
        answer = httpx2.post(f"{url}/v1/messages", json=asked(), headers=headers)
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()

    assert announced.startswith("scripted model server (no real model): http://127.0.0.1:")
    assert answer.json()["content"][0]["text"] == "/w"
    assert rest == "says where\nserved 1 requests from a script of 1\n"
    assert process.returncode == 0


def test_the_command_says_what_is_wrong_with_a_script(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "script.json"
    path.write_text("{}")

    code = main([str(path)])

    assert code == 2
    assert capsys.readouterr().err == (
        "interlock.scripted: script.json: 'replies' is missing; give a list\n"
    )
    assert issubclass(ScriptError, ValueError)
