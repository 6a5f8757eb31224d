"""Questions of the program's own, which one of their options answers and no other words.

The model's questions take any words, for the model reads them; here "y" must not be lost because
the option is called otherwise. Does not know what is decided, nor how a person is asked.
"""

from __future__ import annotations

from attrs import evolve

from interlock.tools.ask_user import Person, UserAnswer, UserQuestion

YES, NO = ("y", "yes"), ("n", "no")
_TRIES = 3  # for answers that are none; then nothing was chosen


async def decided(person: Person, question: UserQuestion) -> str | None:
    """The label that was chosen; "" where none was, None where nobody is there."""
    question = evolve(question, closed=True)
    for _ in range(_TRIES):
        answers = await person.answer([question])
        if answers is None:
            return None
        said = answers[0] if answers else UserAnswer()
        words = said.words.strip()
        label = _meant(question, (*said.chosen, words))
        if label is not None or not words:
            return label or ""
        question = evolve(question, before=(f"{words!r} is none of the answers.",))
    return ""


def _meant(question: UserQuestion, said: tuple[str, ...]) -> str | None:
    for word in map(str.lower, said):
        for option in question.options:
            if word == option.label.lower() or word in option.also:
                return option.label
    return None
