"""How a request failed: from what the SDK, the API, the network or a limit say, to one Failure.

The API's `error.type` is asked before the HTTP status: inside a stream the status is 200 for
every error. Each message is one line for a person, with what to do where that helps.
"""

from __future__ import annotations

import math
import os
import re
import ssl
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from attrs import frozen

from interlock.model.refusals import ABOUT_MEDIA, TOO_LARGE, refused_blocks
from interlock.model.request import Outgoing
from phases.world.failures import Failure, FailureKind, RefusedBlock

_LONGEST = 300  # characters of a server's own words that are shown

_TYPES = {
    "api_error": FailureKind.SERVER,
    "authentication_error": FailureKind.AUTHENTICATION,
    "billing_error": FailureKind.BILLING,
    "exceed_context_size_error": FailureKind.PROMPT_TOO_LONG,  # llama.cpp
    "invalid_request_error": FailureKind.INVALID_REQUEST,
    "not_found_error": FailureKind.MODEL_NOT_FOUND,
    "overloaded_error": FailureKind.OVERLOADED,
    "permission_error": FailureKind.PERMISSION,
    "rate_limit_error": FailureKind.RATE_LIMITED,
    "request_too_large": FailureKind.PROMPT_TOO_LONG,
    "server_error": FailureKind.SERVER,  # llama.cpp
    "timeout_error": FailureKind.TIMEOUT,
    "unavailable_error": FailureKind.SERVER,  # llama.cpp, while it loads its model
}
_STATUSES = {
    400: FailureKind.INVALID_REQUEST,
    401: FailureKind.AUTHENTICATION,
    402: FailureKind.BILLING,
    403: FailureKind.PERMISSION,
    404: FailureKind.MODEL_NOT_FOUND,
    408: FailureKind.TIMEOUT,
    409: FailureKind.SERVER,
    413: FailureKind.PROMPT_TOO_LONG,
    422: FailureKind.INVALID_REQUEST,
    429: FailureKind.RATE_LIMITED,
    504: FailureKind.TIMEOUT,
    529: FailureKind.OVERLOADED,
}
_WORDS = {
    FailureKind.AUTHENTICATION: ("the API key was refused", "set ANTHROPIC_API_KEY"),
    FailureKind.BILLING: ("the account cannot pay for this", "look at its credit balance"),
    FailureKind.BLOCK_REFUSED: ("a block of the history was refused", ""),
    FailureKind.INVALID_REQUEST: ("the request was refused", ""),
    FailureKind.MEDIA_TOO_LARGE: ("an image or document is too large", ""),
    FailureKind.MODEL_NOT_FOUND: (
        "the model {model} was not found",
        "choose another model, or mend the address {address}",
    ),
    FailureKind.OVERLOADED: ("the model is overloaded", ""),
    FailureKind.PERMISSION: ("this key may not do that", "check its rights and the model's name"),
    FailureKind.PROMPT_TOO_LONG: ("the prompt is too long", ""),
    FailureKind.RATE_LIMITED: ("the rate limit is reached", ""),
    FailureKind.SERVER: ("the model's server has failed", ""),
    FailureKind.TIMEOUT: ("the model's server ran out of time", ""),
}

_TOO_LONG = re.compile(
    r"prompt is too long|exceeds? (the )?(available |maximum )?context|context (length|window)"
    r"|too many (input |total )?tokens",
    re.I,
)
_NO_CREDIT = re.compile(r"credit balance is too low", re.I)


@frozen(kw_only=True)
class Asked:
    """What was asked of whom, as far as a failure may have to name it."""

    model: str
    address: str  # https://host:port
    now: float  # seconds since 1970
    outgoing: Outgoing | None = None


def refused(
    asked: Asked,
    *,
    status: int | None,
    error_type: str | None,
    detail: str,
    headers: Mapping[str, str] | None = None,
) -> Failure:
    """A failure that the server told: by a status, or by an error event (status 200)."""
    headers = headers or {}
    kind, blocks = _kind(asked, status, error_type, detail)
    words, advice = (part.format_map(_names(asked)) for part in _WORDS[kind])
    wait = retry_after(headers, asked.now)
    if wait:
        shown = f"{wait:,.0f}" if wait >= 10 else f"{wait:.2g}"
        advice = f"the server asks for a pause of {shown} s"
    code = f" ({status})" if status not in (None, 200) else ""
    said = f": {one_line(detail)}" if detail.strip() else ""
    return Failure(
        kind=kind,
        message=f"{words}{code}{said}{'; ' if advice else ''}{advice}",
        status=status,
        error_type=error_type,
        retry_after=wait,
        # "true" is not obeyed: what the table calls final was refused for what it says.
        hopeless=headers.get("x-should-retry", "").strip().lower() == "false",
        request_id=headers.get("request-id") or headers.get("x-request-id"),
        refused=blocks[0] if blocks else None,
        beside=blocks[1:],
    )


