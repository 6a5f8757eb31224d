"""`$ARGUMENTS`, `$1`, `$name` in instructions: what was typed behind the name they go by.

Arguments are put into the text as it is written, piece by piece: what they hold is never read as
instructions to this program, so no `!` or `@` in them does anything.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from attrs import field, frozen

_PLACE = re.compile(
    r"\$(?:ARGUMENTS\b(?:\[(?P<index>\d+)\])?|(?P<number>\d+)|(?P<name>[A-Za-z_]\w*))"
)


@frozen(kw_only=True)
class Given:
    """What was typed. `names` are those that the front matter gives to the arguments, in order."""

    text: str = ""
    names: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(factory=dict)  # `${NAME}`, whatever was typed

    @property
    def words(self) -> tuple[str, ...]:
        """As a shell splits them; where a quote is left open, at blanks."""
        try:
            return tuple(shlex.split(self.text))
        except ValueError:
            return tuple(self.text.split())


def takes_arguments(template: str, names: Sequence[str] = ()) -> bool:
    """Whether the text says where arguments belong."""
    return any(_is_place(found, names) for found in _PLACE.finditer(template))


def filled(template: str, given: Given) -> str:
    """The text with the arguments in their places; those that were not given are empty."""
    words = given.words

    def put(found: re.Match[str]) -> str:
        if not _is_place(found, given.names):
            return found[0]
        if found["name"] is not None:
            at = given.names.index(found["name"])
        elif found["number"] is not None:
            at = int(found["number"]) - 1
        elif found["index"] is not None:
            at = int(found["index"])
        else:
            return given.text
        return words[at] if 0 <= at < len(words) else ""

    return _PLACE.sub(put, with_variables(template, given.variables))


def with_variables(text: str, variables: Mapping[str, str]) -> str:
    """The text with what each `${NAME}` of these stands for."""
    for name, value in variables.items():
        text = text.replace(f"${{{name}}}", value)
    return text


def _is_place(found: re.Match[str], names: Sequence[str]) -> bool:
    """`$HOME` is left alone, and `$10` of a price list too: no call has so many arguments."""
    if found["name"] is not None:
        return found["name"] in names
    return found["number"] is None or 1 <= int(found["number"]) <= 9
