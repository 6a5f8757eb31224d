"""Answers of a server that cannot be read: whoever waits for one is told at once.

Half a character, bytes that are no UTF-8, a result that is no object: the package drops such a
line, and the call would wait for its limit. Knows messages as text only, not where they come from.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mcp_types import JSONRPCError

    Id = int | str

_ID = re.compile(r'"id"\s*:\s*(?:(\d{1,15})|"([^"\\]{1,200})")')
_HEAD = 200  # characters in which a message that is no JSON is looked through for its id
_UNREADABLE = -32700  # of JSON-RPC: what came is no valid message


def answered(line: bytes | str, problem: Exception) -> JSONRPCError | None:
    """The error that stands for an answer which is none, or None where `line` answers nothing."""
    from mcp_types import ErrorData, JSONRPCError

    text = line.decode(errors="replace") if isinstance(line, bytes) else line
    asked = _asked(text)
    if asked is None:
        return None
    told = ErrorData(code=_UNREADABLE, message=f"its answer cannot be read: {_why(problem)}")
    return JSONRPCError(jsonrpc="2.0", id=asked, error=told)


def _asked(text: str) -> Id | None:
    """Which request `text` means to answer."""
    if not text.startswith("{"):
        return None
    try:
        message = json.loads(text, strict=False)  # which lets more pass than the package does
    except (ValueError, RecursionError):
        head = text[:_HEAD]
        ours = '"jsonrpc"' in head and '"method"' not in head
        found = _ID.search(head) if ours else None
        return None if found is None else int(found[1]) if found[1] else found[2]
    named = message.get("id")
    if "jsonrpc" not in message or "method" in message:  # a line of a log may have an id, too
        return None
    return named if isinstance(named, int | str) and not isinstance(named, bool) else None


def _why(problem: Exception) -> str:
    from pydantic import ValidationError

    if isinstance(problem, ValidationError):
        first = problem.errors(include_url=False, include_input=False)[0]
        if first["type"] != "json_invalid":
            return "it is no response of JSON-RPC"
        return str(first["msg"]).removeprefix("Invalid JSON: ")
    return str(problem)
