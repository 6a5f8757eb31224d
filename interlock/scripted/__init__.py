"""A scripted model: the Messages API on loopback, answering from a script instead of a model.

    async with ScriptedServer([reply(tool_use("Read", {"file_path": "a"})), reply("done")]) as s:
        ...  # point a client at s.base_url
        assert s.verdict() == ()

It refuses what the real API refuses, simulates the prompt cache, and can fail in every way a
network can. Answers: replies.py; the file form: script.py; the rules: validate.py.
"""

from interlock.scripted.replies import (
    Answer,
    End,
    ErrorEvent,
    Expect,
    RawSse,
    Reply,
    Status,
    cut,
    reply,
    status,
    stream_error,
    text,
    thinking,
    tool_use,
)
from interlock.scripted.script import Script, ScriptError, Settings, load, parse
from interlock.scripted.server import ScriptedServer
from interlock.scripted.signatures import SignatureBook
from interlock.scripted.sources import ByFunction, ByMarker, InOrder, SentRequest, Source
from interlock.scripted.thread import ServerThread

__all__ = [
    "Answer",
    "ByFunction",
    "ByMarker",
    "End",
    "ErrorEvent",
    "Expect",
    "InOrder",
    "RawSse",
    "Reply",
    "Script",
    "ScriptError",
    "ScriptedServer",
    "SentRequest",
    "ServerThread",
    "Settings",
    "SignatureBook",
    "Source",
    "Status",
    "cut",
    "load",
    "parse",
    "reply",
    "status",
    "stream_error",
    "text",
    "thinking",
    "tool_use",
]
