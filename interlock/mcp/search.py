"""ToolSearch: finds tools whose schemas are not in the request, and loads them.

With two hundred tools their schemas would fill a window before a word is said; their names do not.
Knows a catalogue; what loading means for the next request is `interlock/offer.py`'s.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from typing import Protocol

from attrs import frozen

from interlock.tools import Arguments, Output, Tool, ToolContext

_MOST, _USUAL = 20, 5
_SELECT = "select:"
_IN_NAME, _IN_DESCRIPTION = 4, 1  # what a word of the query counts


@frozen
class Entry:
    name: str
    description: str


class Catalogue(Protocol):
    """The tools that can be loaded."""

    def entries(self) -> Sequence[Entry]: ...

    def load(self, names: Sequence[str]) -> bool:
        """From the next request on they are there. True: the result must name them to the API."""
        ...


class ToolSearch(Tool):
    """The search tool, with the names of what there is to find in its description."""

    name = "ToolSearch"
    input_schema = {  # noqa: RUF012 (never changed)
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "description": "`select:name,name` for tools whose names you know, or words that"
                " are looked for in names and descriptions; `+word` must be there.",
            },
            "max_results": {"type": "integer", "minimum": 1, "description": "Default: 5."},
        },
        "required": ["query"],
        "additionalProperties": False,
    }

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self.renew()

    def over(self, catalogue: Catalogue) -> ToolSearch:
        """Another one with the same description."""
        other = copy.copy(self)
        other._catalogue = catalogue
        return other

    def renew(self) -> None:
        """Name what there is now: the description is sent, so it changes rarely."""
        names = "\n".join(one.name for one in self._catalogue.entries())
        self.description = (
            "Loads tools: these exist and cannot be called before their parameters are known."
            " Search for what you need, then call it in your next turn; what is loaded stays."
            f"\n{names}"
        )

    def effects(self, arguments: Arguments) -> bool:
        return False

    async def run(self, arguments: Arguments, context: ToolContext) -> Output:
        entries = self._catalogue.entries()
        most = min(arguments.get("max_results", _USUAL), _MOST)
        found = found_by(arguments["query"], entries, most)
        if not found:
            return Output(
                f"No tool fits {arguments['query']!r}. There are {len(entries)}; try other words."
            )
        if self._catalogue.load(found):
            return Output("", loads=tuple(found))
        return Output(f"Loaded, and can be called from your next turn on: {', '.join(found)}.")


def found_by(query: str, entries: Sequence[Entry], most: int) -> list[str]:
    """The names that a query finds, the best first."""
    text = query.strip()
    if text.lower().startswith(_SELECT):
        known = {one.name.lower(): one.name for one in entries}
        wanted = re.split(r"[\s,]+", text[len(_SELECT) :].strip().lower())
        return [known[name] for name in dict.fromkeys(wanted) if name in known]
    words = text.lower().split()
    must = [word[1:] for word in words if word.startswith("+") and len(word) > 1]
    plain = [word.lstrip("+") for word in words if word.lstrip("+")]
    ranked = []
    for one in entries:
        name, about = one.name.lower(), one.description.lower()
        if not all(word in name or word in about for word in must):
            continue
        score = sum(
            _IN_NAME * (word in name) + _IN_DESCRIPTION * (word in about) for word in plain
        )
        if score:
            ranked.append((-score, one.name))
    return [name for _, name in sorted(ranked)[:most]]