def raised(error: Exception, asked: Asked, *, streaming: bool) -> Failure | None:
    """A failure that came as an exception; None for one that no one foresaw: a bug.

    `streaming` says that the head of an answer had come.
    """
    import anthropic
    import httpx2

    cause = _cause(error)
    if isinstance(error, anthropic.APIStatusError):
        return _told_by_status(error, asked)
    if isinstance(cause, httpx2.LocalProtocolError):
        # Its own text quotes the header, and with it the key.
        return _failure(
            FailureKind.INVALID_REQUEST,
            "a header cannot be sent: look for stray characters in the API key",
        )
    if isinstance(error, TypeError) and "authentication method" in str(error):
        return _failure(FailureKind.AUTHENTICATION, "there is no API key: set ANTHROPIC_API_KEY")
    if isinstance(cause, anthropic.CredentialsError):
        return _failure(
            FailureKind.AUTHENTICATION, f"no credentials: {cause}; set ANTHROPIC_API_KEY"
        )
    if isinstance(cause, httpx2.UnsupportedProtocol | httpx2.InvalidURL):
        return _failure(
            FailureKind.INVALID_REQUEST,
            f"{asked.address} is no address of a server: set ANTHROPIC_BASE_URL to one "
            "that begins with https:// or http://",
        )
    if isinstance(cause, httpx2.DecodingError):
        return _failure(FailureKind.PROTOCOL, f"the answer cannot be decoded: {cause}")
    if isinstance(error, anthropic.APIError | httpx2.HTTPError | OSError):
        return _broken_line(cause, asked, streaming=streaming)
    return None


def _told_by_status(error: Any, asked: Asked) -> Failure:
    body = error.body
    if 300 <= error.status_code < 400:
        target = error.response.headers.get("location", "elsewhere")
        return _failure(
            FailureKind.PROTOCOL,
            f"{asked.address} redirects to {one_line(target)}: set ANTHROPIC_BASE_URL to the "
            "final address",
            status=error.status_code,
            hopeless=True,
        )
    error_type = error.type if isinstance(error.type, str) else None
    return refused(
        asked,
        status=error.status_code,
        error_type=error_type,
        detail=_detail(body),
        headers=error.response.headers,
    )


def _broken_line(cause: BaseException, asked: Asked, *, streaming: bool) -> Failure:
    import httpx2

    if streaming:
        return cut(f"the connection broke: {_reason(cause)}")
    if isinstance(cause, httpx2.ConnectTimeout | httpx2.PoolTimeout):
        return _failure(
            FailureKind.TIMEOUT,
            f"cannot connect to {asked.address} in time; check the address and the network",
        )
    if isinstance(cause, httpx2.TimeoutException):
        return _failure(FailureKind.TIMEOUT, f"{asked.address} did not answer in time")
    return _failure(
        FailureKind.CONNECTION,
        hopeless=_distrusted(cause),
        message=f"cannot connect to {asked.address}: {_reason(cause)}; check the address "
        "(ANTHROPIC_BASE_URL) and the network",
    )


def cut(how: str) -> Failure:
    """The stream ended before message_stop: nothing of the reply counts."""
    return _failure(FailureKind.CUT, f"the answer was cut before its end; {how}")


def no_stream(what: str, first_bytes: bytes = b"", content_type: str | None = None) -> Failure:
    """The answer is none of the Messages API; the beginning of its body is shown."""
    kind = f" ({one_line(content_type)})" if content_type else ""
    begins = one_line(first_bytes.decode("utf-8", "replace"))
    shown = f"; its body{kind} begins: {begins}" if begins else ""
    return _failure(FailureKind.PROTOCOL, f"the answer is no stream of messages: {what}{shown}")


