"""Which answer a request gets: in order, by a word in its first message, or by a function.

The seam for every other choice is Source: two methods over a request. Knows no HTTP.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import attrs

from interlock.scripted.replies import Answer, Expect
from interlock.scripted.script import Script


@attrs.frozen(kw_only=True)
class SentRequest:
    """One POST /v1/messages (or count_tokens) as it came, and what was thought of it."""

    index: int  # the first request is 1
    path: str
    headers: Mapping[str, str]  # names in lower case
    body: dict[str, Any]  # empty if it was no JSON object
    raw: bytes
    problems: tuple[str, ...]  # what the real API would have refused it for
    cache_read_share: float  # of all input tokens, 0 to 1
    received_at: float  # time.monotonic() of the server


class Source(Protocol):
    """Chooses answers. `upcoming` only looks, so that a scripted refusal can be foreseen."""

    def upcoming(self, request: SentRequest) -> Answer | None: ...

    def take(self, request: SentRequest) -> Answer | None:
        """The answer, or None when the script has no more."""
        ...


class InOrder:
    """One answer after the other, whoever asks."""

    def __init__(self, answers: Iterable[Answer]) -> None:
        self._answers = tuple(answers)
        self._at = 0

    def upcoming(self, request: SentRequest) -> Answer | None:
        return self._answers[self._at] if self._at < len(self._answers) else None

    def take(self, request: SentRequest) -> Answer | None:
        answer = self.upcoming(request)
        self._at += 1
        return answer


class ByMarker:
    """Several scripts side by side: the first marker found in a conversation's beginning wins.

    The beginning is the system prompt and the first user message, which stay the same as long as
    one agent talks; so each agent walks through its own list, whatever the others do.
    """

    def __init__(self, routes: Mapping[str, Sequence[Answer]]) -> None:
        self._routes = {marker: InOrder(answers) for marker, answers in routes.items()}

    def _route(self, request: SentRequest) -> InOrder:
        beginning = "\n".join(
            [*texts(request.body.get("system", "")), *_texts_of(request.body, first=True)]
        )
        for marker, route in self._routes.items():
            if marker in beginning:
                return route
        return InOrder(())

    def upcoming(self, request: SentRequest) -> Answer | None:
        return self._route(request).upcoming(request)

    def take(self, request: SentRequest) -> Answer | None:
        return self._route(request).take(request)


class ByFunction:
    """A function of the request, for property tests. It is called once per good request."""

    def __init__(self, function: Callable[[SentRequest], Answer | None]) -> None:
        self._function = function

    def upcoming(self, request: SentRequest) -> Answer | None:
        return None

    def take(self, request: SentRequest) -> Answer | None:
        return self._function(request)


Answers = Script | Source | Callable[[SentRequest], "Answer | None"] | Iterable[Answer]


def source_of(answers: Answers) -> Source:
    """What a server was given, as a Source."""
    if isinstance(answers, Script):
        return InOrder(answers.replies)
    if isinstance(answers, InOrder | ByMarker | ByFunction):
        return answers
    if callable(answers):
        return ByFunction(answers)
    if isinstance(answers, Iterable):
        return InOrder(answers)
    return answers


def unmet(expect: Expect, body: Mapping[str, Any]) -> str | None:
    """The first expectation that does not hold, said aloud."""
    if expect.model is not None and body.get("model") != expect.model:
        return f"expected model {expect.model!r}, got {body.get('model')!r}"
    asked = (
        ("the system prompt", expect.system_contains, texts(body.get("system", ""))),
        ("the last text", expect.last_text_contains, _texts_of(body)),
        ("the tool results", expect.tool_result_contains, _results_of(body)),
    )
    for name, wanted, found in asked:
        if wanted is not None and not any(wanted in words for words in found):
            return f"expected {name} to contain {wanted!r}, got {_short(found)}"
    return None


def texts(content: Any) -> list[str]:
    """Every text in a `content` or `system`, given as a string or as blocks."""
    if isinstance(content, str):
        return [content]
    if not isinstance(content, list):
        return []
    blocks = [block for block in content if isinstance(block, dict)]
    return [str(block.get("text", "")) for block in blocks if block.get("type") == "text"]


def _users(body: Mapping[str, Any]) -> list[Any]:
    messages = body.get("messages")
    found = messages if isinstance(messages, list) else []
    told = [one for one in found if isinstance(one, dict)]
    return [one.get("content") for one in told if one.get("role") == "user"]


def _texts_of(body: Mapping[str, Any], *, first: bool = False) -> list[str]:
    users = _users(body)
    return texts(users[0 if first else -1]) if users else []


def _results_of(body: Mapping[str, Any]) -> list[str]:
    users = _users(body)
    last = users[-1] if users and isinstance(users[-1], list) else []
    blocks = [block for block in last if isinstance(block, dict)]
    results = [block for block in blocks if block.get("type") == "tool_result"]
    return [words for block in results for words in texts(block.get("content", ""))]


def _short(found: list[str]) -> str:
    shown = repr(found[-1] if found else "")
    return shown if len(shown) <= 120 else f"{shown[:117]}..."
