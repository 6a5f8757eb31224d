"""Answers of a given form: a type in, a value of it out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, field_validator

from interlock.scripted import Answer, reply, tool_use
from interlock.testing import scene


class City(BaseModel):
    name: str
    people: int

    @field_validator("people")
    @classmethod
    def some(cls, people: int) -> int:
        if people < 1:
            raise ValueError("nobody lives there")
        return people


@dataclass
class Point:
    x: int
    y: int = 0


def gives(answer: Any) -> Answer:
    return reply(tool_use("StructuredOutput", answer))


@pytest.mark.parametrize(
    ("form", "given", "answer"),
    [
        (City, {"name": "Ulm", "people": 126_000}, City(name="Ulm", people=126_000)),
        (Point, {"x": 1}, Point(1)),
        (list[str], {"answer": ["a", "b"]}, ["a", "b"]),
        (City | None, {"answer": None}, None),
        ({"type": "object"}, {"x": 1}, {"x": 1}),
    ],
)
async def test_the_answer_is_a_value_of_the_type(
    tmp_path: Path, form: Any, given: Any, answer: Any
) -> None:
    async with scene([gives(given), reply("Done.")], tmp_path) as place:
        ran = await place.run("the city", place.options(answer=form))

    assert ran.result.answer == answer
    assert ran.result.ok


async def test_what_the_type_itself_refuses_goes_back_to_the_model(tmp_path: Path) -> None:
    answers = [
        gives({"name": "Ulm", "people": 0}),
        gives({"name": "Ulm", "people": 7}),
        reply("Done."),
    ]
    async with scene(answers, tmp_path) as place:
        ran = await place.run("the city", place.options(answer=City))
        told = str(place.server.requests[1].body["messages"])

    assert ran.result.answer == City(name="Ulm", people=7)
    assert "$.people: Value error, nobody lives there" in told


async def test_without_one_the_result_says_so(tmp_path: Path) -> None:
    async with scene([reply("No.")] * 5, tmp_path) as place:
        ran = await place.run("the city", place.options(answer=City))

    assert (ran.result.ok, ran.result.answer, ran.result.error_kind) == (
        False,
        None,
        "structured_output",
    )
