"""What the README shows is what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fsm.draw import mermaid
from interlock.permissions.harmless import harmless
from interlock.permissions.shell import read
from interlock.table import LOOP
from interlock.tools import Tool

README = Path(__file__).parent.parent / "README.md"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(), flags=re.DOTALL)


def test_its_diagram_is_the_table_drawn() -> None:
    assert blocks("mermaid") == [mermaid(LOOP, compact=True)]


def example(word: str) -> dict[str, object]:
    """What the one example with this word in it defines."""
    (text,) = [block for block in blocks("python") if word in block]
    names: dict[str, object] = {}
    exec(text, names)
    return names


def test_its_example_of_a_tool_is_a_tool() -> None:
    weather = example("@tool")["weather"]

    assert isinstance(weather, Tool)
    assert weather.input_schema["properties"]["days"]["type"] == "integer"
    assert weather.input_schema["required"] == ["city"]
    assert weather.description.startswith("Tells the weather.")


def test_its_example_of_a_test_passes() -> None:
    names = example("def test_")

    test = names["test_a_prompt_too_long_is_compacted_once_and_then_given_up"]
    assert callable(test)
    test()


def test_every_path_it_names_exists() -> None:
    named = re.findall(
        r"`((?:fsm|phases|recovery|interlock|tests|diagrams)/[\w./]*)`", README.read_text()
    )

    assert named
    for path in named:
        assert (README.parent / path).exists(), path


@pytest.mark.parametrize("code", ["130 after", "143 after", "129 after", "141 when"])
def test_it_says_what_each_exit_code_means(code: str) -> None:
    assert code in README.read_text()


def test_the_commands_that_it_says_only_look_run_without_a_permission(tmp_path: Path) -> None:
    (named,) = re.findall(r"that only look there \(([^)]+)\)", README.read_text())

    commands = re.findall(r"`(\w+)`", named)

    assert commands
    for command in commands:
        assert harmless(read(command).commands[0], tmp_path, (tmp_path,))
