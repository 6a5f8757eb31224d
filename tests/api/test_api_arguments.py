"""What is given to a function of the API is looked at there, and told in one line of our own."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import interlock
from interlock import Client, InterlockError, RunNotFound, Sessions, UsageError
from interlock.fitting import misfits
from interlock.scripted import reply
from interlock.testing import Way, scene

WRONG = [5, 2.5, b"x", None, True, object(), ["x"], {"x": 1}, (None,), len, "", "zork", "a\nb"]
NOWHERE = Path("/nowhere")  # there are no sessions
NOBODY = Client()  # it is not open: what passes the check of arguments is refused all the same
CALLS: dict[str, Callable[..., Any]] = {
    "run": interlock.run,
    "query": interlock.query,
    "run_async": interlock.run_async,
    "image": interlock.image,
    "hook": interlock.hook,
    "tool": interlock.tool,
    "config": interlock.config,
    "decide": interlock.decide,
    "Sessions": Sessions,
    **{
        f"Sessions.{name}": getattr(Sessions(home=NOWHERE), name)
        for name in ("find", "messages", "tree", "rename", "tag", "delete")
    },
    "Way.of": Way.of,
    "Client": Client,
    **{
        f"Client.{name}": getattr(NOBODY, name)
        for name, value in inspect.getmembers(Client, inspect.isfunction)
        if not name.startswith("_")
    },
}


@given(st.sampled_from(sorted(CALLS)), st.sampled_from(WRONG), st.booleans())
def test_nothing_but_an_error_of_ours_comes_of_a_wrong_argument(
    name: str, value: object, by_name: bool
) -> None:
    call, left = CALLS[name], inspect.signature(CALLS[name]).parameters
    if not left or (name == "run" and isinstance(value, str)):
        return  # there is no argument, or it is no wrong one, and a model would be asked
    at = next(iter(left))
    more = {"enabled": True, "title": "x", "tag": "x"}
    more = {name: one for name, one in more.items() if name in left and name != at}
    told = None
    try:
        by = by_name and left[at].kind is not inspect.Parameter.POSITIONAL_ONLY
        made = call(**{at: value}, **more) if by else call(value, **more)
        if inspect.iscoroutine(made):
            made.close()
    except InterlockError as error:
        told = str(error)

    assert told is None or (told.strip() and "Traceback" not in told)


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda: interlock.run(5), "run: prompt: 5 is no prompt: give text"),  # type: ignore[arg-type]
        (lambda: interlock.run(["x"]), r"run: prompt\[0\]: 'x' is no prompt"),  # type: ignore[list-item]
        (lambda: interlock.query("x", 5), "query: options: 5 is not an AgentOptions"),  # type: ignore[arg-type]
        (lambda: interlock.query("x", data=5), "query: data: 5 is not text"),  # type: ignore[arg-type]
        (lambda: Client(5), "Client: options: 5 is not an AgentOptions"),  # type: ignore[arg-type]
        (lambda: interlock.hook(5), "hook: event: 5 is not an Event or text"),  # type: ignore[arg-type]
        (lambda: interlock.hook("Stop")(5), "hook: function: 5 is not a function"),  # type: ignore[arg-type]
        (lambda: interlock.image("none.png"), "none.png cannot be read: No such file"),
        (lambda: interlock.image("."), r"picture \. cannot be read: Is a directory"),
        (lambda: interlock.image(__file__), "is no picture the API takes"),
        (lambda: Sessions(5), "Sessions: cwd: 5 is not a path"),  # type: ignore[arg-type]
        (lambda: interlock.decide("Bsah(ls)"), "no tool is called Bsah; did you mean Bash"),
        (lambda: interlock.decide("Bash("), "is no call: write Tool or Tool"),
        (lambda: interlock.config(5), "config: options: 5 is not an AgentOptions"),  # type: ignore[arg-type]
        (lambda: Way.of(5), "Way.of: 5 is no result"),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_argument_is_named(call: Callable[[], object], line: str) -> None:
    with pytest.raises(UsageError, match=line):
        call()


def test_the_way_of_a_run_that_is_not_there_is_told() -> None:
    with pytest.raises(RunNotFound, match=r"'none.jsonl': its trace cannot be read"):
        Way.of("none.jsonl")


async def test_the_way_of_a_run_is_read_from_its_file_by_either_kind_of_path(
    tmp_path: Path,
) -> None:
    async with scene([reply("hi")], tmp_path) as place:
        ran = await place.run("hi")

    assert Way.of(str(ran.result.trace)).states == Way.of(ran.result.trace).states


async def test_a_branch_from_a_message_that_is_not_there_is_refused_where_it_is_asked_for(
    tmp_path: Path,
) -> None:
    async with scene([reply("hi")], tmp_path) as place, Client(place.options()) as client:
        await client.run("hi")
        with pytest.raises(interlock.TranscriptError, match="has no message zork"):
            client.fork(at="zork")


@pytest.mark.parametrize(
    ("value", "hint", "line"),
    [
        (True, int, "it: True is not a whole number"),
        ("ab", tuple[str, ...], "it: 'ab' is not a list"),
        (("a", 1), tuple[str, ...], "it[1]: 1 is not text"),
        ({"a": 1}, dict[str, str] | None, "it['a']: 1 is not text"),
        (interlock.Allow(updates=("x",)), interlock.Allow, "it.updates[0]: 'x' is not an Update"),  # type: ignore[arg-type]
    ],
)
def test_what_a_hint_does_not_allow_is_told_with_its_place(
    value: object, hint: object, line: str
) -> None:
    assert list(misfits(value, hint, "it")) == [line]


@given(st.from_type(int) | st.text() | st.booleans() | st.none() | st.lists(st.integers()))
def test_a_value_fits_the_union_of_what_it_fits(value: object) -> None:
    kinds = (int, str, bool, None, list[int])

    assert any(not list(misfits(value, kind, "it")) for kind in kinds)
    assert not list(misfits(value, int | str | bool | None | list[int], "it"))


def test_a_value_whose_repr_breaks_is_told_by_its_type() -> None:
    class Odd:
        def __repr__(self) -> str:
            raise RuntimeError

    assert list(misfits(Odd(), str, "it")) == ["it: a value of type Odd is not text"]
