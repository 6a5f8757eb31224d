"""A server over HTTP that misbehaves on purpose, without any package: `odd_http_server.py MODE`.

Prints its port. It keeps sessions as older servers do, and forgets them when its tool `forget` is
called; MODE is what its tool `odd` does.
"""

from __future__ import annotations

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

MODE = sys.argv[1]
SESSIONS: set[str] = set()
HANDSHAKE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "odd", "version": "0"},
}
TOOLS = [
    {"name": name, "inputSchema": {"type": "object", "properties": {}}}
    for name in ("odd", "forget", "fine")
]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_request(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.out(405)

    def do_DELETE(self) -> None:
        self.out(200)

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        session, method = self.headers.get("mcp-session-id"), message.get("method")
        id_, params = message.get("id"), message.get("params") or {}
        if method == "initialize":
            SESSIONS.add(new := uuid4().hex)
            self.answer(id_, result=HANDSHAKE, session=new)
        elif session is None:
            self.answer(id_, error={"code": -32601, "message": "no such method"})
        elif session not in SESSIONS:
            lost = {"code": -32001, "message": "Session not found"}
            self.answer("server-error", error=lost, status=404)
        elif id_ is None:
            self.out(202)
        elif method == "tools/list":
            self.answer(id_, result={"tools": TOOLS})
        else:
            self.called(id_, params["name"])

    def called(self, id_: Any, tool: str) -> None:
        said = {"content": [{"type": "text", "text": f"did {tool}"}]}
        match tool, MODE:
            case "forget", _:
                SESSIONS.clear()
                self.answer(id_, result=said)
            case "odd", "refuses":
                self.answer(id_, error={"code": -32000, "message": "database is locked"})
            case "odd", "breaks_off":
                self.out(200, b": nothing\n\n", "text/event-stream")
            case "odd", "busy":
                self.out(429, b"slow down", "text/plain")
            case "odd", "shut":
                self.out(401, b"who are you", "text/plain")
            case "odd", "garbles":
                begun = f'{{"jsonrpc": "2.0", "id": {id_}, "result": {{"x": "'
                self.out(200, begun.encode() + b'\\ud83d"}}')
            case "odd", "dies":
                os._exit(3)
            case _:
                self.answer(id_, result=said)

    def answer(self, id_: Any, *, status: int = 200, session: str = "", **said: Any) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": id_, **said}).encode()
        self.out(status, body, session=session)

    def out(
        self, status: int, body: bytes = b"", kind: str = "application/json", session: str = ""
    ) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        if session:
            self.send_header("mcp-session-id", session)
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()
