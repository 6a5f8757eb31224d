"""What is asked of a child on another machine, and what is seen of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from interlock.scripted import reply, tool_use
from phases.world.updates import FromAgent, ToolProgress, ToolRunning, Update
from tests.agents.families import hand


def there(prompt: str, **more: Any) -> Any:
    return hand(prompt, isolation="remote", **more)


def bash(command: str) -> Any:
    return reply(tool_use("Bash", {"command": command}))


def shape(updates: tuple[Update, ...]) -> list[str]:
    """The kinds of updates of a session, children's with the kind of what they tell."""
    kinds = []
    for one in updates:
        inner = one.update if isinstance(one, FromAgent) else one
        if not isinstance(inner, ToolProgress | ToolRunning):  # how often, the clock decides
            kinds.append(f"{type(one).__name__} {type(inner).__name__}")
    return kinds


def at_work() -> dict[str, list[Any]]:
    """What is asked for in turn: a child there, which runs a command that does not end."""
    return {
        "go": [reply(there("work")), reply("I see.")],
        "work": [bash("echo begun; sleep 600"), reply("done")],
    }


def once_it_runs(act: Callable[[], object]) -> Callable[[Update, int], None]:
    """Told updates, acts as soon as the command of a child has printed something."""

    def heard(update: Update, number: int) -> None:
        if isinstance(update, FromAgent) and isinstance(update.update, ToolProgress):
            act()

    return heard
