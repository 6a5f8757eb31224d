"""What the session keeps by itself and puts back beside a summary: its todo list."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import frozen

from interlock.context.keepsakes import Keepsake
from interlock.tools.todo import TodoList


@frozen
class OpenTodos:
    """The list, as long as anything on it is open."""

    todos: TodoList

    async def keepsakes(self, budget: int) -> Sequence[Keepsake]:
        if not self.todos.open:
            return ()
        return (Keepsake("Your todo list (TodoWrite changes it)", self.todos.text()),)
