"""AskUserQuestion: at a real terminal, and where there is none."""

from __future__ import annotations

import os
import pty
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from attrs import define

from interlock.cli.choosing import TerminalPerson
from interlock.tools.ask_user import AskUserQuestion, NobodyThere, Option, UserQuestion
from interlock.tools.deciding import NO, YES, decided
from tests.tools.places import Place
from tests.tools.running import Button

COLOUR = {
    "question": "Which colour?",
    "header": "Colour",
    "options": [
        {"label": "Red", "description": "like blood"},
        {"label": "Blue", "description": "like the sky"},
    ],
}
PARTS = {**COLOUR, "question": "Which parts?", "multiSelect": True}


@define
class Screen:
    """The person's side of a terminal."""

    near: int
    path: str

    def types(self, text: str) -> None:
        os.write(self.near, text.encode())

    async def shows(self, text: str) -> str:
        """What stands there, once `text` does."""
        seen = ""
        with anyio.fail_after(10):
            while text not in seen:
                await anyio.wait_readable(self.near)
                seen += os.read(self.near, 4096).decode()
        return seen


@pytest.fixture
def screen() -> Iterator[Screen]:
    near, far = pty.openpty()
    yield Screen(near, os.ttyname(far))
    os.close(near)
    os.close(far)


async def asked(
    place: Place, screen: Screen, typed: list[str], *questions: dict[str, Any]
) -> tuple[str, str]:
    """The answer the model gets, and what the person saw."""
    person = TerminalPerson(interrupt=Button(), path=screen.path)
    place.tools["AskUserQuestion"] = AskUserQuestion(person)
    said, seen = "", ""

    async def call() -> None:
        nonlocal said
        said = await place.said("AskUserQuestion", questions=list(questions))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        for line in typed:
            seen += await screen.shows("own words > ")
            screen.types(line + "\n")
    return said, seen


DOOR = UserQuestion(
    question="Open the door?",
    header="Door",
    options=(Option(label="Open it", also=YES), Option(label="Leave it", also=NO)),
)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["y"], "Open it"),
        (["YES"], "Open it"),
        (["open it"], "Open it"),
        (["1"], "Open it"),
        (["n"], "Leave it"),
        (["no"], "Leave it"),
        (["perhaps", "y"], "Open it"),
        (["yes please", "7", "2"], "Leave it"),
        (["perhaps", "hm", "what?"], ""),
    ],
)
async def test_a_question_of_our_own_takes_yes_and_no_and_asks_again_what_is_neither(
    screen: Screen, typed: list[str], meant: str
) -> None:
    said: str | None = None

    async def ask() -> None:
        nonlocal said
        said = await decided(TerminalPerson(interrupt=Button(), path=screen.path), DOOR)

    seen = ""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        for line in typed:
            seen += await screen.shows("a number, yes or no > ")
            screen.types(line + "\n")

    assert said == meant
    assert ("'perhaps' is none of the answers." in seen) == ("perhaps" in typed)


async def test_nobody_decides_nothing() -> None:
    assert await decided(NobodyThere(), DOOR) is None


async def test_a_number_chooses(place: Place, screen: Screen) -> None:
    said, seen = await asked(place, screen, ["2"], COLOUR)

    assert said == "Which colour?\nThe user chose: Blue."
    assert "[Colour] Which colour?" in seen
    assert "2  Blue: like the sky" in seen


async def test_own_words_and_several_questions(place: Place, screen: Screen) -> None:
    said, _ = await asked(place, screen, ["green, please", "1, 2"], COLOUR, PARTS)

    assert said == (
        "Which colour?\nThe user said: green, please\n\nWhich parts?\nThe user chose: Red, Blue."
    )


@pytest.mark.parametrize("wrong", ["7", "1 2", "0", ""])
async def test_a_number_that_is_none_is_asked_for_again(
    place: Place, screen: Screen, wrong: str
) -> None:
    said, _ = await asked(place, screen, [wrong, "1"], COLOUR)

    assert said.endswith("Red.")


async def test_where_nobody_is_there_the_answer_is_an_error_at_once(place: Place) -> None:
    place.tools["AskUserQuestion"] = AskUserQuestion()
    nobody = await place.refused("AskUserQuestion", questions=[COLOUR])
    gone = TerminalPerson(interrupt=Button(), path="/nonexistent/tty")
    place.tools["AskUserQuestion"] = AskUserQuestion(gone)

    assert "Nobody can answer" in nobody
    assert await place.refused("AskUserQuestion", questions=[COLOUR]) == nobody


async def test_an_interrupt_ends_the_question(place: Place, screen: Screen) -> None:
    button = Button()
    place.tools["AskUserQuestion"] = AskUserQuestion(
        TerminalPerson(interrupt=button, path=screen.path)
    )

    async def press() -> None:
        await screen.shows("own words > ")
        button.press()

    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(press)
            said = await place.said("AskUserQuestion", questions=[COLOUR])

    assert said == "Which colour?\nThe user gave no answer."


async def test_a_model_cannot_repaint_the_screen(place: Place, screen: Screen) -> None:
    _, seen = await asked(place, screen, ["1"], {**COLOUR, "question": "A\x1b[2JB?"})

    assert "\x1b" not in seen


@pytest.mark.parametrize(
    ("questions", "why"),
    [
        pytest.param([], "1 to 4 of them, not 0", id="none"),
        pytest.param([COLOUR] * 5, "not 5", id="too many"),
        pytest.param([{**COLOUR, "options": COLOUR["options"][:1]}], "2 to 4 options", id="one"),
        pytest.param([{**COLOUR, "options": [COLOUR["options"][0]] * 2}], "same", id="twice"),
    ],
)
async def test_a_question_that_cannot_be_asked_is_refused(
    place: Place, questions: list[Any], why: str
) -> None:
    assert why in await place.refused("AskUserQuestion", questions=questions)
