"""The tools of a session, with what they need of the rest of it."""

from __future__ import annotations

import os
from collections.abc import Sequence

from attrs import frozen

from interlock.agents.by_skill import SkillErrands
from interlock.agents.crew import Crew
from interlock.agents.tools import tools_of
from interlock.errors import UsageError
from interlock.inbox import Mail
from interlock.mcp.names import PREFIX
from interlock.options import Options
from interlock.sandbox import Sandbox
from interlock.settings import Settings
from interlock.tools import (
    Instructions,
    NameTaken,
    Network,
    Person,
    PlanMode,
    ShellSettings,
    Sleep,
    TodoList,
    Tool,
    UnknownTool,
    WebSettings,
    built_in,
    chosen,
    with_own,
)
from phases.world.ports import Clock


@frozen(kw_only=True)
class Workshop:
    """What tools are made from."""

    options: Options
    settings: Settings
    mail: Mail  # what may arrive for the agent that uses them
    clock: Clock
    todos: TodoList
    plan: PlanMode | None
    person: Person | None
    instructions: Instructions | None = None  # None: there are no skills
    sandbox: Sandbox | None
    crew: Crew | None = None  # the children of the agent that uses them; None: it can have none

    def tools(self, own: Sequence[Tool]) -> dict[str, Tool]:
        """The tools on offer, `own` beside the built-in ones.

        Raises UsageError for a name that no tool has, or that two have.
        """
        try:
            wanted = self.options.tools
            if wanted is not None:  # those of MCP servers are not known yet
                wanted = tuple(name for name in wanted if not name.startswith(PREFIX))
            return chosen(self.all(own), wanted)
        except UnknownTool as error:
            raise UsageError(f"{error} (--tools)") from error

    def all(self, own: Sequence[Tool]) -> dict[str, Tool]:
        """All tools there are. Raises UsageError for a name that two have."""
        built = built_in(
            self._shell(),
            # The end of a background command may arrive: there is something to sleep for.
            sleep=Sleep(self.mail, self.clock),
            web=WebSettings(network=Network(allowed=self.settings.web_allow)),
            todos=self.todos,
            plan=self.plan,
            person=self.person,
            instructions=self.instructions,
            elsewhere=None if self.crew is None else SkillErrands(self.crew),
        )
        if self.crew is not None:
            built |= tools_of(self.crew, built)
        try:
            return with_own(built, own)
        except NameTaken as error:
            raise UsageError(str(error)) from error

    def _shell(self) -> ShellSettings:
        more = self.options.environment
        return ShellSettings(
            default_timeout=self.settings.bash_default_timeout_s,
            max_timeout=self.settings.bash_max_timeout_s,
            environment={**os.environ, **more} if more else None,
            notices=self.mail,
            confinement=self.sandbox,
        )
