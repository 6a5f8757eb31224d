"""All agent types of a session: which a name means, and what the model is told of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from attrs import frozen

from interlock.agents.built_in import ALSO, BUILT_IN, FORK, GENERAL
from interlock.agents.definition import AgentDefinition

_MOST_EACH = 600  # characters of a description in the tool's own
_MOST_ALL = 12_000  # of all of them: it is part of every request
_FORK = (
    f"- {FORK}: you once more, with all that was said so far, for work that needs it. It costs"
    " little, since it reads what you read from the cache; its own steps do not fill your window."
)


class UnknownType(ValueError):
    """A name that no agent type has; the text is for the model."""


@frozen
class Catalogue:
    """The types by name."""

    types: Mapping[str, AgentDefinition]

    @classmethod
    def of(cls, given: Iterable[AgentDefinition] = ()) -> Catalogue:
        """The built-in ones, and over them those that are given, the later over the earlier."""
        return cls({one.name: one for one in (*BUILT_IN, *given)})

    def with_those_of(self, origin: str, types: Iterable[AgentDefinition]) -> Catalogue:
        """The same with these types, and no others whose origin begins so: a plugin's, say."""
        rest = {n: one for n, one in self.types.items() if not one.origin.startswith(origin)}
        return Catalogue({**{one.name: one for one in types}, **rest})

    def find(self, name: str | None, among: tuple[str, ...] | None = None) -> AgentDefinition:
        """The type that a call names; without a name the general one. Raises UnknownType."""
        wanted = (name or "").strip() or GENERAL
        found = self.types.get(wanted) or self.types.get(ALSO.get(wanted.lower(), ""))
        allowed = [each for each in self.types if among is None or each in among]
        if found is not None and found.name in allowed:
            return found
        if found is not None:
            why = f"Agents of the type {found.name} may not be started from here."
        else:
            near = get_close_matches(wanted, [*allowed, FORK], n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            why = f"There is no agent type {wanted!r}.{hint}"
        raise UnknownType(f"{why} There are: {', '.join(dict.fromkeys((*allowed, FORK)))}.")

    def told(self, among: tuple[str, ...] | None = None, *, forks: bool = True) -> str:
        """A line for each, for the model."""
        lines, left = [], _MOST_ALL
        for one in self.types.values():
            if among is not None and one.name not in among:
                continue
            line = f"- {one.name}: {_short(one.description)} (tools: {_tools(one)})"
            left -= len(line)
            lines.append(line if left > 0 else f"- {one.name}")
        own = FORK in self.types  # a type of that name goes over ours
        return "\n".join([*lines, _FORK] if forks and not own else lines)


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _MOST_EACH else f"{flat[:_MOST_EACH]}…"


def _tools(one: AgentDefinition) -> str:
    names = "yours" if one.tools is None else ", ".join(one.tools) or "none"
    denied = f", without {', '.join(one.disallowed_tools)}" if one.disallowed_tools else ""
    return f"{names}{denied}"
