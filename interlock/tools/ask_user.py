"""AskUserQuestion: the model asks the person at the terminal, with answers to choose from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from attrs import frozen

from interlock.tools.tool import Arguments, Output, Tool, ToolContext, ToolError

_MOST_QUESTIONS = 4
_LEAST_OPTIONS, _MOST_OPTIONS = 2, 4


@frozen(kw_only=True)
class Option:
    label: str
    description: str = ""
    also: tuple[str, ...] = ()  # words that mean it as well, in small letters


@frozen(kw_only=True)
class UserQuestion:
    question: str
    header: str  # a word or two, for a narrow screen
    options: tuple[Option, ...]
    several: bool = False  # more than one may be chosen
    before: tuple[str, ...] = ()  # lines that the person should have seen first
    first: int = 1  # the number of the first option, where they are a part of a longer list
    closed: bool = False  # nothing but one of the options answers it


@frozen(kw_only=True)
class UserAnswer:
    """Labels that were chosen, or the person's own words, or both."""

    chosen: tuple[str, ...] = ()
    words: str = ""


class Person(Protocol):
    """Someone who may answer."""

    async def answer(self, questions: Sequence[UserQuestion]) -> Sequence[UserAnswer] | None:
        """One answer for each question, in order; None if nobody is there."""
        ...


@frozen
class NobodyThere:
    async def answer(self, questions: Sequence[UserQuestion]) -> Sequence[UserAnswer] | None:
        return None


class AskUserQuestion(Tool):
    name = "AskUserQuestion"
    time_limit = None  # a person takes the time they take
    description = (
        "Asks the user up to four questions, each with two to four answers to choose from; they"
        " may always answer in their own words instead, so leave out an option such as Other. Use"
        " it where you need a decision that only the user can take and that changes what you do"
        " next; not for what you can find out, and not to ask whether to go on. If one answer is"
        " the better one, put it first and say so."
    )
    input_schema = {  # noqa: RUF012 (never changed)
        "type": "object",
        "properties": {
            "questions": {
                "type": "array",
                "minItems": 1,
                "maxItems": _MOST_QUESTIONS,
                "items": {
                    "type": "object",
                    "properties": {
                        "question": {"type": "string", "description": "The whole question."},
                        "header": {
                            "type": "string",
                            "description": "What it is about, in a word or two.",
                        },
                        "options": {
                            "type": "array",
                            "minItems": _LEAST_OPTIONS,
                            "maxItems": _MOST_OPTIONS,
                            "items": {
                                "type": "object",
                                "properties": {
                                    "label": {"type": "string", "description": "A few words."},
                                    "description": {
                                        "type": "string",
                                        "description": "What it would mean.",
                                    },
                                },
                                "required": ["label", "description"],
                                "additionalProperties": False,
                            },
                        },
                        "multiSelect": {
                            "type": "boolean",
                            "description": "Whether several may be chosen.",
                        },
                    },
                    "required": ["question", "header", "options"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["questions"],
        "additionalProperties": False,
    }

    def __init__(self, person: Person | None = None) -> None:
        self._person = person or NobodyThere()

    def effects(self, arguments: Arguments) -> bool:
        return False

    # Not safe beside others: two questions at one terminal would take each other's answers.

    async def run(self, arguments: Arguments, context: ToolContext) -> Output:
        questions = _questions(arguments)
        answers = await self._person.answer(questions)
        if answers is None:
            raise ToolError(
                "Nobody can answer: this session runs without anyone to ask. Decide yourself, by"
                " what the task and the code say, and tell in your answer what you assumed."
            )
        pairs = zip(questions, answers, strict=True)
        return Output("\n\n".join(f"{one.question}\n{_told(answer)}" for one, answer in pairs))


def _questions(arguments: Arguments) -> tuple[UserQuestion, ...]:
    asked = arguments["questions"]
    if not 1 <= len(asked) <= _MOST_QUESTIONS:
        raise ToolError(f"`questions` must hold 1 to {_MOST_QUESTIONS} of them, not {len(asked)}.")
    for at, one in enumerate(asked, 1):
        labels = [option["label"] for option in one["options"]]
        if not _LEAST_OPTIONS <= len(labels) <= _MOST_OPTIONS:
            raise ToolError(
                f"Question {at} must have {_LEAST_OPTIONS} to {_MOST_OPTIONS} options, not"
                f" {len(labels)}."
            )
        if len(set(labels)) < len(labels):
            raise ToolError(f"Two options of question {at} have the same label.")
    return tuple(
        UserQuestion(
            question=one["question"],
            header=one["header"],
            options=tuple(Option(**option) for option in one["options"]),
            several=one.get("multiSelect", False),
        )
        for one in asked
    )


def _told(answer: UserAnswer) -> str:
    chosen = f"The user chose: {', '.join(answer.chosen)}." if answer.chosen else ""
    words = f"The user said: {answer.words}" if answer.words else ""
    return "\n".join(part for part in (chosen, words) if part) or "The user gave no answer."
