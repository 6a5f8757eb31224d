"""The todo list: kept whole, shown as it changes, true or refused."""

from __future__ import annotations

from typing import Any

import pytest

from interlock.cli.render import Live
from interlock.context.keepsakes import Keepsake
from interlock.kept import OpenTodos
from interlock.options import PermissionMode
from interlock.tools import TodoList
from interlock.tools.todo import TodoWrite
from phases.world.messages import Kind, Message, Text, ToolResult, ToolUse
from phases.world.updates import Todo, TodosChanged, Update
from tests.tools.places import Place
from tests.tools.running import bench


def todo(content: str, status: str = "pending") -> dict[str, str]:
    return {"content": content, "status": status, "activeForm": f"Doing {content}"}


TWO = [todo("tests", "completed"), todo("docs", "in_progress"), todo("release")]


@pytest.fixture
def todos(place: Place) -> TodoList:
    found = TodoList()
    place.tools["TodoWrite"] = TodoWrite(found)
    return found


async def test_a_list_is_kept_and_shown(place: Place, todos: TodoList) -> None:
    shown: list[Update] = []
    todos.show = shown.append

    said = await place.said("TodoWrite", todos=TWO)

    assert said == "The list is kept: 1 of 3 done; now: docs."
    assert todos.todos[1] == Todo(content="docs", status="in_progress", active_form="Doing docs")
    assert shown == [TodosChanged(todos.todos)]
    assert todos.text() == "[x] tests\n[>] docs\n[ ] release"


@pytest.mark.parametrize(
    ("given", "why"),
    [
        pytest.param(
            [todo("a", "in_progress"), todo("b", "in_progress")],
            "2 todos are in_progress ('a', 'b'); exactly one may be",
            id="two at once",
        ),
        pytest.param([todo("a"), todo("b", "completed")], "No todo is in_progress", id="none"),
        pytest.param([todo("a", "in_progress"), todo(" ")], "Todo 2 is empty", id="empty"),
    ],
)
async def test_a_list_that_tells_something_untrue_is_refused(
    place: Place, todos: TodoList, given: list[dict[str, str]], why: str
) -> None:
    await place.said("TodoWrite", todos=TWO)

    assert why in await place.refused("TodoWrite", todos=given)
    assert len(todos.todos) == 3


@pytest.mark.parametrize("given", [[], [todo("a", "completed")]], ids=["empty", "all done"])
async def test_a_list_with_nothing_open_needs_nothing_in_progress(
    place: Place, todos: TodoList, given: list[dict[str, str]]
) -> None:
    await place.said("TodoWrite", todos=given)

    assert todos.open == ()
    assert await OpenTodos(todos).keepsakes(1_000) == ()


async def test_what_is_open_is_put_back_beside_a_summary(place: Place, todos: TodoList) -> None:
    await place.said("TodoWrite", todos=TWO)

    assert await OpenTodos(todos).keepsakes(1_000) == (
        Keepsake("Your todo list (TodoWrite changes it)", todos.text()),
    )


def test_a_list_is_taken_up_again_as_the_last_call_that_worked_left_it() -> None:
    def round_(name: str, given: Any, is_error: bool = False) -> list[Message]:
        ids = f"00000000-0000-4000-8000-0000000000{name}"
        call = ToolUse(id=f"toolu_{name}", name="TodoWrite", input={"todos": given})
        result = ToolResult(tool_use_id=call.id, content=(Text("x"),), is_error=is_error)
        return [
            Message(id=ids + "1", role="assistant", kind=Kind.REPLY, content=(call,)),
            Message(id=ids + "2", role="user", kind=Kind.RESULT, content=(result,)),
        ]

    todos = TodoList()

    todos.recall([*round_("1", [todo("old")]), *round_("2", TWO), *round_("3", [], True)])

    assert [one.content for one in todos.todos] == ["tests", "docs", "release"]


def test_the_person_sees_a_checklist() -> None:
    said: list[str] = []

    Live(write=said.append).show(
        TodosChanged(
            (
                Todo(content="tests", status="completed", active_form="Testing"),
                Todo(content="docs", status="in_progress", active_form="Writing docs"),
                Todo(content="release", status="pending", active_form="Releasing"),
            )
        )
    )

    assert "".join(said) == "  ☒ tests\n  ▸ Writing docs\n  ☐ release\n"


async def test_a_list_can_be_kept_in_plan_mode(place: Place, todos: TodoList) -> None:
    call = ToolUse(id="toolu_1", name="TodoWrite", input={"todos": TWO})

    async with bench(place.folder, tools=place.tools, mode=PermissionMode.PLAN) as run:
        (result,) = await run.run(call)

    assert not result.is_error
    assert len(todos.todos) == 3


async def test_a_todo_without_its_parts_is_named(place: Place, todos: TodoList) -> None:
    given = [{"content": "a", "status": "done"}]
    call = ToolUse(id="toolu_1", name="TodoWrite", input={"todos": given})

    async with bench(place.folder, tools=place.tools) as run:
        (result,) = await run.run(call)

    assert result.is_error
    assert "`todos[0].activeForm` is missing" in result.text
    assert "`todos[0].status` must be one of" in result.text
