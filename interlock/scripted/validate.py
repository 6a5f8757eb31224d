"""Judges a request as strictly as the real API: the table of rules, and who is let in at all.

Each rule group is a function in rules/. The first complaint is what the client is told; all of
them are recorded. Knows no script, and what it cannot judge by the request alone (whose signature
this is) it asks of the SignatureBook.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import Any

import attrs
import orjson

from interlock.scripted.cache import render
from interlock.scripted.rules.blocks import message_problems, system_problems
from interlock.scripted.rules.body import body_problems
from interlock.scripted.rules.editing import editing_problems
from interlock.scripted.rules.media import media_problems
from interlock.scripted.rules.models import output_problems, prefill_problems
from interlock.scripted.rules.thinking import thinking_problems
from interlock.scripted.rules.tools import (
    breakpoint_problems,
    reference_problems,
    tool_problems,
)
from interlock.scripted.rules.turns import (
    order_problems,
    pairing_problems,
    text_problems,
    window_problems,
)
from interlock.scripted.rules.walk import Asked, Problems, turns_of
from interlock.scripted.signatures import SignatureBook

# The shape first: the rules of meaning may then trust every key and type.
SHAPE_RULES: tuple[Callable[[Mapping[str, Any]], Problems], ...] = (
    message_problems,
    system_problems,
    tool_problems,
)
MEANING_RULES: tuple[Callable[[Asked], Problems], ...] = (
    order_problems,
    breakpoint_problems,
    reference_problems,
    text_problems,
    pairing_problems,
    thinking_problems,
    prefill_problems,
    media_problems,
    window_problems,
)


@attrs.frozen(kw_only=True)
class Refused:
    """Why a request is not answered by the script."""

    status: int
    type: str
    message: str


def problems(
    body: Mapping[str, Any],
    *,
    signatures: SignatureBook | None = None,
    window: int | None = None,
    tokens: Callable[[Mapping[str, Any]], int] = lambda body: render(body).tokens,
    counting: bool = False,
    betas: Set[str] = frozenset(),
) -> tuple[str, ...]:
    """All that the real API would refuse in a request body, in the order it is looked for.

    `betas` are those that the headers named: some keys are known with them only.
    """
    found = [*body_problems(body, counting=counting), *output_problems(body)]
    found += editing_problems(body, betas)
    if not isinstance(body.get("messages"), list) or found:
        return tuple(found)
    for shape in SHAPE_RULES:
        found += shape(body)
    if found:
        return tuple(found)
    asked = Asked(
        body=body,
        turns=turns_of(body["messages"]),
        signatures=signatures or SignatureBook(),
        window=window,
        tokens=lambda: tokens(body),
    )
    for meaning in MEANING_RULES:
        found += meaning(asked)
    return tuple(found)


def header_refusal(headers: Mapping[str, str]) -> Refused | None:
    """What is missing in the headers."""
    if not (headers.get("x-api-key") or headers.get("authorization")):
        return Refused(
            status=401, type="authentication_error", message="x-api-key header is required"
        )
    if not headers.get("anthropic-version"):
        return invalid("anthropic-version: header is required")
    return None


def betas_of(headers: Mapping[str, str]) -> Set[str]:
    """The betas a request asks for."""
    return {one.strip() for one in headers.get("anthropic-beta", "").split(",")}


def parsed(raw: bytes) -> dict[str, Any] | Refused:
    """The body as a JSON object. orjson is as strict as the API: UTF-8, no lone surrogates."""
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        return invalid(f"The request body is not valid JSON: {error}")
    if not isinstance(body, dict):
        return invalid("Input should be a valid dictionary or object")
    return body


def invalid(message: str) -> Refused:
    """A refusal with status 400."""
    return Refused(status=400, type="invalid_request_error", message=message)


def too_large(limit: int) -> Refused:
    """A refusal with status 413."""
    return Refused(
        status=413,
        type="request_too_large",
        message=f"Request exceeds the maximum size of {limit} bytes",
    )
