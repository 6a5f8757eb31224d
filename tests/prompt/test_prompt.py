"""The system prompt: its parts, their order, their size."""

from __future__ import annotations

import re

import pytest

from interlock.options import Options
from interlock.prompt import base_prompt, estimated_tokens, system_blocks, system_parts

ENVIRONMENT = "Working directory: /shop\nGit repository: no"
TARGET_TOKENS = 1_850  # with tools of some 2,400 the whole is near the 4,200 that are usual


def test_the_base_comes_first_and_the_environment_last() -> None:
    options = Options(append_system_prompt="Speak French.")

    assert system_blocks(options, ENVIRONMENT) == (base_prompt(), "Speak French.", ENVIRONMENT)
    assert [part.name for part in system_parts(options, ENVIRONMENT)] == [
        "base",
        "appended",
        "environment",
    ]


def test_the_memory_stands_before_the_environment() -> None:
    blocks = system_blocks(Options(system_prompt="base"), ENVIRONMENT, memory="You remember.")

    assert blocks == ("base", "You remember.", ENVIRONMENT)


def test_another_system_prompt_takes_the_place_of_the_base_alone() -> None:
    options = Options(system_prompt="You are a poet.", append_system_prompt="Rhyme.")

    assert system_blocks(options, ENVIRONMENT) == ("You are a poet.", "Rhyme.", ENVIRONMENT)


@pytest.mark.parametrize("empty", ["", " \n"])
def test_empty_parts_are_dropped(empty: str) -> None:
    options = Options(system_prompt=empty, append_system_prompt=empty)

    assert system_blocks(options, empty) == ()


def test_the_base_prompt_has_the_size_it_was_given() -> None:
    size = estimated_tokens(base_prompt())

    print(f"base prompt: {size} tokens, target {TARGET_TOKENS}")
    assert size == pytest.approx(TARGET_TOKENS, rel=0.2)


def test_the_base_prompt_names_every_tool() -> None:
    assert {"Read", "Write", "Edit", "Bash", "Glob", "Grep"} <= set(
        re.findall(r"\w+", base_prompt())
    )


def test_the_base_prompt_is_the_same_for_everyone() -> None:
    # One placeholder, and no two folders would share the cached prefix.
    assert not re.search(r"\{\w*\}|\$\w", base_prompt())
