"""The table of failures: what is said by whom, and what becomes of it."""

from __future__ import annotations

import ssl
from typing import Any

import anthropic
import httpx2
import pytest
from attrs import frozen

from interlock.model.failures import Asked, one_line, raised, refused, retry_after
from interlock.model.request import Gate, Outgoing
from phases.world.failures import Failure, FailureKind
from phases.world.messages import Message, ToolResult
from tests.model.histories import PIXEL, asking, assistant, call, user

K = FailureKind
NOW = 1_800_000_000.0
SHOWN = user(ToolResult("toolu_1", (PIXEL,)), "and a note")
HISTORY: tuple[Message, ...] = (user("go"), assistant("so", call()), SHOWN)


def asked(outgoing: Outgoing | None = None) -> Asked:
    return Asked(model="model-x", address="http://127.0.0.1:9", now=NOW, outgoing=outgoing)


def told(status: int, error_type: str | None, detail: str = "words", **headers: str) -> Failure:
    return refused(
        asked(Gate().build(asking(*HISTORY))),
        status=status,
        error_type=error_type,
        detail=detail,
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )


@frozen
class Case:
    status: int
    type: str | None
    kind: FailureKind
    detail: str = "words"


CASES = {
    "401": Case(401, "authentication_error", K.AUTHENTICATION),
    "402": Case(402, "billing_error", K.BILLING),
    "403": Case(403, "permission_error", K.PERMISSION),
    "404": Case(404, "not_found_error", K.MODEL_NOT_FOUND),
    "408": Case(408, None, K.TIMEOUT),
    "409": Case(409, None, K.SERVER),
    "413": Case(413, "request_too_large", K.PROMPT_TOO_LONG),
    "418": Case(418, None, K.INVALID_REQUEST),
    "422": Case(422, None, K.INVALID_REQUEST),
    "429": Case(429, "rate_limit_error", K.RATE_LIMITED),
    "500": Case(500, "api_error", K.SERVER),
    "502 of a gateway": Case(502, None, K.SERVER),
    "504": Case(504, "timeout_error", K.TIMEOUT),
    "529": Case(529, "overloaded_error", K.OVERLOADED),
    "529 without a body": Case(529, None, K.OVERLOADED),
    "the type goes before the status": Case(500, "overloaded_error", K.OVERLOADED),
    "overloaded in a stream": Case(200, "overloaded_error", K.OVERLOADED),
    "api_error in a stream": Case(200, "api_error", K.SERVER),
    "rate limit in a stream": Case(200, "rate_limit_error", K.RATE_LIMITED),
    "timeout in a stream": Case(200, "timeout_error", K.TIMEOUT),
    "refused in a stream": Case(200, "invalid_request_error", K.INVALID_REQUEST),
    "unknown type in a stream": Case(200, "future_error", K.SERVER),
    "no type in a stream": Case(200, None, K.SERVER),
    "prompt too long": Case(
        400,
        "invalid_request_error",
        K.PROMPT_TOO_LONG,
        "prompt is too long: 205030 tokens > 200000 maximum",
    ),
    "prompt and output too long": Case(
        400,
        "invalid_request_error",
        K.PROMPT_TOO_LONG,
        "input length and `max_tokens` exceed context limit: 190000 + 64000 > 200000",
    ),
    "llama.cpp window": Case(400, "exceed_context_size_error", K.PROMPT_TOO_LONG),
    "llama.cpp loading": Case(503, "unavailable_error", K.SERVER),
    "credit": Case(
        400, "invalid_request_error", K.BILLING, "Your credit balance is too low to access"
    ),
    "plain": Case(400, "invalid_request_error", K.INVALID_REQUEST, "max_tokens: Field required"),
    "image too large, no place": Case(
        400, "invalid_request_error", K.MEDIA_TOO_LARGE, "image exceeds 5 MB maximum"
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_a_server_says_has_one_kind(case: Case) -> None:
    failure = told(case.status, case.type, case.detail)

    assert failure.kind is case.kind
    assert (failure.status, failure.error_type) == (case.status, case.type)
    assert case.detail in failure.message
    assert "\n" not in failure.message
    assert failure.refused is None


# --- pauses ----------------------------------------------------------------------------------

SERVERS_CLOCK = "Wed, 01 Jan 2031 00:00:00 GMT"
PAUSES: dict[str, tuple[dict[str, str], float | None]] = {
    "seconds": ({"retry-after": "3"}, 3.0),
    "part of a second": ({"retry-after": "0.25"}, 0.25),
    "milliseconds go first": ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
    "date by the server's clock": (
        {"retry-after": "Wed, 01 Jan 2031 00:01:00 GMT", "date": SERVERS_CLOCK},
        60.0,
    ),
    "date by ours": ({"retry-after": "Fri, 15 Jan 2027 08:01:40 GMT"}, 100.0),
    "date long past": ({"retry-after": "Fri, 15 Jan 1999 08:00:00 GMT"}, 0.0),
    "negative": ({"retry-after": "-3"}, 0.0),
    "endless": ({"retry-after": "inf"}, None),
    "garbage": ({"retry-after": "soon"}, None),
    "none": ({}, None),
}


@pytest.mark.parametrize(("headers", "pause"), PAUSES.values(), ids=PAUSES)
def test_a_pause_is_read_in_every_form(headers: dict[str, str], pause: float | None) -> None:
    assert retry_after(headers, NOW) == pause


def test_a_pause_and_a_request_id_are_kept_and_the_pause_is_said() -> None:
    failure = told(429, "rate_limit_error", "slow down", retry_after="3", request_id="req_1")

    assert failure == Failure(
        kind=K.RATE_LIMITED,
        message="the rate limit is reached (429): slow down; the server asks for a pause of 3 s",
        status=429,
        error_type="rate_limit_error",
        retry_after=3.0,
        request_id="req_1",
    )


# --- exceptions ------------------------------------------------------------------------------

REQUEST = httpx2.Request("POST", "http://127.0.0.1:9/v1/messages")


def by_sdk(cause: Exception) -> Exception:
    error = anthropic.APIConnectionError(request=REQUEST)
    error.__cause__ = cause
    return error


def answered(status: int, body: Any, **headers: str) -> Exception:
    response = httpx2.Response(status, headers=headers, request=REQUEST)
    return anthropic.APIStatusError("x", response=response, body=body)


LLAMA = "exceed_context_size_error"
EXCEPTIONS: dict[str, tuple[Exception, bool, FailureKind, str]] = {
    "refused connection": (
        by_sdk(httpx2.ConnectError("all attempts failed")),
        False,
        K.CONNECTION,
        "cannot connect to http://127.0.0.1:9: all attempts failed; check the address",
    ),
    "slow connection": (
        by_sdk(httpx2.ConnectTimeout("")),
        False,
        K.TIMEOUT,
        "cannot connect to http://127.0.0.1:9 in time",
    ),
    "hung up before an answer": (
        by_sdk(httpx2.RemoteProtocolError("Server disconnected")),
        False,
        K.CONNECTION,
        "Server disconnected",
    ),
    "certificate": (
        by_sdk(ssl.SSLCertVerificationError(1, "certificate verify failed")),
        False,
        K.CONNECTION,
        "certificate verify failed",
    ),
    "cut while streaming": (
        httpx2.RemoteProtocolError("peer closed connection"),
        True,
        K.CUT,
        "peer closed connection",
    ),
    "reset while streaming": (httpx2.ReadError(""), True, K.CUT, "ReadError"),
    "bad compression": (httpx2.DecodingError("zlib"), True, K.PROTOCOL, "cannot be decoded"),
    "no key": (
        TypeError('"Could not resolve authentication method. Expected one of api_key"'),
        False,
        K.AUTHENTICATION,
        "set ANTHROPIC_API_KEY",
    ),
    "bad profile": (
        anthropic.CredentialsError("no such profile"),
        False,
        K.AUTHENTICATION,
        "no such profile",
    ),
    "bad key": (
        by_sdk(httpx2.LocalProtocolError("Illegal header value b'Bearer sk-secret'")),
        False,
        K.INVALID_REQUEST,
        "look for stray characters in the API key",
    ),
    "no address": (
        by_sdk(httpx2.UnsupportedProtocol("missing http://")),
        False,
        K.INVALID_REQUEST,
        "ANTHROPIC_BASE_URL",
    ),
    "html of a gateway": (
        answered(502, "<html>\n<b>bad\x1b[31m gateway</b>"),
        False,
        K.SERVER,
        "the model's server has failed (502): <html> <b>bad [31m gateway</b>",
    ),
    "local shape": (
        answered(400, {"error": {"code": 400, "message": "9031 > 4096", "type": LLAMA}}),
        False,
        K.PROMPT_TOO_LONG,
        "9031 > 4096",
    ),
    "plain text error": (answered(503, {"error": "later"}), False, K.SERVER, ": later"),
    "no body": (answered(500, None), False, K.SERVER, "the model's server has failed (500)"),
    "redirect": (
        answered(302, None, location="https://login.example/"),
        False,
        K.PROTOCOL,
        "redirects to https://login.example/",
    ),
    "unknown model": (
        answered(404, {"error": {"type": "not_found_error", "message": "model: model-x"}}),
        False,
        K.MODEL_NOT_FOUND,
        "the model model-x was not found (404): model: model-x; choose another model",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("error", "streaming", "kind", "words"), EXCEPTIONS.values(), ids=EXCEPTIONS
)
def test_an_exception_that_was_foreseen_is_a_failure_in_one_line(
    error: Exception, streaming: bool, kind: FailureKind, words: str
) -> None:
    failure = raised(error, asked(), streaming=streaming)

    assert failure is not None
    assert failure.kind is kind
    assert words in failure.message
    assert "\n" not in failure.message
    assert "secret" not in failure.message


def test_a_certificate_that_is_refused_will_be_refused_again() -> None:
    refused = httpx2.ConnectError("certificate verify failed")
    refused.__cause__ = ssl.SSLCertVerificationError(1, "certificate verify failed")

    failures = [
        raised(by_sdk(error), asked(), streaming=False)
        for error in (refused, httpx2.ConnectError("refused"))
    ]

    assert [failure is not None and failure.hopeless for failure in failures] == [True, False]


@pytest.mark.parametrize("error", [TypeError("a bug"), ValueError("a bug"), KeyError("a")])
def test_an_exception_that_no_one_foresaw_stays_a_bug(error: Exception) -> None:
    assert raised(error, asked(), streaming=False) is None


def test_foreign_words_cannot_fill_or_steer_the_terminal() -> None:
    assert one_line("a\x1b[2J\r\n\tb") == "a [2J b"
    assert len(one_line("x" * 10_000)) == 300