def no_first_event(seconds: float) -> Failure:
    return _failure(
        FailureKind.STALLED,
        f"the model's server said nothing for {seconds:g} s (INTERLOCK_FIRST_EVENT_S)",
    )


def no_content(seconds: float) -> Failure:
    return _failure(
        FailureKind.STALLED,
        f"the answer stood still for {seconds:g} s (INTERLOCK_STREAM_IDLE_S)",
    )


def too_slow(seconds: float) -> Failure:
    return _failure(
        FailureKind.TIMEOUT,
        f"the answer was not whole after {seconds:g} s (INTERLOCK_REQUEST_TIMEOUT_S)",
    )


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """The pause that the server asks for, in seconds; both forms of the header are read.

    A date counts from the server's own clock, where it told it: ours may differ.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    told = headers.get("retry-after")
    seconds = _number(told)
    if seconds is not None or told is None:
        return seconds
    until = _date(told)
    if until is None:
        return None
    since = _date(headers.get("date"))
    return max(0.0, until - (now if since is None else since))


def one_line(text: str) -> str:
    """Foreign words, fit for one line of a terminal: no control characters, not too long."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


def _kind(
    asked: Asked, status: int | None, error_type: str | None, detail: str
) -> tuple[FailureKind, tuple[RefusedBlock, ...]]:
    kind = _TYPES.get(error_type or "") or _kind_of_status(status)
    if kind is not FailureKind.INVALID_REQUEST:
        return kind, ()
    if _TOO_LONG.search(detail):
        return FailureKind.PROMPT_TOO_LONG, ()
    if _NO_CREDIT.search(detail):
        return FailureKind.BILLING, ()
    blocks: tuple[RefusedBlock, ...] = ()
    if asked.outgoing is not None:
        blocks = refused_blocks(asked.outgoing, detail, unheard=status not in (None, 200))
    if ABOUT_MEDIA.search(detail) and TOO_LARGE.search(detail):
        return FailureKind.MEDIA_TOO_LARGE, blocks
    return (FailureKind.BLOCK_REFUSED if blocks else kind), blocks


def _kind_of_status(status: int | None) -> FailureKind:
    if status is None or status == 200:
        return FailureKind.SERVER  # an error event of a type that no one knows
    if status in _STATUSES:
        return _STATUSES[status]
    return FailureKind.SERVER if status >= 500 else FailureKind.INVALID_REQUEST


def _detail(body: Any) -> str:
    """The server's words, from the API's shape of an error or from any other."""
    match body:
        case {"error": {"message": str(words)}} | {"error": str(words)} | {"message": str(words)}:
            return words
        case None:
            return ""
        case _:
            return str(body)


def _failure(
    kind: FailureKind, message: str, *, status: int | None = None, hopeless: bool = False
) -> Failure:
    return Failure(kind=kind, message=one_line(message), status=status, hopeless=hopeless)


def _names(asked: Asked) -> dict[str, str]:
    return {"model": one_line(asked.model), "address": asked.address}


def _cause(error: BaseException) -> BaseException:
    """What the SDK has wrapped: the exception of the transport below it."""
    import anthropic

    if isinstance(error, anthropic.APIConnectionError) and error.__cause__ is not None:
        return error.__cause__
    return error


def _distrusted(cause: BaseException | None) -> bool:
    """Whether the server's certificate was refused: it will be the same next time."""
    for _ in range(8):
        if isinstance(cause, ssl.SSLCertVerificationError):
            return True
        cause = cause and (cause.__cause__ or cause.__context__)
    return False


def _reason(cause: BaseException) -> str:
    """The deepest words there are: the system's own, where it was the system."""
    deepest: BaseException | None = cause
    for _ in range(8):
        if isinstance(deepest, ConnectionError) and deepest.errno:
            return os.strerror(deepest.errno).lower()  # asyncio puts its own words into it
        if isinstance(deepest, OSError) and deepest.strerror:
            return deepest.strerror.lower()
        deepest = deepest and (deepest.__cause__ or deepest.__context__)
    return str(cause) or type(cause).__name__


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return max(0.0, value) if math.isfinite(value) else None


def _date(text: str | None) -> float | None:
    try:
        return parsedate_to_datetime(text or "").timestamp()
    except (ValueError, OverflowError):
        return None
