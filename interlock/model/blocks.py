"""One content block while its stream lasts, and what it is in the end.

Knows the kinds of blocks, not the order of events: that is `reply.py`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

import orjson
from attrs import Factory, define

from phases.world.messages import Block, Opaque, RedactedThinking, Text, Thinking, ToolUse

Json = dict[str, Any]
_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_DEEPEST = 200  # levels of JSON; orjson writes no more than 254, and the history has some itself
_SHOWN = 200  # characters of broken JSON that the model is shown: enough to see where it broke


@define
class OpenBlock:
    """A block as its deltas come in. Text is joined once, at the end."""

    kind: str
    start: Mapping[str, Any]
    tool_id: str = ""
    pieces: list[str] = Factory(list)
    signature: list[str] = Factory(list)
    json: list[str] = Factory(list)
    citations: list[Json] = Factory(list)
    stopped: bool = False
    strange: bool = False  # a delta came that this code does not understand
    odd: bool = False  # pieces may hold surrogates
    _half: str = ""  # of a character, not shown yet
    _input: Json | None = None
    _problem: str | None = None

    @property
    def takes_input(self) -> bool:
        """Whether the block is a call, ours or one that the server runs itself."""
        return "input" in self.start or self.kind == "tool_use"

    @property
    def whole(self) -> bool:
        """Whether the input of a call is a whole JSON object that was written out."""
        self._parse()
        return self._input is not None and bool(self._raw or self.start.get("input"))

    def add(self, piece: str) -> str:
        """Keep a piece of text; return what of it can be shown by itself."""
        self.pieces.append(piece)
        if not self.odd:
            return piece
        piece = self._half + piece
        self._half = ""
        if piece and "\ud800" <= piece[-1] <= "\udbff":
            self._half, piece = piece[-1], piece[:-1]
        return whole_unicode(piece)

    def finished(self, *, cut: bool) -> Block | None:
        """The block as it goes into the history; None where it must be left out whole."""
        match self.kind:
            case "text":
                return Text(self._text("text"), tuple(whole_strings(self.citations)))
            case "thinking":
                signature = str(self.start.get("signature") or "") + "".join(self.signature)
                if cut and not signature:
                    return None  # unsigned, it would be refused when it is sent back
                return Thinking(self._text("thinking"), whole_unicode(signature))
            case "redacted_thinking":
                return RedactedThinking(whole_unicode(str(self.start.get("data") or "")))
            case "tool_use":
                return self._call(cut=cut)
            case _:
                return self._opaque()

    def _text(self, key: str) -> str:
        return whole_unicode(str(self.start.get(key) or "") + "".join(self.pieces))

    def _call(self, *, cut: bool) -> ToolUse:
        name = _NOT_IN_A_NAME.sub("_", str(self.start.get("name") or "")) or "unnamed"
        self._parse()
        if cut:
            return ToolUse(self.tool_id, name[:128], {})
        return ToolUse(self.tool_id, name[:128], self._input or {}, self._problem)

    def _opaque(self) -> Opaque | None:
        if self.strange or not self.stopped:
            return None
        self._parse()
        if self._input is None:
            return None
        raw: Json = whole_strings(dict(self.start))
        return Opaque({**raw, "input": self._input} if self.json else raw)

    @property
    def _raw(self) -> str:
        return "".join(self.json)

    def _parse(self) -> None:
        if self._input is not None or self._problem is not None:
            return
        raw = self._raw
        if not raw.strip():
            given = self.start.get("input")
            self._input = whole_strings(given) if isinstance(given, dict) else {}
            return
        try:
            self._input = strict_object(raw)
        except ValueError as error:
            shown = raw if len(raw) <= _SHOWN else f"{raw[:_SHOWN]}…"
            self._problem = f"the input is no valid JSON object ({error}): {whole_unicode(shown)}"


def strict_object(text: str) -> Json:
    """A JSON object, nothing before or after it, no NaN or Infinity. Raises ValueError."""
    try:
        value = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError(f"it is a {type(value).__name__}")
    if text.count("{") + text.count("[") > _DEEPEST and _too_deep(value):
        raise ValueError("nested too deeply")
    return whole_strings(value) if _ESCAPED_SURROGATE.search(text) else value


def parsed_json(data: bytes) -> tuple[Any, bool]:
    """The JSON in an event, and whether its strings may hold surrogates; (None, False) if none.

    orjson is fast and strict; half a character, or bytes that are no UTF-8, it refuses. Those
    are read the slow way, and mended when the text is whole.
    """
    try:
        return orjson.loads(data), False
    except orjson.JSONDecodeError:
        try:
            return json.loads(data.decode("utf-8", "replace")), True
        except (ValueError, RecursionError):
            return None, False


def whole_unicode(text: str) -> str:
    """Surrogate pairs joined to characters, lone ones replaced by U+FFFD."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def whole_strings(value: Any) -> Any:
    """`whole_unicode` for each string inside a JSON value."""
    if isinstance(value, str):
        return whole_unicode(value)
    if isinstance(value, dict):
        return {whole_unicode(key): whole_strings(one) for key, one in value.items()}
    if isinstance(value, list):
        return [whole_strings(one) for one in value]
    return value


def _too_deep(value: Any) -> bool:
    level, depth = [value], 0
    while level and depth <= _DEEPEST:
        level = [
            inner
            for one in level
            if isinstance(one, dict | list)
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
        depth += 1
    return bool(level)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{number} is too large")
    return value
