"""TodoWrite: the list of what is to be done, as the model keeps it and the user sees it.

The list lives in a `TodoList` that the session owns: what is put back after a summary, and a
session that is taken up again, read it there. Nothing in the world changes with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attrs import define

from interlock.tools.tool import Arguments, Output, Tool, ToolContext, ToolError
from phases.world.messages import Json, Message, ToolResult
from phases.world.updates import Show, Todo, TodosChanged, Update

_MARKS = {"completed": "[x]", "in_progress": "[>]", "pending": "[ ]"}


def _nobody(update: Update) -> None:
    """Nobody watches between two prompts."""


@define
class TodoList:
    """One session's list; `show` is told each new state."""

    todos: tuple[Todo, ...] = ()
    show: Show = _nobody

    def replace(self, todos: tuple[Todo, ...]) -> None:
        self.todos = todos
        self.show(TodosChanged(todos))

    def recall(self, messages: Iterable[Message]) -> None:
        """Take the list up again from a history: as the last call that worked left it."""
        asked: dict[str, Mapping[str, Json]] = {}
        for message in messages:
            asked |= {call.id: call.input for call in message.calls if call.name == TodoWrite.name}
            for block in message.content:
                if not isinstance(block, ToolResult) or block.is_error:
                    continue
                if (given := asked.get(block.tool_use_id)) is not None:
                    self.todos = _todos(given)

    @property
    def open(self) -> tuple[Todo, ...]:
        return tuple(todo for todo in self.todos if todo.status != "completed")

    def text(self) -> str:
        """A line for each."""
        return "\n".join(f"{_MARKS[todo.status]} {todo.content}" for todo in self.todos)


class TodoWrite(Tool):
    name = "TodoWrite"
    description = (
        "Keeps a list of what is to be done, which the user sees. Use it for work of three steps"
        " or more, and when the user names several things; not for a single easy step.\n"
        "- Each call gives the whole list anew.\n"
        "- While anything is open, exactly one todo is `in_progress`: the one you work on now.\n"
        "- Set a todo to `completed` at once when it is really done, not before: with tests that"
        " fail or a part that is missing it stays open.\n"
        "- `content` says what is to be done (Run the tests), `activeForm` what is being done"
        " (Running the tests)."
    )
    input_schema = {  # noqa: RUF012 (never changed)
        "type": "object",
        "properties": {
            "todos": {
                "type": "array",
                "description": "The whole list, in order.",
                "items": {
                    "type": "object",
                    "properties": {
                        "content": {"type": "string", "description": "What is to be done."},
                        "status": {
                            "type": "string",
                            "enum": ["pending", "in_progress", "completed"],
                        },
                        "activeForm": {"type": "string", "description": "What is being done."},
                    },
                    "required": ["content", "status", "activeForm"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["todos"],
        "additionalProperties": False,
    }

    def __init__(self, todos: TodoList | None = None) -> None:
        self.todos = todos or TodoList()

    def effects(self, arguments: Arguments) -> bool:
        return False

    # Not safe beside others although it changes nothing: two lists at once have no order.

    async def run(self, arguments: Arguments, context: ToolContext) -> Output:
        todos = _todos(arguments)
        _insist_on_sense(todos)
        self.todos.replace(todos)
        done = len(todos) - len(self.todos.open)
        current = next((todo for todo in todos if todo.status == "in_progress"), None)
        now = f"; now: {current.content}" if current is not None else ""
        return Output(f"The list is kept: {done} of {len(todos)} done{now}.")


def _todos(arguments: Arguments) -> tuple[Todo, ...]:
    return tuple(
        Todo(content=one["content"], status=one["status"], active_form=one["activeForm"])
        for one in arguments["todos"]
    )


def _insist_on_sense(todos: tuple[Todo, ...]) -> None:
    """Raise for a list that would tell the user something untrue."""
    blank = next((at for at, todo in enumerate(todos, 1) if not todo.content.strip()), None)
    if blank is not None:
        raise ToolError(f"Todo {blank} is empty. Nothing was changed.")
    running = [todo.content for todo in todos if todo.status == "in_progress"]
    if len(running) > 1:
        listed = ", ".join(map(repr, running))
        raise ToolError(
            f"{len(running)} todos are in_progress ({listed}); exactly one may be: the one you"
            " work on now. Nothing was changed."
        )
    if not running and any(todo.status == "pending" for todo in todos):
        raise ToolError(
            "No todo is in_progress although some are open: set the one you work on now to"
            " in_progress. Nothing was changed."
        )
