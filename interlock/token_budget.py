"""The token budget that a prompt asks for in its own words, or a flag in a number.

    +500k fix the tests        fix the tests, +1.5m        use 2M tokens: find all bugs

Only as the first or the last words of a prompt, and of no question, else prose about tokens
would be an order. The words stay in the prompt: the model may know what the user wants.

    request = "+" amount ("k" | "m")  |  ("use" | "spend") amount ["k" | "m"] "tokens"
    amount  = digits, perhaps with a point and more digits; letters in either case
"""

from __future__ import annotations

import re

_AMOUNT = r"(?P<amount>[0-9]{1,9}(?:\.[0-9]{1,6})?)"  # longer ones are typing errors
_SHORT = rf"\+{_AMOUNT}(?P<unit>[km])"
_LONG = rf"(?:use|spend)\s+{_AMOUNT}\s?(?P<unit>[km]?)\s+tokens"
_FORMS = tuple(
    re.compile(pattern, re.IGNORECASE | re.ASCII)
    for request in (_SHORT, _LONG)
    for pattern in (rf"\A\s*{request}(?=[\s,.:;!?]|\Z)", rf"(?<!\S){request}[.!]?\s*\Z")
)
_FLAG = re.compile(rf"{_AMOUNT}(?P<unit>[km]?)", re.IGNORECASE | re.ASCII)
_UNITS = {"": 1, "k": 1_000, "m": 1_000_000}


def asked_for(prompt: str) -> int | None:
    """The budget in tokens that the prompt asks for, or None."""
    found = next((match for form in _FORMS if (match := form.search(prompt))), None)
    return None if found is None else _tokens(found)


def amount_of(text: str) -> int | None:
    """The value of a flag: 500000, 500k or 2M; None for what is none, or not above 0."""
    found = _FLAG.fullmatch(text.strip())
    return None if found is None else _tokens(found)


def _tokens(found: re.Match[str]) -> int | None:
    tokens = round(float(found["amount"]) * _UNITS[found["unit"].lower()])
    return tokens or None
