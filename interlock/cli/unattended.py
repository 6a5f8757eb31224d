"""Slash commands where nobody sits at a terminal: with `-p`, and for a program that drives us.

What a command says is the result; none of it is for the model, so such a prompt has no turns.
"""

from __future__ import annotations

from interlock.agent import Agent
from interlock.cli import commands
from interlock.errors import UsageError
from interlock.options import Resume
from interlock.summary import RunSummary
from interlock.tools import NobodyThere
from phases.world.updates import Show

_PROBLEM = "! "  # in front of what a command could not do


def _nowhere(next_session: Resume) -> None:
    """No command that runs here goes on with another session."""


async def run_command(agent: Agent, line: str, show: Show) -> RunSummary | None:
    """Run the command that `line` gives; None where it gives none of the program's own.

    Raises UsageError for one that needs a terminal, or could not do what it is for.
    """
    found = commands.find(line)
    if found is None:
        return None
    if not found.anywhere:
        raise UsageError(f"/{found.name} is a command of the session at a terminal: interlock")
    said: list[str] = []
    place = commands.Place(
        agent=agent, say=said.append, show=show, go_to=_nowhere, person=NobodyThere()
    )
    await found.run(place, line.strip().partition(" ")[2].strip())
    problems = [each.removeprefix(_PROBLEM) for each in said if each.startswith(_PROBLEM)]
    if problems:
        raise UsageError("; ".join(problems))
    return agent.not_asked("\n".join(said))
