"""Which of several texts share rare words with a prompt: good enough where no model is asked.

A word counts by how few of the texts hold it; in a text's head (its name, the line about it),
three times. Knows English endings and nothing of what the texts are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from attrs import frozen

_WORD = re.compile(r"[^\W_]{3,}")
_COMMON_WORDS = """
    about after all also and any are because been before but can could did does for from get had
    has have here how into its just like make may more most not now off one only other our out
    over please should some than that the their them then there these they this too under use used
    user want was way were what when where which who why will with would you your
    file files code fix add change
"""
_COMMON = frozenset(_COMMON_WORDS.split())
_ENDINGS = ("ing", "ed", "es", "s")


@frozen(kw_only=True)
class Likened:
    """One text: what names it, and what it says."""

    head: str
    body: str = ""


def likest(prompt: str, texts: Sequence[Likened], *, most: int) -> list[int]:
    """The places of the texts that fit the prompt, the best first."""
    asked = set(words_of(prompt))
    heads = [set(words_of(text.head)) for text in texts]
    shared = [
        asked & (head | set(words_of(text.body))) for head, text in zip(heads, texts, strict=True)
    ]
    holders = {word: sum(word in each for each in shared) for word in asked}
    scored = []
    for at, words in enumerate(shared):
        # One word somewhere in a long text is chance; one in its name is not.
        if len(words) >= 2 or words & heads[at]:
            rare = {word: math.log1p(len(texts) / holders[word]) for word in words}
            score = sum(rare[word] * (3 if word in heads[at] else 1) for word in words)
            scored.append((-score, at))
    return [at for _, at in sorted(scored)[:most]]


def words_of(text: str) -> Iterator[str]:
    """The words that say something, without their endings."""
    for word in _WORD.findall(text.lower()):
        if word not in _COMMON:
            yield _stem(word)


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            return word.removesuffix(ending)
    return word
