"""Asking: at a terminal, or nobody; once, and in a way the model cannot disturb."""

from __future__ import annotations

import os
import pty
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from attrs import define, evolve, field

from interlock.options import PermissionMode
from interlock.permissions import (
    Answer,
    Decision,
    Gate,
    Judge,
    NobodyAsks,
    Question,
    Rules,
    TerminalAsker,
    Verdict,
)
from interlock.summary import Denial
from tests.permissions.questions import about, bash

WHY = Decision(verdict=Verdict.ASK, reason="commands need approval")


@define
class Button:
    requested: bool = False
    scopes: list[anyio.CancelScope] = field(factory=list)

    @contextmanager
    def _scope(self) -> Iterator[anyio.CancelScope]:
        with anyio.CancelScope() as scope:
            self.scopes.append(scope)
            yield scope

    def scope(self) -> AbstractContextManager[anyio.CancelScope]:
        return self._scope()


@define
class Person:
    """Someone at a terminal: reads what is shown, then types."""

    screen: int
    path: str
    button: Button = field(factory=Button)
    seen: str = ""

    @property
    def asker(self) -> TerminalAsker:
        return TerminalAsker(interrupt=self.button, path=self.path)

    async def sees(self, text: str) -> None:
        while text not in self.seen:
            await anyio.wait_readable(self.screen)
            self.seen += os.read(self.screen, 4096).decode()

    def types(self, text: str) -> None:
        os.write(self.screen, text.encode())

    async def answers(self, question: Question, typed: str) -> Answer:
        answer: list[Answer] = []

        async def ask() -> None:
            answer.append(await self.asker.ask(question, WHY))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await self.sees("why > ")
            self.types(typed)
        return answer[0]


@pytest.fixture
def person() -> Iterator[Person]:
    screen, terminal = pty.openpty()
    yield Person(screen, os.ttyname(terminal))
    os.close(screen)
    os.close(terminal)


# --- the terminal ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("y\n", Answer(allowed=True, reason="the user allowed it")),
        ("YES\n", Answer(allowed=True, reason="the user allowed it")),
        ("a\n", Answer(allowed=True, reason="the user allowed it", always=True)),
        ("n use git\n", Answer(allowed=False, reason="the user said no: use git")),
        ("n\nuse git\n", Answer(allowed=False, reason="the user said no: use git")),
        ("\nwhat?\ny\n", Answer(allowed=True, reason="the user allowed it")),
    ],
)
async def test_what_a_person_can_answer(person: Person, typed: str, answer: Answer) -> None:
    assert await person.answers(bash("make"), typed) == answer


async def test_the_person_sees_the_call_and_the_change(person: Person) -> None:
    async def preview() -> str:
        return "-old\n+new"

    question = evolve(about("Edit", "a.txt", Path("/repo")), preview=preview)

    await person.answers(question, "y\n")

    assert "Edit wants to run: commands need approval" in person.seen
    assert "file_path: a.txt" in person.seen
    assert "-old\r\n+new" in person.seen


async def test_a_call_cannot_repaint_the_screen(person: Person) -> None:
    await person.answers(bash("make\x1b[2K\rls\u202e"), "y\n")

    assert "\x1b" not in person.seen
    assert "make\\x1b[2K\\rls\\u202e" in person.seen


async def test_keys_pressed_before_the_question_are_no_answer(person: Person) -> None:
    person.types("y\n")

    answer = await person.answers(bash("make"), "n no\n")

    assert not answer.allowed


async def test_an_interrupt_breaks_the_question(person: Person) -> None:
    answer: list[Answer] = []

    async def ask() -> None:
        answer.append(await person.asker.ask(bash("make"), WHY))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await person.sees("why > ")
        person.button.scopes[0].cancel()

    assert not answer[0].allowed
    assert answer[0].interrupted


async def test_without_a_terminal_nobody_is_asked(tmp_path: Path) -> None:
    asker = TerminalAsker(interrupt=Button(), path=str(tmp_path / "none"))

    assert "without anyone to ask" in (await asker.ask(bash("make"), WHY)).reason


# --- nobody ----------------------------------------------------------------------------------


async def test_without_anyone_to_ask_the_answer_is_no_at_once_and_names_the_flag() -> None:
    answer = await NobodyAsks().ask(bash("make"), WHY)

    assert not answer.allowed
    assert "--allowedTools 'Bash'" in answer.reason


# --- the gate --------------------------------------------------------------------------------


@define
class Scripted:
    """An asker that gives the answers it was made with."""

    answers: list[Answer]
    asked: list[Question] = field(factory=list)
    _busy: bool = False

    async def ask(self, question: Question, decision: Decision) -> Answer:
        assert not self._busy, "two questions at one terminal"
        self._busy = True
        await anyio.lowlevel.checkpoint()
        self._busy = False
        self.asked.append(question)
        return self.answers.pop(0)


