"""A person at the terminal answers the model's questions: numbers, or words of their own."""

from __future__ import annotations

import os
import re
import termios
from collections.abc import Sequence

from attrs import frozen

from interlock.terminal import heard, say
from interlock.tools.ask_user import NobodyThere, Person, UserAnswer, UserQuestion
from interlock.visible import visible
from phases.world.ports import Interrupt

_NUMBERS = re.compile(r"\s*\d+(?:[\s,]+\d+)*\s*")


@frozen(kw_only=True)
class TerminalPerson:
    """Asks at /dev/tty, as permissions do: standard input may be a pipe."""

    interrupt: Interrupt
    path: str = "/dev/tty"

    async def answer(self, questions: Sequence[UserQuestion]) -> Sequence[UserAnswer] | None:
        try:
            terminal = os.open(self.path, os.O_RDWR | os.O_NOCTTY)
        except OSError:
            return None
        answers: list[UserAnswer] = []
        try:
            with self.interrupt.scope():
                # Keys pressed before the question stood there are no answer to it.
                termios.tcflush(terminal, termios.TCIFLUSH)
                for question in questions:
                    said = await _asked(terminal, question)
                    if said is None:
                        break
                    answers.append(said)
        except OSError:
            pass  # the terminal went away: what was answered until then counts
        finally:
            os.close(terminal)
        return [*answers, *[UserAnswer()] * (len(questions) - len(answers))]


def person_or_nobody(interrupt: Interrupt) -> Person:
    """The person at the terminal, if there is a terminal."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return NobodyThere()
    return TerminalPerson(interrupt=interrupt)


async def _asked(terminal: int, question: UserQuestion) -> UserAnswer | None:
    """The answer to one question; None if the terminal closed."""
    say(terminal, _shown(question))
    while True:
        say(terminal, f"  {_wanted(question)} > ")
        line = await heard(terminal)
        if line is None:
            return None
        if not line.strip():
            continue
        if not _NUMBERS.fullmatch(line):
            return UserAnswer(words=line.strip())
        numbers = list(dict.fromkeys(int(number) for number in re.findall(r"\d+", line)))
        offered = dict(enumerate(question.options, question.first))
        fit = all(number in offered for number in numbers)
        if fit and (question.several or len(numbers) == 1):
            return UserAnswer(chosen=tuple(offered[number].label for number in numbers))
        one = "" if question.several else ", one"
        say(terminal, f"  {question.first} to {max(offered)}{one}\n")


def _wanted(question: UserQuestion) -> str:
    number = "numbers" if question.several else "a number"
    if not question.closed:
        return f"{number}, or an answer in your own words"
    words = [option.also[-1] for option in question.options if option.also]
    return f"{number}, {' or '.join(words)}" if words else number


def _shown(question: UserQuestion) -> str:
    lines = [*question.before, "", f"[{question.header}] {question.question}"]
    for number, option in enumerate(question.options, question.first):
        told = f": {option.description}" if option.description else ""
        lines.append(f"  {number}  {option.label}{told}")
    # What a model wrote must not repaint the screen.
    return "\n".join(visible(line) for line in lines) + "\n"
