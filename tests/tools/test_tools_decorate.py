"""`@tool`: a typed function becomes a tool that is careful by default."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Annotated, Any, Literal

import anyio
import anyio.to_thread
import pytest
from attrs import frozen
from pydantic import BaseModel, Field

from interlock.options import PermissionMode
from interlock.tools import (
    BadTool,
    NameTaken,
    Output,
    Tool,
    ToolContext,
    ToolError,
    built_in,
    tool,
    with_own,
)
from phases.world.messages import ToolResult, ToolUse
from phases.world.updates import ToolProgress
from tests.tools.places import Place
from tests.tools.running import bench
from tests.waiting import until


class Unit(StrEnum):
    CELSIUS = "celsius"
    KELVIN = "kelvin"


class Spot(BaseModel):
    """A place on the map."""

    latitude: float
    longitude: float


@tool
async def weather(city: str, days: int = 3, unit: Unit = Unit.CELSIUS) -> str:
    """The forecast for a city.

    Where there is none, it says so.

    Args:
        city: Its name, in English.
        days: How many days to look ahead.
    """
    return f"{city}, {days} days, {type(unit).__name__} {unit}"


async def ran(place: Place, made: Tool, **given: Any) -> ToolResult:
    """What the model gets."""
    async with bench(place.folder, tools={made.name: made}) as run:
        (result,) = await run.run(ToolUse(id="toolu_1", name=made.name, input=given))
    return result


def test_hints_and_docstring_make_the_tool() -> None:
    assert weather.wire() == {
        "name": "weather",
        "description": "The forecast for a city.\n\nWhere there is none, it says so.",
        "input_schema": {
            "$defs": {"Unit": {"enum": ["celsius", "kelvin"], "type": "string"}},
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "Its name, in English."},
                "days": {
                    "type": "integer",
                    "default": 3,
                    "description": "How many days to look ahead.",
                },
                "unit": {"$ref": "#/$defs/Unit", "default": "celsius"},
            },
            "required": ["city"],
            "additionalProperties": False,
        },
    }


def test_without_a_word_a_tool_is_careful() -> None:
    looks = tool(effects=False, concurrency_safe=True, time_limit=5, name="Looks")(weather_of)

    assert weather.effects({})
    assert not weather.concurrency_safe({})
    assert weather.time_limit == 120
    assert (looks.effects({}), looks.concurrency_safe({})) == (False, True)
    assert (looks.name, looks.time_limit) == ("Looks", 5)


def weather_of(city: str) -> str:
    """The weather."""
    return city


async def test_the_arguments_come_as_the_hints_want_them(place: Place) -> None:
    result = await ran(place, weather, city="Rome", days="2", unit="kelvin")

    assert result.text == "Rome, 2 days, Unit kelvin"


async def test_models_unions_and_annotations(place: Place) -> None:
    @tool
    def go(
        spot: Spot,
        how: Literal["walk", "ride"],
        schema: Annotated[int | None, Field(ge=1, description="its number")] = None,
    ) -> dict[str, Any]:
        """Go there."""
        return {"latitude": spot.latitude, "how": how, "schema": schema}

    there = {"latitude": 1, "longitude": 2}
    assert go.input_schema["properties"]["schema"]["description"] == "its number"
    assert (await ran(place, go, spot=there, how="walk")).text == (
        '{"latitude":1.0,"how":"walk","schema":null}'
    )
    assert (await ran(place, go, spot=there, how="ride", schema=4)).text.endswith('"schema":4}')


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({}, "`city` is missing"),
        ({"city": "Rome", "when": 1}, "`when` is not known"),
        ({"city": "Rome", "days": "many"}, "`days` must be integer"),
        ({"city": "Rome", "unit": "rankine"}, "`unit`: Input should be 'celsius' or 'kelvin'"),
    ],
)
async def test_input_that_does_not_fit_is_told_to_the_model(
    place: Place, given: dict[str, Any], why: str
) -> None:
    result = await ran(place, weather, **given)

    assert result.is_error
    assert why in result.text


async def test_it_still_is_a_function() -> None:
    assert await weather("Rome", days=1) == "Rome, 1 days, Unit celsius"


async def test_errors_are_told_to_the_model(place: Place) -> None:
    @tool
    async def refuses() -> None:
        """Refuses."""
        raise ToolError("not today")

    @tool
    def breaks() -> None:
        """Breaks."""
        raise ValueError("seven")

    assert (await ran(place, refuses)).text == "not today"
    broken = await ran(place, breaks)
    assert (broken.is_error, broken.text) == (True, "breaks failed: ValueError: seven")


@dataclass
class Trip:
    city: str
    days: int


@frozen
class Stay:
    city: str


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("words", "words"),
        (None, "(done; nothing to tell)"),
        ([1, "é"], '[1,"é"]'),
        (3, "3"),
        (Trip("Rome", 3), '{"city":"Rome","days":3}'),
        ({"at": [Stay("Rome")]}, '{"at":[{"city":"Rome"}]}'),
        (["\ud800"], '["\ufffd"]'),
    ],
)
async def test_what_is_returned_becomes_the_result(place: Place, value: Any, text: str) -> None:
    @tool
    def gives() -> Any:
        """Gives."""
        return value

    assert (await ran(place, gives)).text == text


@pytest.mark.parametrize("value", [b"\xff", bytearray(b"x"), object(), {"a": object()}, [b"\xff"]])
async def test_what_a_model_could_not_read_is_the_authors_error(place: Place, value: Any) -> None:
    @tool
    def gives() -> Any:
        """Gives."""
        return value

    result = await ran(place, gives)

    assert result.is_error
    assert f"gives failed: TypeError: it returned {type(value).__name__}; return" in result.text


async def test_an_output_is_the_result_as_it_is(place: Place) -> None:
    @tool
    def gives() -> Output:
        """Gives."""
        return Output("no", is_error=True)

    assert (await ran(place, gives)).is_error


async def test_the_context_brings_folder_and_progress_also_to_a_thread(place: Place) -> None:
    @tool(effects=False)
    def counts(context: ToolContext, to: int) -> str:
        """Counts."""
        for number in range(to):
            context.progress(f"{number}\n")
        return f"{context.cwd} {threading.current_thread() is threading.main_thread()}"

    assert "context" not in counts.input_schema["properties"]
    async with bench(place.folder, tools={"counts": counts}) as run:
        (result,) = await run.run(ToolUse(id="toolu_1", name="counts", input={"to": 2}))

    assert result.text == f"{place.folder} False"
    assert [one.text for one in run.shown if isinstance(one, ToolProgress)] == ["0\n", "1\n"]


async def test_an_interrupt_cancels_an_async_function(place: Place) -> None:
    began, ended = anyio.Event(), anyio.Event()

    @tool
    async def waits() -> None:
        """Waits."""
        began.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()

    async with bench(place.folder, tools={"waits": waits}) as run, anyio.create_task_group() as tg:

        async def press() -> None:
            await began.wait()
            run.button.press()

        tg.start_soon(press)
        (result,) = await run.run(ToolUse(id="toolu_1", name="waits", input={}))

    assert ended.is_set()
    assert "Interrupted by the user while it ran" in result.text


async def test_a_function_in_a_thread_ends_at_its_next_word_after_an_interrupt(
    place: Place,
) -> None:
    began = anyio.Event()
    limiter = anyio.to_thread.current_default_thread_limiter()

    @tool
    def counts(context: ToolContext) -> None:
        """Counts for ever."""
        while True:
            context.progress("still here\n")
            anyio.from_thread.run_sync(began.set)
            time.sleep(0.005)

    async with (
        bench(place.folder, tools={"counts": counts}) as run,
        anyio.create_task_group() as tg,
    ):

        async def press() -> None:
            await began.wait()
            run.button.press()

        tg.start_soon(press)
        (result,) = await run.run(ToolUse(id="toolu_1", name="counts", input={}))

    assert result.is_error
    await until(lambda: limiter.borrowed_tokens == 0)


async def test_nobody_having_allowed_it_it_does_not_run(place: Place) -> None:
    async with bench(place.folder, tools={"weather": weather}, mode=PermissionMode.DEFAULT) as run:
        (result,) = await run.run(ToolUse(id="toolu_1", name="weather", input={"city": "Rome"}))

    assert result.is_error
    assert "need approval" in result.text


def _bare(city: str) -> str:
    return city


def _many(*cities: str) -> str:
    """Many."""
    return ""


def _untyped(city) -> str:  # type: ignore[no-untyped-def]
    """Untyped."""
    return ""


def _odd(thing: threading.Thread) -> str:
    """Odd."""
    return ""


@pytest.mark.parametrize(
    "chosen", [{"name": 5}, {"description": b"x"}, {"effects": "no"}, {"time_limit": "1"}]
)
def test_what_is_chosen_for_a_tool_is_of_its_kind(chosen: dict[str, Any]) -> None:
    with pytest.raises(BadTool, match=f"@tool: {next(iter(chosen))}: .* is not"):
        tool(**chosen)(weather)


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (_bare, "needs a docstring"),
        (_many, "cannot have \\*cities"),
        (_untyped, "city of the tool _untyped needs a type hint"),
        (_odd, "make no schema"),
        (5, "@tool: the function: 5 is not a function"),
        (partial(_bare), "'' is no name for a tool"),
        (max, "the type hints of the tool max cannot be read"),
    ],
)
def test_a_function_that_cannot_be_a_tool_is_refused_where_it_is_written(
    function: Callable[..., str], why: str
) -> None:
    with pytest.raises(BadTool, match=why):
        tool(function)
    with pytest.raises(BadTool, match="no name for a tool"):
        tool(name="a b")(weather_of)


def test_a_built_in_tool_cannot_be_taken_over() -> None:
    assert "weather" in with_own(built_in(), [weather])
    for name in ("Read", "Sleep", "ExitPlanMode"):
        with pytest.raises(NameTaken, match=name):
            with_own(built_in(), [tool(name=name)(weather_of)])
