"""`reload_plugins`: the folders of plugins are read anew, and what they hold counts at once.

A turn under way is told what is new as it is told of any skill or server that comes meanwhile. To
wait for its end would keep a host waiting that asks out of the middle of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import anyio.to_thread
from attrs import evolve, frozen

from interlock.agent import Agent
from interlock.agents.catalogue import Catalogue
from interlock.control.exchange import Handler, Json
from interlock.control.greeting import agents_of, commands_of, plugins_of
from interlock.inbox import Mail
from interlock.mcp import Definition, Scope
from interlock.plugged import ORIGIN, Plugged


@frozen(kw_only=True)
class PluginRequests:
    """Those of one session."""

    agent: Agent
    read: Callable[[], Plugged]

    def handlers(self) -> dict[str, Handler]:
        return {"reload_plugins": self._reload}

    async def _reload(self, asked: Mapping[str, Any]) -> Json:
        found = await anyio.to_thread.run_sync(self.read)
        self._plug(found)
        await self._serve(found.servers)
        told = plugins_of(self.agent)
        return {
            "commands": commands_of(self.agent),
            "agents": agents_of(self.agent),
            "plugins": told.get("plugins", []),
            "mcpServers": [one.wire() for one in self.agent.servers.status()],
            "error_count": len(told.get("plugin_errors", ())),
        }

    def _plug(self, found: Plugged) -> None:
        knowledge, hooks = self.agent.knowledge, self.agent.hooks
        knowledge.plugins = found.plugins
        knowledge.instructing.book.ship(found.skills)  # which tells the model what is new
        knowledge.instructing.open_folders()
        others = (one for one in hooks.hooks if not one.origin.startswith(ORIGIN))
        hooks.hooks = (*others, *found.hooks)
        tree = self.agent.crew.tree
        before, tree.catalogue = tree.catalogue, tree.catalogue.with_those_of(ORIGIN, found.agents)
        lines = list(_news(before, tree.catalogue))
        if lines:  # the list that the model was given stands in front of the conversation
            Mail(self.agent.waiting).note("\n".join(["The agent types have changed:", *lines]))

    async def _serve(self, wanted: tuple[Definition, ...]) -> None:
        """End the servers that plugins bring no more, or otherwise; start those that are new."""
        servers = self.agent.servers
        off = {one.name for one in servers.unstarted}  # by settings
        by_name = {
            one.name: evolve(one, cwd=one.cwd or self.agent.cwd)
            for one in wanted
            if one.name not in off
        }
        for name, server in list(servers.by_name.items()):
            mine = server.definition.scope is Scope.PLUGIN
            if mine and server.definition != by_name.get(name):
                await servers.remove(name)
        for definition in by_name.values():
            servers.add(definition)
        for name in by_name:
            await servers.by_name[name].settle()


def _news(before: Catalogue, now: Catalogue) -> Iterator[str]:
    for name, one in now.types.items():
        if before.types.get(name) != one:
            yield f"- new, or changed: {name}: {one.description}"
    for name in before.types.keys() - now.types.keys():
        yield f"- no longer there: {name}"
