"""What a type of agents keeps from session to session: a memory folder of its own.

It is told as the project's memory is, and only to children of that type; so are the rights to it.
"""

from __future__ import annotations

import re
from pathlib import Path

from interlock.agents.definition import AgentDefinition, MemoryScope
from interlock.memory import AutoMemory
from interlock.permissions import Rule

_SPECIAL = re.compile(r"[\\*?\[\]{}]")  # in patterns of paths
_ESCAPED = r"\\\g<0>"


def memory_of(definition: AgentDefinition, home: Path, root: Path) -> AutoMemory | None:
    """The memory of a type; None where its definition asks for none."""
    if definition.memory is None:
        return None
    folders = {
        MemoryScope.USER: home / "agent-memory",
        MemoryScope.PROJECT: root / ".claude" / "agent-memory",
        MemoryScope.LOCAL: root / ".claude" / "agent-memory-local",
    }
    folder = folders[definition.memory] / definition.name
    return AutoMemory(folder=folder, about=f"agents of the type {definition.name}")


def rights_to(memory: AutoMemory) -> tuple[Rule, ...]:
    """What lets its files be read and written unasked."""
    below = f"/{_SPECIAL.sub(_ESCAPED, str(memory.folder.resolve()))}/**"
    return tuple(
        Rule(tool, below, origin="the memory of this type of agents") for tool in ("Read", "Edit")
    )
