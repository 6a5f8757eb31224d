"""What docs/api.md and docs/from-graphs.md show is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import attrs
import pytest

import interlock
from interlock import errors
from interlock.cli import flags
from interlock.scripted import Answer, SentRequest, reply, tool_use
from interlock.scripted.sources import Answers
from tests.api.pages import DOCS, examples, printed, python_in


def squares(request: SentRequest) -> Answer:
    (number,) = re.findall(r"What is (\d+) squared", str(request.body["messages"]))
    return reply(str(int(number) ** 2))


def reviewed(request: SentRequest) -> Answer:
    said = str(request.body["messages"])
    if "Have it reviewed" not in said:
        return reply("Nothing is wrong.")
    if "Nothing is wrong." in said:
        return reply("The reviewer found nothing.")
    call = {"description": "review", "prompt": "Look at it.", "subagent_type": "reviewer"}
    return reply("", tool_use("Agent", call))


def write(path: str) -> Answer:
    return reply("", tool_use("Write", {"file_path": path, "content": "x"}))


API: dict[str, Answers] = {
    "hello": [reply("Hello, reader.")],
    "notes": [reply("", tool_use("Read", {"file_path": "notes.txt"})), reply("Milk.")],
    "none": [],
    "city": [
        reply("", tool_use("StructuredOutput", {"name": "Ulm", "people": "126000"})),
        reply("Done."),
    ],
    "weather": [
        reply("", tool_use("weather", {"city": "Rome", "days": 3})),
        reply("Three sunny days in Rome."),
    ],
    "talk": [reply("Hello, Ada."), reply("Your name is Ada."), reply("Forgotten.")],
    "shelf": [reply("By train."), reply("On Sunday.")],
    "holds": [],
    "write": [write(".env"), write("readme.txt"), reply("Done.")],
    "push": [
        reply("", tool_use("Bash", {"command": "git push --force"})),
        reply("I may not push by force."),
    ],
    "search": [reply("", tool_use("Grep", {"pattern": "treasure", "output_mode": "content"}))],
    "review": reviewed,
    "many": squares,
}
GRAPHS: dict[str, Answers] = {
    "ticket": [
        reply("", tool_use("look_up", {"order": "A-17"})),
        reply("", tool_use("refund", {"order": "A-17", "amount": 40})),
    ],
}


@pytest.mark.parametrize("name", API)
def test_an_example_of_the_api_prints_what_the_page_says(name: str, tmp_path: Path) -> None:
    example = examples("api.md")[name]

    assert printed(example, API[name], tmp_path) == (example.prints or "")


@pytest.mark.parametrize("name", GRAPHS)
def test_the_example_for_graph_users_prints_what_the_page_says(name: str, tmp_path: Path) -> None:
    example = examples("from-graphs.md")[name]

    assert printed(example, GRAPHS[name], tmp_path) == (example.prints or "")


def test_every_example_is_run() -> None:
    assert set(examples("api.md")) == set(API)
    assert len(python_in("api.md")) == len(API)
    assert set(examples("from-graphs.md")) == set(GRAPHS)


def test_every_option_is_on_the_page() -> None:
    page = (DOCS / "api.md").read_text()

    for one in attrs.fields(interlock.AgentOptions):
        assert one.name == "clock" or f"`{one.name}`" in page or f"`{one.name}=" in page, one.name


def test_every_error_is_on_the_page() -> None:
    page = (DOCS / "api.md").read_text().split("## Errors")[1]
    drawn = re.findall(r"[├└]── (\w+) ", errors.__doc__ or "")

    assert drawn
    assert [name for name in drawn if f"`{name}`" not in page] == []


def test_every_command_has_its_way_in_code_on_the_page() -> None:
    page = (DOCS / "api.md").read_text().split("## The command line, in code")[1]
    first = re.findall(r"^\| (.*?) \|", page, re.MULTILINE)
    told = {word for cell in first for word in re.findall(r"`([a-z]+)", cell)}
    listed = re.findall(r"^  ([a-z]+)\b.*  ", flags._EPILOG, re.MULTILINE)

    assert listed
    assert set(listed) - told == set()


def test_every_message_is_on_the_page() -> None:
    page = (DOCS / "api.md").read_text()
    kinds = interlock.AnyMessage.__args__

    assert [kind.__name__ for kind in kinds if f"`{kind.__name__}`" not in page] == []


@pytest.mark.parametrize("page", ["api.md", "testing.md", "from-graphs.md"])
def test_the_page_is_linked_from_the_readme(page: str) -> None:
    assert f"docs/{page})" in (DOCS.parent / "README.md").read_text()
