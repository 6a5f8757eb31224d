"""The first look at a request: may it come in, is it JSON, is it valid, how long is it.

Decides nothing about the answer; the rules themselves are validate.py's.
"""

from __future__ import annotations

from typing import Any

import attrs

from interlock.scripted import validate
from interlock.scripted.cache import Prompt, render
from interlock.scripted.script import Settings
from interlock.scripted.signatures import SignatureBook
from interlock.scripted.validate import Refused
from interlock.scripted.wire import HttpRequest


@attrs.frozen(kw_only=True)
class Seen:
    """A request after the first look."""

    body: dict[str, Any] = attrs.Factory(dict)
    problems: tuple[str, ...] = ()
    refused: Refused | None = None
    prompt: Prompt | None = None  # only of good requests, and only where it is wanted


def look(
    request: HttpRequest,
    settings: Settings,
    signatures: SignatureBook,
    *,
    counting: bool = False,
) -> Seen:
    """Look in the order in which the real API does: key, size, JSON, rules."""
    if settings.strict and (refused := validate.header_refusal(request.headers)):
        return _out(refused)
    if request.too_large:
        return _out(validate.too_large(settings.max_request_bytes))
    body = validate.parsed(request.body)
    if isinstance(body, Refused):
        return _out(body)
    rendered: list[Prompt] = []  # once, wherever it is needed first

    def prompt() -> Prompt:
        if not rendered:
            rendered.append(render(body))
        return rendered[0]

    if settings.strict:
        problems = validate.problems(
            body,
            signatures=signatures,
            window=settings.window,
            tokens=lambda _: prompt().tokens,
            counting=counting,
            betas=validate.betas_of(request.headers),
        )
        if problems:
            return Seen(body=body, problems=problems, refused=validate.invalid(problems[0]))
    return Seen(body=body, prompt=prompt() if counting or settings.cache else None)


def _out(refused: Refused) -> Seen:
    return Seen(problems=(refused.message,), refused=refused)
