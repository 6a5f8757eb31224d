"""How a refusal reaches the client, and what it does to the script."""

from __future__ import annotations

import attrs
import httpx2
import pytest

from interlock.scripted import ScriptedServer, Settings, SignatureBook, reply, status, thinking
from tests.scripted.asking import (
    HMM,
    asked,
    image,
    said,
    user,
    words,
)


@attrs.frozen
class Sent:
    id: str
    headers: dict[str, str]
    content: bytes
    status: int
    type: str
    told: str


KEY = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
SENT = (
    Sent("no-key", {"anthropic-version": "x"}, b"{}", 401, "authentication_error", "x-api-key"),
    Sent("no-version", {"x-api-key": "k"}, b"{}", 400, "invalid_request_error", "anthropic-ver"),
    Sent("no-json", KEY, b"{", 400, "invalid_request_error", "body is not valid JSON: unexpected"),
    Sent("no-utf-8", KEY, b'"\xff"', 400, "invalid_request_error", "body is not valid JSON: str "),
    Sent("surrogate", KEY, b'"\\ud800"', 400, "invalid_request_error", "no low surrogate in stri"),
    Sent("no-object", KEY, b"[]", 400, "invalid_request_error", "Input should be a valid dict"),
    Sent("large", KEY, b" " * 2000, 413, "request_too_large", "exceeds the maximum size of 1000"),
)


@pytest.mark.asyncio
@pytest.mark.parametrize("sent", SENT, ids=lambda sent: sent.id)
async def test_a_bad_body_is_refused_in_the_shape_of_the_api(sent: Sent) -> None:
    settings = Settings(max_request_bytes=1000)

    async with ScriptedServer([], settings) as server, httpx2.AsyncClient() as client:
        answer = await client.post(
            f"{server.base_url}/v1/messages", headers=sent.headers, content=sent.content
        )

    assert answer.status_code == sent.status
    assert answer.json()["type"] == "error"
    assert answer.json()["error"]["type"] == sent.type
    assert sent.told in answer.json()["error"]["message"]
    assert answer.json()["request_id"] == answer.headers["request-id"]
    assert server.requests[0].problems == (answer.json()["error"]["message"],)
    assert server.verdict() == (f"request 1: {answer.json()['error']['message']}",)


@pytest.mark.asyncio
async def test_a_refused_request_uses_up_no_answer(http: httpx2.AsyncClient) -> None:
    async with ScriptedServer([reply("first")]) as server:
        url = f"{server.base_url}/v1/messages"

        refused = await http.post(url, json=asked(user(" ")))
        taken = await http.post(url, json=asked())

    assert (refused.status_code, taken.status_code) == (400, 200)
    assert taken.json()["content"] == [{"type": "text", "text": "first"}]


@pytest.mark.asyncio
async def test_a_refusal_that_the_script_plans_is_sent_and_is_no_fault(
    http: httpx2.AsyncClient,
) -> None:
    planned = status(400, "invalid_request_error", "Could not process image")

    async with ScriptedServer([planned]) as server:
        answer = await http.post(
            f"{server.base_url}/v1/messages", json=asked(user(image(b"hello")))
        )

    assert answer.json()["error"]["message"] == "Could not process image"
    assert server.requests[0].problems != ()
    assert server.verdict() == ()


@pytest.mark.asyncio
async def test_without_strictness_anything_is_answered(http: httpx2.AsyncClient) -> None:
    async with ScriptedServer([reply("hi")], Settings(strict=False)) as server:
        answer = await http.post(
            f"{server.base_url}/v1/messages",
            json={"messages": ["x", {"content": [1]}], "tools": 3},
        )

    assert answer.status_code == 200
    assert server.verdict() == ()


@pytest.mark.asyncio
async def test_signatures_are_known_to_every_server_that_shares_the_book(
    http: httpx2.AsyncClient,
) -> None:
    shared = SignatureBook()
    history = asked(user("x"), said(HMM, words("y")), user("z"))

    async with ScriptedServer([reply(thinking("hmm", "c2ln"), "y")], signatures=shared) as first:
        await http.post(f"{first.base_url}/v1/messages", json=asked())
    async with ScriptedServer([reply("ok")], signatures=shared) as second:
        answer = await http.post(f"{second.base_url}/v1/messages", json=history)

    assert answer.status_code == 200
