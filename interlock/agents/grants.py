"""Which tools a child is given, of all that can be made for it.

A list is no right: what a call may do is asked of the child's gate, and of its parent's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from interlock.agents.errand import Errand
from interlock.agents.servers import granted as of_own_servers
from interlock.agents.tools import NOT_FOR_CHILDREN, Withheld
from interlock.mcp import SERVER_TOOLS
from interlock.mcp.names import PREFIX, server_of
from interlock.running import Worker
from interlock.tools import Tool


def as_parent(made: Mapping[str, Tool], parent: Worker) -> dict[str, Tool]:
    """A fork is offered what its parent is, in the same order; what only the main agent may do,
    it is told when it tries."""
    made = {**made, **_of_servers(parent)}
    return {name: made.get(name) or Withheld(tool) for name, tool in parent.tools.items()}


def _of_servers(parent: Worker) -> dict[str, Tool]:
    """A server is asked by whoever may: its tools keep nothing of the agent that calls."""
    return {name: tool for name, tool in parent.tools.items() if isinstance(tool, SERVER_TOOLS)}


def granted(made: Mapping[str, Tool], errand: Errand, parent: Worker) -> dict[str, Tool]:
    """What the definition names, else what the parent has. A list is no right: what a call may
    do is asked of the parent's rights too, each time."""
    definition, made = errand.definition, {**made, **_of_servers(parent)}
    wanted = tuple(parent.tools) if definition.tools is None else definition.tools
    wanted += of_own_servers(errand)
    also = {other: name for name, tool in made.items() for other in tool.also}
    names = {also.get(name, name) for name in wanted}
    denied = {also.get(name, name) for name in definition.disallowed_tools if "(" not in name}
    return {
        name: tool
        for name, tool in made.items()
        if _in(name, names) and not _in(name, denied) and name not in NOT_FOR_CHILDREN
    }


def _in(name: str, names: Collection[str]) -> bool:
    """Whether a list has this tool, by its name or by the server that it is of."""
    if name in names:
        return True
    server = server_of(name)
    return server is not None and any(f"{PREFIX}{server}{end}" in names for end in ("", "__*"))
