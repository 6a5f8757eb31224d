"""Whether a specifier names a command, where some words are known to the shell only.

Three answers, not two: a rule that allows needs a yes whatever those words turn out to be; a
rule that forbids wants a person to look at a maybe.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterator
from enum import IntEnum
from functools import lru_cache

from interlock.permissions.shell import Command, Word, read


class Match(IntEnum):
    """How sure it is that a rule speaks of a command."""

    NO = 0
    MAYBE = 1
    YES = 2


def matches(specifier: str, words: tuple[Word, ...]) -> Match:
    """Word by word, so that `ls` is not `lsof`; `*` stands for anything, blanks too."""
    begin = prefix(specifier)
    if begin is not None:
        return _begins(begin, words)
    if "*" in specifier:
        return _globbed(specifier, words)
    wanted = _words(specifier)
    found = _begins(wanted, words)
    if found is Match.YES and len(words) > len(wanted):
        loose = all(word.text is None and not word.single for word in words[len(wanted) :])
        return Match.MAYBE if loose else Match.NO
    return found


def prefix(specifier: str) -> tuple[str, ...] | None:
    """The words that a specifier like `git push:*` wants in front, None for other kinds."""
    for ending in (":*", " *"):
        rest = specifier.removesuffix(ending)
        if rest != specifier and "*" not in rest:
            return tuple(rest.split())
    return None


def forbidden(specifier: str, command: Command) -> Match:
    """As `matches`, for rules that forbid: a program is known by its name in any folder."""
    if command.words[0].text is None:
        return Match.MAYBE
    best = matches(specifier, command.words)
    name = command.name
    if name and name != command.words[0].text:
        best = max(best, matches(specifier, (Word(name, name), *command.words[1:])))
    if name == "git":
        best = max(best, matches(specifier, (Word("git", "git"), *_without_options(command))))
    for words in _launched(command.words):
        best = max(best, matches(specifier, words))
    return best


def names_inner(specifier: str, command: Command) -> bool:
    """Whether a specifier that allows a wrapper also says what it may run: `sudo apt:*`."""
    begin = prefix(specifier)
    if begin is None:
        return "*" not in specifier
    return len(begin) > command.reach > 0


@lru_cache(maxsize=512)
def _words(specifier: str) -> tuple[str, ...]:
    reading = read(specifier)
    if len(reading.commands) == 1 and not reading.files and not reading.commands[0].assignments:
        literal = reading.commands[0].literal
        if literal is not None and reading.doubt is None:
            return literal
    return tuple(specifier.split())


def _begins(begin: tuple[str, ...], words: tuple[Word, ...]) -> Match:
    found = Match.YES
    for at, wanted in enumerate(begin):
        if at >= len(words):
            return Match.NO
        word = words[at]
        if word.text is None and not word.single:
            return Match.MAYBE
        if word.text is None:
            found = Match.MAYBE
        elif word.text != wanted:
            return Match.NO
    return found


def _globbed(specifier: str, words: tuple[Word, ...]) -> Match:
    pattern = specifier.removesuffix(":*") + (" *" if specifier.endswith(":*") else "")
    safe = re.sub(r"([\[?])", r"[\1]", pattern)
    known: list[str] = []
    for word in words:
        if word.text is None:
            break
        known.append(word.text)
    if len(known) == len(words):
        return Match.YES if fnmatch.fnmatchcase(" ".join(known), safe) else Match.NO
    said = "".join(f"{text} " for text in known)
    if safe.endswith("*") and fnmatch.fnmatchcase(said, safe):
        return Match.YES
    fixed = pattern.partition("*")[0]
    return Match.MAYBE if said.startswith(fixed) or fixed.startswith(said) else Match.NO


# Programs that prepare an environment and run what stands behind these words.
_LAUNCHERS = (
    ("bundle", "exec"), ("bunx",), ("hatch", "run"), ("mise", "exec"), ("npm", "exec"), ("npx",),
    ("pdm", "run"), ("pipenv", "run"), ("pipx", "run"), ("pixi", "run"), ("pnpm", "exec"),
    ("poetry", "run"), ("rye", "run"), ("uv", "run"), ("uvx",), ("yarn", "exec"),
)  # fmt: skip


def _launched(words: tuple[Word, ...]) -> Iterator[tuple[Word, ...]]:
    """What a launcher may be given to run: an option's value could be its beginning."""
    texts = tuple(word.text for word in words[:2])
    launcher = next((each for each in _LAUNCHERS if texts[: len(each)] == each), None)
    if launcher is None:
        return
    behind_option = False
    for at in range(len(launcher), len(words)):
        option = (words[at].text or "").startswith("-")
        if not option:
            yield words[at:]
            if not behind_option:
                return
        behind_option = option


_VALUED = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path"})


def _without_options(command: Command) -> tuple[Word, ...]:
    """The words of git from its subcommand on: `git -C x push` pushes too."""
    at = 1
    while at < len(command.words) and (command.words[at].text or "").startswith("-"):
        at += 2 if command.words[at].text in _VALUED else 1
    return command.words[at:]
