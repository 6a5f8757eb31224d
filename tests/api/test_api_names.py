"""The names of `interlock`: cheap to have, all there, and one tree of errors."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import interlock
from interlock import errors

SOURCE = Path(interlock.__file__).read_text()


def test_every_name_is_there() -> None:
    assert sorted(interlock.__all__) == interlock.__all__
    for name in interlock.__all__:
        assert getattr(interlock, name) is not None
        assert name in dir(interlock)


def test_names_for_type_checkers_are_those_at_run_time() -> None:
    (block,) = (one for one in ast.parse(SOURCE).body if isinstance(one, ast.If))
    typed = {
        alias.name: one.module
        for one in block.body
        if isinstance(one, ast.ImportFrom)
        for alias in one.names
    }

    assert typed == interlock._HOME_OF
    assert {*typed, "__version__"} == set(interlock.__all__)


def test_the_name_alone_imports_nothing() -> None:
    code = "import interlock, sys; print([n for n in sys.modules if n.startswith('interlock.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Agnet'"):
        interlock.Agnet  # noqa: B018


def test_the_tree_of_errors_is_the_one_that_is_drawn() -> None:
    drawn = dict(re.findall(r"[├└]── (\w+) +(\S.*)", errors.__doc__ or ""))
    classes = {
        name
        for name, value in inspect.getmembers(errors, inspect.isclass)
        if issubclass(value, interlock.InterlockError) and value is not interlock.InterlockError
    }

    assert set(drawn) == {*classes, "BadTool"}
    assert issubclass(interlock.BadTool, interlock.InterlockError)
    assert issubclass(interlock.BadTool, TypeError)
