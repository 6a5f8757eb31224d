"""The script: a JSON file of answers, read into frozen values with one-line complaints.

A script is a list of answers, or an object {"description", "replies", "options"}. Placeholders
such as {{WORK}} are filled from a mapping. Knows the form only; what an answer does is told in
replies.py, and in which order answers are given in sources.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

import attrs
import orjson

from interlock.scripted.replies import (
    Answer,
    Block,
    End,
    ErrorEvent,
    Expect,
    RawSse,
    Reply,
    Status,
)

T = TypeVar("T")
_PLACEHOLDER = re.compile(r"\{\{([A-Z][A-Z0-9_]*)\}\}")
_KINDS: dict[type, str] = {
    bool: "true or false",
    dict: "an object",
    float: "a number",
    int: "a whole number",
    list: "a list",
    str: "a string",
}


class ScriptError(ValueError):
    """A script that cannot be played: where, what, and how to mend it, in one line."""

    def __init__(self, where: str, what: str, mend: str) -> None:
        self.where, self.what, self.mend = where, what, mend
        super().__init__(f"{where}: {what}; {mend}")


@attrs.frozen(kw_only=True)
class Settings:
    """How a server behaves beside its answers; the `options` of a script."""

    strict: bool = True  # refuse what the real API refuses
    cache: bool = True  # simulate the prompt cache and fill usage from it
    cache_minimum: int = 0  # tokens; the real API caches nothing below 1024
    window: int | None = None  # tokens; None: any length is taken
    max_request_bytes: int = 32 * 1024 * 1024  # the real API's limit
    record_bodies: bool = True  # False keeps memory flat in long benchmarks
    port: int = 0  # 0: any free one


@attrs.frozen(kw_only=True)
class Script:
    """A parsed script."""

    replies: tuple[Answer, ...]
    description: str = ""
    settings: Settings = Settings()


def load(path: str | Path, values: Mapping[str, str] | None = None) -> Script:
    """Read a script file; `values` fills its {{NAME}} placeholders."""
    try:
        raw = orjson.loads(Path(path).read_bytes())
    except orjson.JSONDecodeError as error:
        raise ScriptError(str(path), f"not JSON ({error})", "mend the file there") from None
    return parse(raw, values, where=Path(path).name)


def parse(raw: Any, values: Mapping[str, str] | None = None, *, where: str = "script") -> Script:
    """Check and freeze what was read from JSON."""
    raw = _filled(raw, values or {}, where)
    if isinstance(raw, list):
        return Script(replies=_answers(raw, where))
    fields = _Fields(where, raw)
    description = fields.take("description", str, "")
    replies = _answers(fields.take("replies", list), f"{where}.replies")
    settings = _settings(fields.take("options", dict, {}), f"{where}.options")
    fields.finish()
    return Script(replies=replies, description=description, settings=settings)


def parse_answer(raw: Any, where: str = "reply") -> Answer:
    """One answer of a script; its kind is told by its one distinguishing key."""
    fields = _Fields(where, raw)
    if "content" in fields:
        answer: Answer = _reply(fields)
    elif "error" in fields:
        answer = _status(fields)
    elif "raw_sse" in fields:
        answer = _raw_sse(fields)
    else:
        raise ScriptError(where, "says nothing to answer", "give one of: content, error, raw_sse")
    fields.finish()
    return answer


class _Fields:
    """An object read key by key, so that keys nobody asked for can be named."""

    def __init__(self, where: str, raw: Any) -> None:
        if not isinstance(raw, dict):
            raise ScriptError(where, f"{_said(raw)} is no object", "write {...}")
        self.where = where
        self._raw: dict[str, Any] = raw
        self._known: set[str] = set()

    def __contains__(self, key: str) -> bool:
        return self._raw.get(key) is not None

    def take(self, key: str, kind: type[T], *default: T | None) -> T:
        self._known.add(key)
        value = self._raw.get(key)
        if value is None:
            if default:
                return cast(T, default[0])  # None only where it was asked for
            raise ScriptError(self.where, f"{key!r} is missing", f"give {_KINDS[kind]}")
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        wrong = not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)
        if wrong:
            raise ScriptError(
                f"{self.where}.{key}", f"{_said(value)} does not fit", f"give {_KINDS[kind]}"
            )
        if isinstance(value, int | float) and value < 0:
            raise ScriptError(f"{self.where}.{key}", f"{value} is below zero", "give 0 or more")
        return cast(T, value)

    def strings(self, key: str, *default: list[str]) -> tuple[str, ...]:
        for at, line in enumerate(lines := self.take(key, list, *default)):
            if not isinstance(line, str):
                raise ScriptError(
                    f"{self.where}.{key}[{at}]", f"{_said(line)} is no string", "quote it"
                )
        return tuple(lines)

    def finish(self) -> None:
        if strangers := sorted(set(self._raw) - self._known):
            known = ", ".join(sorted(self._known))
            raise ScriptError(self.where, f"{strangers[0]!r} is unknown", f"known are {known}")


def _answers(raw: list[Any], where: str) -> tuple[Answer, ...]:
    return tuple(parse_answer(one, f"{where}[{at}]") for at, one in enumerate(raw))


def _settings(raw: Any, where: str) -> Settings:
    fields = _Fields(where, raw)
    given: dict[str, Any] = {}
    for field in attrs.fields(Settings):
        if field.name in fields:
            kind = bool if isinstance(field.default, bool) else int
            given[field.name] = fields.take(field.name, kind)
        else:
            fields.take(field.name, bool, None)
    fields.finish()
    return Settings(**given)


def _reply(fields: _Fields) -> Reply:
    event = None
    if "error_event" in fields:
        told = _Fields(f"{fields.where}.error_event", fields.take("error_event", dict))
        event = ErrorEvent(type=told.take("type", str), message=told.take("message", str))
        told.finish()
    end = _end(fields)
    if end is End.REPEAT:
        raise ScriptError(f"{fields.where}.end", "'repeat' needs raw_sse", "use another")
    return Reply(
        content=_content(fields),
        stop_reason=fields.take("stop_reason", str, "end_turn"),
        stop_sequence=fields.take("stop_sequence", str, None),
        stop_details=fields.take("stop_details", dict, None),
        usage=fields.take("usage", dict, None),
        model=fields.take("model", str, None),
        id=fields.take("id", str, None),
        delay_s=fields.take("delay_s", float, 0.0),
        drip_s=fields.take("drip_s", float, 0.0),
        cut_after=fields.take("cut_after", int, None),
        end=end,
        error_event=event,
        expect=_expect(fields),
    )


def _content(fields: _Fields) -> tuple[Block, ...]:
    blocks = fields.take("content", list)
    for at, block in enumerate(blocks):
        if not isinstance(block, dict) or not isinstance(block.get("type"), str):
            raise ScriptError(
                f"{fields.where}.content[{at}]", "a block needs a 'type'", 'e.g. {"type": "text"}'
            )
        if not isinstance(repeat := block.get("repeat", 1), int) or repeat < 0:
            raise ScriptError(
                f"{fields.where}.content[{at}].repeat", f"{_said(repeat)}", "give a whole number"
            )
    return tuple(blocks)


def _status(fields: _Fields) -> Status:
    told = _Fields(f"{fields.where}.error", fields.take("error", dict))
    code = told.take("status", int)
    if not 200 <= code <= 599:
        raise ScriptError(f"{told.where}.status", f"{code} is no final status", "give 200 to 599")
    headers = told.take("headers", dict, {})
    told.take("body", object, None)
    raw_body = told.take("raw_body", str, None)
    body = told._raw.get("body")
    if body is not None and raw_body is not None:
        raise ScriptError(told.where, "'body' and 'raw_body' exclude each other", "drop one")
    told.finish()
    return Status(
        status=code,
        headers={str(name).lower(): str(value) for name, value in headers.items()},
        body=body,
        raw_body=raw_body,
        delay_s=fields.take("delay_s", float, 0.0),
        expect=_expect(fields),
    )


def _raw_sse(fields: _Fields) -> RawSse:
    end = _end(fields)
    repeat = fields.strings("repeat", [])
    if end is End.REPEAT and not repeat:
        raise ScriptError(fields.where, "end 'repeat' without lines", "give them in 'repeat'")
    return RawSse(
        lines=fields.strings("raw_sse"),
        end=end,
        eol=fields.take("eol", str, "\n"),
        chunk_bytes=fields.take("chunk_bytes", int, None),
        raw_unicode=fields.take("raw_unicode", bool, False),
        repeat=repeat,
        every_s=fields.take("every_s", float, 1.0),
        delay_s=fields.take("delay_s", float, 0.0),
        expect=_expect(fields),
    )


def _end(fields: _Fields) -> End:
    said = fields.take("end", str, "close")
    if said not in {*End}:
        raise ScriptError(f"{fields.where}.end", f"{said!r} is unknown", f"use {', '.join(End)}")
    return End(said)


def _expect(fields: _Fields) -> Expect | None:
    if "expect" not in fields:
        fields.take("expect", dict, None)
        return None
    told = _Fields(f"{fields.where}.expect", fields.take("expect", dict))
    asked = {field.name: told.take(field.name, str, None) for field in attrs.fields(Expect)}
    told.finish()
    return Expect(**asked)


def _filled(value: Any, values: Mapping[str, str], where: str) -> Any:
    # After parsing, not before: a value may hold quotes and backslashes.
    if isinstance(value, str):

        def put(found: re.Match[str]) -> str:
            name = found[1]
            if name not in values:
                raise ScriptError(where, f"no value for {found[0]}", f"give a value for {name}")
            return values[name]

        return _PLACEHOLDER.sub(put, value)
    if isinstance(value, list):
        return [_filled(one, values, f"{where}[{at}]") for at, one in enumerate(value)]
    if isinstance(value, dict):
        return {key: _filled(one, values, f"{where}.{key}") for key, one in value.items()}
    return value


def _said(value: Any) -> str:
    shown = orjson.dumps(value).decode()
    return shown if len(shown) <= 40 else f"{shown[:37]}..."
