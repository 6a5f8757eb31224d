"""Numbers with the word for what they count: `1 turn`, `1,200 turns`."""

from __future__ import annotations


def counted(number: int, one: str, many: str | None = None) -> str:
    """`many` is the plural where it is not `one` with an s."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
