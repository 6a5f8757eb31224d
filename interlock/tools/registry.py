"""The built-in tools by name. A new one is a file of its own and a line here."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from interlock.tools.ask_user import AskUserQuestion, Person
from interlock.tools.bash import Bash, ShellSettings
from interlock.tools.edit import Edit
from interlock.tools.glob import Glob
from interlock.tools.grep import Grep
from interlock.tools.multiedit import MultiEdit
from interlock.tools.notebook_edit import NotebookEdit
from interlock.tools.plan import EnterPlanMode, ExitPlanMode, PlanMode
from interlock.tools.read import Read
from interlock.tools.skill import Elsewhere, Instructions, Skill
from interlock.tools.sleep import Sleep
from interlock.tools.task_output import TaskOutput
from interlock.tools.task_stop import TaskStop
from interlock.tools.todo import TodoList, TodoWrite
from interlock.tools.tool import Tool
from interlock.tools.web.fetch import WebFetch, WebSettings
from interlock.tools.write import Write


class UnknownTool(ValueError):
    """A name that no tool has."""


class NameTaken(ValueError):
    """Two tools of one name."""


def built_in(
    shell: ShellSettings | None = None,
    *,
    sleep: Sleep | None = None,
    web: WebSettings | None = None,
    todos: TodoList | None = None,
    plan: PlanMode | None = None,
    person: Person | None = None,
    instructions: Instructions | None = None,
    elsewhere: Elsewhere | None = None,
) -> dict[str, Tool]:
    """A fresh set for one session, which must close them.

    `sleep` is among them only where something can arrive, the tools of `plan` only where a mode
    can be changed: what helps nobody is not on offer.
    """
    bash = Bash(shell)
    tools: list[Tool] = [
        Read(),
        Write(),
        Edit(),
        MultiEdit(),
        NotebookEdit(),
        bash,
        TaskOutput(bash.background),
        TaskStop(bash.background),
        Glob(),
        Grep(),
        WebFetch(web),
        TodoWrite(todos),
        AskUserQuestion(person),
        Skill(instructions, elsewhere),
    ]
    if plan is not None:
        tools += [EnterPlanMode(plan), ExitPlanMode(plan)]
    if sleep is not None:
        tools.append(sleep)
    return {tool.name: tool for tool in tools}


def with_own(built: dict[str, Tool], own: Iterable[Tool]) -> dict[str, Tool]:
    """The built-in tools and a caller's own. A built-in one cannot be taken over by its name:
    rules and people know what it does."""
    found = dict(built)
    for tool in own:
        if tool.name in found or tool.name in names():
            raise NameTaken(f"a tool of your own cannot be called {tool.name}: there is one")
        found[tool.name] = tool
    return found


def names() -> frozenset[str]:
    """Every name of a tool, also of those that are not always on offer, and old ones."""
    built = built_in()
    also = (other for tool in built.values() for other in tool.also)
    return frozenset((*built, *also, EnterPlanMode.name, ExitPlanMode.name, Sleep.name, *_AGENTS))


# Made where loops are run (`interlock/agents`); `Task` is the old name of the first.
_AGENTS = ("Agent", "Task")


def meant(name: str) -> str | None:
    """The tool that a name nearly is, or None."""
    known = {each.lower(): each for each in names()}
    near = get_close_matches(name.lower(), known, n=1, cutoff=0.7)
    return known[near[0]] if near else None


def chosen(tools: dict[str, Tool], names: Iterable[str] | None) -> dict[str, Tool]:
    """Those of the tools that are on offer; None: all. A name that does not exist is an error."""
    if names is None:
        return tools
    also = {other: name for name, tool in tools.items() for other in tool.also}
    wanted = [also.get(name, name) for name in names]
    unknown = [name for name in wanted if name not in tools]
    if unknown:
        raise UnknownTool(f"no such tool: {', '.join(unknown)}; there are {', '.join(tools)}")
    return {name: tool for name, tool in tools.items() if name in wanted}
