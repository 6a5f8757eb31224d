"""What a child is to do, what it is given to do it with, and what comes of it. Data, and the seam.

Where a child runs is a `Spawner`'s affair: in this process and folder (`here`), in a folder of its
own, or on another machine. Whoever it is gets the same errand and hands back the same report.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from attrs import field, frozen

from interlock.agents.definition import AgentDefinition
from interlock.interrupt import InterruptSignal
from interlock.running import Ground, Worker
from phases.world.messages import Message
from phases.world.updates import Show
from phases.world.usage import Usage


@frozen
class Use:
    """A skill, and what it is used for."""

    name: str
    arguments: str
    effort: str | None = None


@frozen(kw_only=True)
class Errand:
    """One piece of work for one child."""

    agent_id: str
    definition: AgentDefinition
    description: str  # a few words, for people
    prompt: str
    tool_use_id: str  # the call that asks for it
    parent_agent_id: str | None  # None: the main agent
    depth: int
    cwd: Path
    models: tuple[str, ...]
    chain_id: str  # of the root
    budget_usd: float | None = None  # what is left for the whole tree
    # What a fork begins with: the conversation of its parent up to the call. None: nothing.
    inherited: tuple[Message, ...] | None = None
    skill: Use | None = None  # its text, filled in, stands in the place of the prompt
    isolation: str | None = None
    background: bool = False

    @property
    def is_fork(self) -> bool:
        """Whether it goes on from the conversation of its parent."""
        return self.inherited is not None

    @property
    def effort(self) -> str | None:
        """What the skill that it runs says goes before what its type says."""
        asked = None if self.skill is None else self.skill.effort
        return asked or self.definition.effort

    @property
    def agent_type(self) -> str:
        return self.definition.name


@frozen(kw_only=True)
class Report:
    """What came of it. `error` is None for a whole answer; `text` is what it said last."""

    text: str
    error: str | None = None  # the ending's name, or an error's
    why: str | None = None  # one line for a person and the model
    turns: int = 0
    calls: int = 0
    usage: Usage = field(factory=Usage)
    cost: float | None = 0.0
    seconds: float = 0.0
    notes: tuple[str, ...] = ()  # what else is to be told: agents it left running, a branch

    @property
    def interrupted(self) -> bool:
        return self.error is not None and self.error.startswith("aborted_")


@frozen(kw_only=True)
class Seat:
    """What a parent gives to a child, for as long as it works."""

    parent: Worker
    interrupt: InterruptSignal  # set with the parent's, or to end this child alone
    show: Show
    told: str | None = None  # what hooks have to say as it begins
    ground: Ground | None = None  # where it works, if not where its parent does
    # Told what there is before a cancellation goes on; else the report is what `run` returns.
    ended: Callable[[Report], None]


class Spawner(Protocol):
    """A way to run a child. Cancelled, it has ended everything it began before it returns."""

    async def run(self, errand: Errand, seat: Seat) -> Report:
        """Run it to its end. What goes wrong with the child is in the report; an exception is a
        bug, or a place that cannot be had (`ToolError`, for the model)."""
        ...