YES = Answer(allowed=True, reason="yes")
ALWAYS = Answer(allowed=True, reason="yes", always=True)
NO = Answer(allowed=False, reason="no")


def gate(*answers: Answer, deny: tuple[str, ...] = ()) -> tuple[Gate, Scripted]:
    asker = Scripted(list(answers))
    judge = Judge.of(Path("/"), Rules.parse(deny=deny), PermissionMode.DEFAULT)
    return Gate(judge, asker), asker


async def test_yes_is_for_once_and_always_for_the_same_command() -> None:
    door, asker = gate(YES, ALWAYS, NO)

    decisions = [
        (await door.settle(bash(line))).allowed for line in ("make", "make", "make", "make x")
    ]

    assert decisions == [True, True, True, False]
    assert [question.command for question in asker.asked] == ["make", "make", "make x"]


async def test_always_for_a_file_is_for_those_of_the_working_folder() -> None:
    door, asker = gate(ALWAYS)

    assert (await door.settle(about("Write", "a", Path("/")))).allowed
    assert (await door.settle(about("Write", "b", Path("/")))).allowed
    assert len(asker.asked) == 1


@pytest.mark.parametrize(
    "written", [".git/hooks/pre-commit", "sub/.claude/settings.json", "../.bashrc", "link/x"]
)
@pytest.mark.parametrize("tool", ["Write", "Edit"])
async def test_always_for_a_file_is_not_for_what_lies_outside_or_steers(
    tmp_path: Path, tool: str, written: str
) -> None:
    (tmp_path / "ws").mkdir()
    (tmp_path / "ws/link").symlink_to(tmp_path)
    asker = Scripted([ALWAYS, NO, NO])
    door = Gate(Judge.of(tmp_path / "ws", Rules(), PermissionMode.DEFAULT), asker)

    assert (await door.settle(about(tool, "ok.txt", tmp_path / "ws"))).allowed
    assert (await door.settle(about(tool, "sub/ok.txt", tmp_path / "ws"))).allowed
    assert not (await door.settle(about(tool, written, tmp_path / "ws"))).allowed
    assert not (await door.settle(bash(f"echo x > {written}", tmp_path / "ws"))).allowed
    assert len(asker.asked) == 3


async def test_always_for_a_file_outside_is_for_that_file(tmp_path: Path) -> None:
    (tmp_path / "ws").mkdir()
    asker = Scripted([ALWAYS, NO])
    door = Gate(Judge.of(tmp_path / "ws", Rules(), PermissionMode.DEFAULT), asker)

    for _ in range(2):
        assert (await door.settle(about("Read", "../a[1]{b,c}*", tmp_path / "ws"))).allowed
    assert not (await door.settle(about("Read", "../b", tmp_path / "ws"))).allowed


@pytest.mark.parametrize(
    ("tool", "written", "told"),
    [
        ("Write", "a.txt", "Write in the working folders, files that steer git, a shell or me"),
        ("Read", "/etc/hosts", "in this session: Read(//etc/hosts))"),
    ],
)
async def test_the_person_sees_what_always_would_open(
    person: Person, tool: str, written: str, told: str
) -> None:
    await person.answers(about(tool, written, Path("/repo")), "n no\n")

    assert told in person.seen


async def test_always_does_not_lift_a_deny_rule() -> None:
    door, _ = gate(ALWAYS, deny=("Write(secret)",))

    assert (await door.settle(about("Write", "a", Path("/")))).allowed
    assert not (await door.settle(about("Write", "secret", Path("/")))).allowed


async def test_questions_are_asked_one_at_a_time() -> None:
    door, asker = gate(YES, YES, YES)

    async with anyio.create_task_group() as tasks:
        for name in ("a", "b", "c"):
            tasks.start_soon(door.settle, about("Write", name, Path("/")))

    assert len(asker.asked) == 3


async def test_denials_are_kept_for_the_result_of_the_run() -> None:
    door, _ = gate(NO, Answer(allowed=False, reason="", interrupted=True), deny=("Bash(rm:*)",))

    await door.settle(bash("make"))
    await door.settle(bash("make"))  # interrupted: no one said no
    await door.settle(bash("rm x"))

    assert door.denials == [
        Denial(tool_name="Bash", tool_use_id="t", tool_input={"command": line})
        for line in ("make", "rm x")
    ]
    door.begin_run()
    assert door.denials == []


async def test_deciding_asks_nobody() -> None:
    door, asker = gate()

    assert door.decide(bash("make")).verdict is Verdict.ASK
    assert asker.asked == []
    assert door.denials == []
