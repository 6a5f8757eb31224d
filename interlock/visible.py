"""Text from files, models and servers on its way to a screen: it must not steer the terminal.

Knows characters only. `visible` is for one line of words; `harmless` for all that a command
prints, its JSON among it.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager

# Controls but line ends and tabs, and what turns the direction of text around.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Text that cannot steer a terminal: control and direction characters become escapes."""
    return "".join(
        letter if letter.isprintable() or letter == "\t" else ascii(letter)[1:-1]
        for letter in text
    )


def harmless(text: str) -> str:
    """The same for many lines. JSON stays JSON, with the same meaning: where it may hold such a
    character as it is, the escape is one of its own.
    """
    return _STEERING.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x20 else f"\\u{code:04x}"


class _Screen(io.TextIOWrapper):
    def write(self, text: str) -> int:
        return super().write(harmless(text))


@contextmanager
def harmless_output() -> Iterator[None]:
    """Meanwhile nothing that is printed steers a terminal, wherever it came from."""
    plain = sys.stdout
    if not isinstance(plain, io.TextIOWrapper):  # closed, or a test's own
        yield
        return
    plain.flush()
    screen = _Screen(
        plain.buffer,
        encoding=plain.encoding,
        errors=plain.errors,
        line_buffering=plain.line_buffering,
    )
    sys.stdout = screen
    try:
        yield
        screen.flush()
    finally:
        sys.stdout = plain
        screen.detach()  # else it would close what is not its own
