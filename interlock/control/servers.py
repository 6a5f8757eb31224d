"""MCP servers that live in the host: it carries their messages, all else is as with others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import orjson
from attrs import evolve, frozen

from interlock.control.hooks import Ask
from interlock.mcp import BadDefinition, Definition, McpSettings, Scope
from interlock.mcp import parsed as definition_of
from interlock.mcp.relay import Relay, joined_by_messages

_KEY = "mcpServers"


@frozen(kw_only=True)
class Hosted:
    """The servers of one host, by their names."""

    relays: Mapping[str, Relay]

    @classmethod
    def of(cls, names: Iterable[str], ask: Ask) -> Hosted:
        return cls(relays={name: relay_of(name, ask) for name in names})

    def over(self, settings: McpSettings | None) -> McpSettings:
        """With these in front: of two with one name the host's counts."""
        known = settings or McpSettings()
        own = tuple(joined_by_messages(name, relay) for name, relay in self.relays.items())
        others = (one for one in known.definitions if one.name not in self.relays)
        return evolve(known, definitions=(*own, *others))


def relay_of(name: str, ask: Ask) -> Relay:
    async def carry(message: Mapping[str, Any]) -> Mapping[str, Any] | None:
        request = {"subtype": "mcp_message", "server_name": name, "message": dict(message)}
        answer = (await ask(request)).get("mcp_response")
        return answer if isinstance(answer, Mapping) else None

    return Relay(carry)


def parted(given: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the host's own servers in `--mcp-config`, and what is left of it.

    What is no JSON object of servers is left as it is: whoever reads it says what is wrong.
    """
    names, left = list[str](), list[str]()
    for text in given:
        try:
            raw = orjson.loads(text)
            servers = dict(raw[_KEY])
        except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
            left.append(text)
            continue
        own = [name for name, one in servers.items() if is_hosted(one)]
        if not own:
            left.append(text)
            continue
        names += own
        rest = {name: one for name, one in servers.items() if name not in own}
        if rest:
            left.append(orjson.dumps({**raw, _KEY: rest}).decode())
    return tuple(dict.fromkeys(names)), tuple(left)


def is_hosted(raw: object) -> bool:
    return isinstance(raw, Mapping) and raw.get("type") == "sdk"


def definitions_of(
    raw: Mapping[str, Any], ask: Ask, environ: Mapping[str, str]
) -> tuple[dict[str, Definition], dict[str, str]]:
    """The servers a host names in mid-session, and why some of them cannot be."""
    found, errors = dict[str, Definition](), dict[str, str]()
    for name, one in raw.items():
        try:
            if is_hosted(one):
                found[name] = joined_by_messages(name, relay_of(name, ask))
            else:
                found[name] = definition_of(name, one, scope=Scope.FLAGS, environ=environ)
        except BadDefinition as error:
            errors[name] = str(error)
    return found, errors
