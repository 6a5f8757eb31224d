"""A server on stdio that misbehaves on purpose, without any package: `fake_server.py MODE...`.

Several modes may be given; a number behind a mode is its measure. Standard library only, so that
it starts at once. What it is told is written to the file named by FAKE_LOG, a line a message.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

MODES = {word.partition("=")[0]: word.partition("=")[2] for word in sys.argv[1:]}


def tool(name: str, schema: Any = None, **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {}} if schema is None else schema
    return {"name": name, "description": name, "inputSchema": schema, **more}


def tools() -> list[dict[str, Any]]:
    if "names" in MODES:
        long = "x" * 90
        odd = ("a.b", "a_b", "a/b", f"{long}1", f"{long}2", "sp ace", "Read", "echo", "echo", "")
        return [tool(name) for name in odd]
    if "schema" in MODES:
        return [
            tool("no_type", {"properties": {}}),
            tool("is_array", {"type": "array"}),
            tool("top_one_of", {"type": "object", "oneOf": [{"required": ["a"]}]}),
            tool("is_null", {}),
            tool("bad_ref", {"type": "object", "properties": {"a": {"$ref": "#/nope"}}}),
            tool("good"),
        ]
    if "many" in MODES:
        return [
            tool(f"tool_{n}", {"type": "object", "properties": {f"field_{n}": {"type": "string"}}})
            for n in range(int(MODES["many"]))
        ]
    if "notes" in MODES:
        return [tool("write")]
    hints = {"annotations": {"readOnlyHint": True}} if "readonly" in MODES else {}
    return [tool("echo", {"type": "object", "properties": {"text": {"type": "string"}}}, **hints)]


NOTES = {"note://one": {"text": "one"}, "note://long": {"text": "long " * 20_000}}
if "PIXEL" in os.environ:
    NOTES["pic://dot"] = {"blob": os.environ["PIXEL"], "mimeType": "image/png"}
FOLLOWED: set[str] = set()


def read(id_: Any, uri: str) -> None:
    if uri in NOTES:
        answer(id_, {"contents": [{"uri": uri, **NOTES[uri]}]})
    else:
        error = {"code": -32002, "message": f"there is no {uri}"}
        send({"jsonrpc": "2.0", "id": id_, "error": error})


def written(uri: str, text: str) -> None:
    new = uri not in NOTES
    NOTES[uri] = {"text": text}
    if new:
        send({"jsonrpc": "2.0", "method": "notifications/resources/list_changed"})
    if uri in FOLLOWED:
        told = {"jsonrpc": "2.0", "method": "notifications/resources/updated"}
        send({**told, "params": {"uri": uri}})


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def answer(id_: Any, result: dict[str, Any]) -> None:
    send({"jsonrpc": "2.0", "id": id_, "result": result})


def called(id_: Any, params: dict[str, Any]) -> None:
    if "dies" in MODES:
        flag = os.environ.get("FAKE_DIED")
        if flag is None or not Path(flag).exists():
            if flag is not None:
                Path(flag).touch()
            print("the disk is on fire", file=sys.stderr, flush=True)
            sys.exit(3)
    if "progress" in MODES:
        token = params.get("_meta", {}).get("progressToken")
        told = {"progressToken": token, "progress": 1, "total": 2, "message": "half"}
        send({"jsonrpc": "2.0", "method": "notifications/progress", "params": told})
    if "mute" in MODES:
        return
    if "refuses" in MODES:
        error = {"code": int(MODES["refuses"]), "message": "database is locked"}
        send({"jsonrpc": "2.0", "id": id_, "error": error})
        return
    if "garbles" in MODES:
        begun = {"jsonrpc": "2.0", "id": id_, "result": {}}
        print(json.dumps(begun)[:-2] + os.environ["FAKE_GARBLED"], flush=True)
        return
    if "notes" in MODES:
        written(**params["arguments"])
    if "grows" in MODES:
        MODES["many"] = "2"
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    words = params.get("arguments", {}).get("text", "ok")
    content = json.loads(os.environ["FAKE_CONTENT"]) if "FAKE_CONTENT" in os.environ else None
    answer(id_, content or {"content": [{"type": "text", "text": words}]})


def log(message: dict[str, Any]) -> None:
    if "FAKE_LOG" in os.environ:
        with open(os.environ["FAKE_LOG"], "a") as file:  # noqa: PTH123
            file.write(json.dumps(message) + "\n")


if "crash" in MODES:
    print("cannot find my settings", file=sys.stderr, flush=True)
    sys.exit(7)
if "child" in MODES:  # one that holds our pipes, in a session of its own
    subprocess.Popen(["sleep", "600"], start_new_session=True)
for line in sys.stdin:
    message = json.loads(line)
    log(message)
    method, id_ = message.get("method"), message.get("id")
    if "noise" in MODES:
        print("server log line on stdout", flush=True)
    if method == "initialize":
        if "never" in MODES:
            continue
        if "slow" in MODES:
            time.sleep(float(MODES["slow"]))
        if "gate" in MODES:  # until a file is there
            while not Path(MODES["gate"]).exists():
                time.sleep(0.01)
        version = message["params"]["protocolVersion"]
        resources = {"subscribe": True, "listChanged": True}
        answer(
            id_,
            {
                "protocolVersion": version,
                "capabilities": {
                    "tools": {"listChanged": True},
                    **({"resources": resources} if "notes" in MODES else {}),
                },
                "serverInfo": {"name": "fake", "version": "0"},
            },
        )
    elif method == "tools/list":
        answer(id_, {"tools": tools()})
    elif method == "resources/list" and "notes" in MODES:
        answer(id_, {"resources": [{"uri": uri, "name": uri[7:]} for uri in NOTES]})
    elif method == "resources/read" and "notes" in MODES:
        read(id_, message["params"]["uri"])
    elif method == "resources/subscribe" and "notes" in MODES:
        FOLLOWED.add(message["params"]["uri"])
        answer(id_, {})
    elif method == "tools/call":
        called(id_, message["params"])
    elif id_ is not None:
        error = {"code": -32601, "message": "no such method"}
        send({"jsonrpc": "2.0", "id": id_, "error": error})
