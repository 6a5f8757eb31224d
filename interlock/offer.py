"""What of the session's tools the next request offers, in an order that only grows.

Tools of MCP servers beyond a share of the window are offered by name only, and loaded on demand.
An API that knows `defer_loading` is sent their schemas all the same and keeps them out of the
prompt until a result refers to one, so the cached prefix stays; any other is sent a schema once
its tool is loaded, behind all others. Which of the two an API is, it may have to tell us.
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import TypeAlias

from attrs import define, field

from interlock.mcp.names import PREFIX
from interlock.mcp.search import Entry, ToolSearch
from interlock.settings import Settings
from interlock.tools import Tool
from phases.world.messages import Json, encoded
from phases.world.size import BYTES_PER_TOKEN

Spec: TypeAlias = dict[str, Json]
_GONE = "(Not available now.)"


def _never_loaded(name: str) -> Spec:
    """A tool that the history refers to and nobody has: the API wants to know of it."""
    schema = {"type": "object", "properties": {}}
    return {"name": name, "description": _GONE, "input_schema": schema, "defer_loading": True}


@define(eq=False)
class References:
    """Whether the API knows `defer_loading`: believed, until a server refuses it. A session's."""

    known: bool

    def refuse(self) -> None:
        """From the next request on none of the session's agents uses them."""
        self.known = False


@define(kw_only=True, eq=False)
class Offer:
    """`tools` is the live table, `room` how many tokens of schemas are sent unasked."""

    tools: MutableMapping[str, Tool]
    room: float
    api: References
    loaded: list[str] = field(factory=list)
    references: bool = field(init=False)  # what was deferred was deferred with references
    _order: list[str] = field(factory=list, init=False)  # of names, as they were first sent
    _deferred: set[str] = field(factory=set, init=False)
    _weights: dict[str, tuple[Tool, int]] = field(factory=dict, init=False)
    _key: object = field(default=None, init=False)
    _specs: tuple[Spec, ...] = field(default=(), init=False)

    def __attrs_post_init__(self) -> None:
        self.references = self.api.known

    def specs(self, referred: frozenset[str] = frozenset()) -> tuple[Spec, ...]:
        """As the Messages API wants them; the very same tuple while nothing has changed.

        `referred` are the tools that results in the request refer to: the API loads those. What
        was loaded and is not among them any more, since a summary took its place, is sent whole.
        """
        self._sort_out()
        lost = [name for name in self.loaded if name in self._deferred and name not in referred]
        if self.references and lost:
            self._deferred.difference_update(lost)
            self._search().renew()  # the prefix is another now anyway
        shown = [name for name in self._order if self._is_sent(name)]
        gone = [name for name in sorted(referred) if name not in self.tools]
        key = [(self.tools[name], name in self._deferred) for name in shown]
        if (key, gone) != self._key:
            self._key = (key, gone)
            self._specs = (*map(self._spec, shown), *map(_never_loaded, gone))
        return self._specs

    @property
    def size(self) -> int:
        """Of what is in the prompt, in tokens, estimated."""
        self._sort_out()
        return sum(
            self._weight(self.tools[name])
            for name in self._order
            if name not in self._deferred or name in self.loaded
        )

    def forked(self, tools: MutableMapping[str, Tool]) -> Offer:
        """The same to the byte, for an agent with these tools in the same order. What one of the
        two loads from here on, the other does not."""
        self._sort_out()
        other = Offer(tools=tools, room=self.room, api=self.api, loaded=[*self.loaded])
        other.references = self.references
        other._order, other._deferred = [*self._order], {*self._deferred}
        if ToolSearch.name in self.tools:
            tools[ToolSearch.name] = self._search().over(other)
        return other

    # --- the catalogue of ToolSearch ---------------------------------------------------------

    def entries(self) -> Sequence[Entry]:
        known = (self.tools[name] for name in self._order if name in self._deferred)
        return [Entry(tool.name, tool.description) for tool in known]

    def load(self, names: Sequence[str]) -> bool:
        self.loaded += [name for name in names if name not in self.loaded]
        if not self.references:
            for name in names:  # to the end: what was sent before stays the beginning
                self._order.remove(name)
                self._order.append(name)
                self._deferred.discard(name)
        return self.references

    # --- sorting -----------------------------------------------------------------------------

    def _sort_out(self) -> None:
        """Take in what is new in the table, and forget what is gone."""
        if self.references and not self.api.known:
            self.references = False
            self.load([name for name in self.loaded if name in self._deferred])
        self._order = [name for name in self._order if name in self.tools]
        self._deferred &= set(self._order)
        new = [name for name in self.tools if name not in self._order]
        if not new:
            return
        foreign = [name for name in (*self._order, *new) if name.startswith(PREFIX)]
        weight = sum(self._weight(self.tools[name]) for name in foreign)
        self._order += new
        if weight <= self.room and not self._deferred:
            return
        again = () if self.references else self.loaded
        self._deferred |= {name for name in new if name.startswith(PREFIX) and name not in again}
        if self._deferred and ToolSearch.name not in self.tools:
            self.tools[ToolSearch.name] = ToolSearch(self)
            self._order.append(ToolSearch.name)

    def _search(self) -> ToolSearch:
        found = self.tools[ToolSearch.name]
        assert isinstance(found, ToolSearch)
        return found

    def _is_sent(self, name: str) -> bool:
        return self.references or name not in self._deferred

    def _spec(self, name: str) -> Spec:
        spec = self.tools[name].wire()
        return {**spec, "defer_loading": True} if name in self._deferred else spec

    def _weight(self, tool: Tool) -> int:
        known = self._weights.get(tool.name)
        if known is None or known[0] is not tool:
            known = (tool, round(len(encoded(tool.wire())) / BYTES_PER_TOKEN))
            self._weights[tool.name] = known
        return known[1]


def offer_of(
    settings: Settings,
    tools: dict[str, Tool],
    loaded: Sequence[str],
    api: References | None = None,
) -> Offer:
    """The offer of a session in which these tools were loaded before, or of an agent in it: then
    `api` is the session's."""
    limits = settings.limits
    return Offer(
        tools=tools,
        room=limits.mcp_defer_share * limits.context_window,
        api=References(settings.tool_references) if api is None else api,
        loaded=list(loaded),
    )
