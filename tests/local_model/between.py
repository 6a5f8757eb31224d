"""What stands between agent and model: temperature 0, so that runs can be compared, and, where a
test asks for it, the first words of a call put into the model's mouth.

A model of this size rambles before it calls anything. A call that is begun for it, it ends by the
grammar that the server makes of the tool's schema. All else passes as it is, streams too.
"""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
import httpx2
import orjson
import uvicorn
from attrs import define, field
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

_PASSED_ON = ("content-type", "request-id")


@define
class Between:
    """`seen` are the bodies of requests as the agent sent them."""

    model_url: str
    begins_calls: bool = False
    seen: list[dict[str, Any]] = field(factory=list)
    statuses: list[int] = field(factory=list)
    url: str = ""

    async def messages(self, request: Request) -> Response:
        body = orjson.loads(await request.body())
        self.seen.append(body)
        sent = {**body, "temperature": 0}
        if self.begins_calls and body.get("tools") and not _is_answer(body["messages"][-1]):
            begun = {"role": "assistant", "content": "<tool_call>\n"}
            sent |= {"messages": [*body["messages"], begun], "tool_choice": {"type": "any"}}
        client = httpx2.AsyncClient(base_url=self.model_url, timeout=600, trust_env=False)
        asked = client.build_request("POST", "/v1/messages", json=sent)
        answer = await client.send(asked, stream=True)
        self.statuses.append(answer.status_code)
        return StreamingResponse(
            answer.aiter_raw(),
            answer.status_code,
            {name: answer.headers[name] for name in _PASSED_ON if name in answer.headers},
            background=BackgroundTask(client.aclose),
        )


def _is_answer(message: dict[str, Any]) -> bool:
    content = message["content"]
    return isinstance(content, list) and any(one["type"] == "tool_result" for one in content)


class _Server(uvicorn.Server):
    """uvicorn's, whose signals are ours."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def between(model_url: str, *, begins_calls: bool = False) -> AsyncIterator[Between]:
    one = Between(model_url, begins_calls)
    app = Starlette(routes=[Route("/v1/messages", one.messages, methods=["POST"])])
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        one.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        server = _Server(uvicorn.Config(app, log_level="warning", timeout_graceful_shutdown=5))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listener])
            try:
                yield one
            finally:
                server.should_exit = True
