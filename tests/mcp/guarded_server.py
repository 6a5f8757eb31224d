"""A server behind a lock, with an authorization server beside it: `guarded_server.py http|sse`.

Prints its port on the first line. A real flow over real HTTP; the person at the browser says yes
at once, unless they are called `nobody`. `POST /forget` makes every access token void.
"""

from __future__ import annotations

import base64
import hashlib
import secrets
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

import anyio
import uvicorn
from mcp.server import MCPServer
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

LASTS = 3600
server = MCPServer("guarded")
codes: dict[str, dict[str, str]] = {}
access: set[str] = {"a-token-by-hand"}
refresh: set[str] = set()
registered: dict[str, dict[str, Any]] = {"known": {"client_id": "known", "client_secret": "hush"}}


@server.tool()
async def secret() -> str:
    """What only some may know."""
    return "the treasure is under the tree"


def metadata(request: Request) -> Response:
    base = str(request.base_url).rstrip("/")
    return JSONResponse(
        {
            "issuer": base,
            "authorization_endpoint": f"{base}/authorize",
            "token_endpoint": f"{base}/token",
            "registration_endpoint": f"{base}/register",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token", "client_credentials"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
        }
    )


def resource(request: Request) -> Response:
    base = str(request.base_url).rstrip("/")
    path = request.path_params["path"]
    return JSONResponse({"resource": f"{base}/{path}", "authorization_servers": [base]})


async def register(request: Request) -> Response:
    client = {**await request.json(), "client_id": secrets.token_hex(8)}
    registered[client["client_id"]] = client
    return JSONResponse(client, status_code=201)


def authorize(request: Request) -> Response:
    asked = dict(request.query_params)
    code = secrets.token_hex(8)
    codes[code] = asked
    base = str(request.base_url).rstrip("/")
    told = {"code": code, "state": asked["state"], "iss": base}
    if asked.get("client_id") == "nobody":
        told = {"error": "access_denied", "state": asked["state"]}
    return RedirectResponse(f"{asked['redirect_uri']}?{urlencode(told)}")


async def token(request: Request) -> Response:
    form = {name: str(value) for name, value in (await request.form()).items()}
    match form["grant_type"]:
        case "authorization_code":
            asked = codes.pop(form["code"])
            digest = hashlib.sha256(form["code_verifier"].encode()).digest()
            good = base64.urlsafe_b64encode(digest).decode().rstrip("=") == asked["code_challenge"]
        case "refresh_token":
            good = form["refresh_token"] in refresh
            refresh.discard(form["refresh_token"])
        case _:
            told = request.headers.get("authorization", "").removeprefix("Basic ")
            good = base64.b64decode(told) == b"known:hush"
    if not good:
        return JSONResponse({"error": "invalid_grant"}, status_code=400)
    new: dict[str, Any] = {
        "access_token": secrets.token_hex(8),
        "token_type": "Bearer",
        "expires_in": LASTS,
    }
    access.add(new["access_token"])
    if form["grant_type"] != "client_credentials":
        new["refresh_token"] = secrets.token_hex(8)
        refresh.add(new["refresh_token"])
    return JSONResponse(new)


async def forget(request: Request) -> Response:
    access.clear()
    if "all" in request.query_params:
        refresh.clear()
    return Response()


class Locked:
    """Lets in who has a token."""

    def __init__(self, inner: ASGIApp) -> None:
        self.inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            request = Request(scope)
            told = request.headers.get("authorization", "").removeprefix("Bearer ")
            if told not in access:
                base = str(request.base_url).rstrip("/")
                where = f"{base}/.well-known/oauth-protected-resource{scope['path']}"
                told = f'Bearer error="invalid_token", resource_metadata="{where}"'
                locked = Response(status_code=401, headers={"www-authenticate": told})
                await locked(scope, receive, send)
                return
        await self.inner(scope, receive, send)


async def main() -> None:
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()  # who reads the port may connect at once
    print(listening.getsockname()[1], flush=True)
    inner = server.sse_app() if sys.argv[1] == "sse" else server.streamable_http_app()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with inner.router.lifespan_context(inner):
            yield

    app = Starlette(
        routes=[
            Route("/.well-known/oauth-authorization-server", metadata),
            Route("/.well-known/oauth-protected-resource/{path}", resource),
            Route("/register", register, methods=["POST"]),
            Route("/authorize", authorize),
            Route("/token", token, methods=["POST"]),
            Route("/forget", forget, methods=["POST"]),
            Mount("/", Locked(inner)),
        ],
        lifespan=lifespan,
    )
    config = uvicorn.Config(app, log_level="error")
    await uvicorn.Server(config).serve(sockets=[listening])


if __name__ == "__main__":
    anyio.run(main)
