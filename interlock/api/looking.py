"""What holds for an agent with these options, without opening one: settings, and permissions."""

from __future__ import annotations

import os
from collections.abc import Set

from attrs import evolve

from interlock import confined
from interlock.api.opening import looked_up
from interlock.api.options import AgentOptions
from interlock.errors import UsageError
from interlock.fitting import checked_arguments
from interlock.in_force import Setting, in_force
from interlock.mcp.names import PREFIX
from interlock.permissions import BadRule, Decision, explain
from interlock.tools import meant, names


@checked_arguments
def config(options: AgentOptions | None = None) -> tuple[Setting, ...]:
    """Every setting in force for an agent with these options, with where each comes from: as
    `interlock config show --origin`. Raises InterlockError for files that cannot be used."""
    return tuple(in_force(looked_up(options or AgentOptions(), os.environ, key=False)))


@checked_arguments
def decide(call: str, options: AgentOptions | None = None) -> Decision:
    """Whether a call like `Bash(git push)` would run, and why: as `interlock permissions explain`.

    Hooks and `can_use_tool` are not asked. Raises InterlockError.
    """
    given = options or AgentOptions()
    asked = looked_up(given, os.environ, key=False).options
    try:
        judge = evolve(explain.judge_of(asked), confined=confined.approves(asked))
        question = explain.question_of(call, judge.folders[0])
    except BadRule as error:
        raise UsageError(str(error)) from error
    _insist_on_a_tool(question.tool, {one.name for one in given.tools})
    return judge.decide(question)


def _insist_on_a_tool(name: str, own: Set[str]) -> None:
    """Raise UsageError for a tool that nobody has: no rule would ever match it."""
    if name in names() or name in own or name.startswith(PREFIX):
        return
    near = meant(name)
    hint = f"did you mean {near}?" if near else f"there are {', '.join(sorted(names() | own))}"
    raise UsageError(f"no tool is called {name}; {hint}")
