"""What rules say of a shell line: of each command in it, and of the files it names.

Rules about commands bind each command of the line, those inside substitutions and wrappers too.
Rules about files bind redirections, and `Read` rules what commands name word for word; what a
program opens by itself, no rule sees.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from attrs import frozen

from interlock.permissions.decision import Question
from interlock.permissions.harmless import NO_FILES, is_glob, named_files, shows_files
from interlock.permissions.matching import Match, forbidden, matches, names_inner, prefix
from interlock.permissions.paths import covers, real
from interlock.permissions.rules import READERS, Rule
from interlock.permissions.shell import SAFE_NAMES, Command, File, Reading


@frozen
class Hit:
    """The rule that speaks of a command, and how sure that is."""

    rule: Rule
    match: Match


def first_hit(rules: Iterable[Rule], command: Command, line: Line) -> Hit | None:
    """The first rule that forbids the command or one inside it; sure ones before doubtful ones."""
    doubtful: Hit | None = None
    for rule in rules:
        match = max(
            (_forbids(rule, each, line) for each in command.everything()), default=Match.NO
        )
        if match is Match.YES:
            return Hit(rule, match)
        if match is Match.MAYBE and doubtful is None:
            doubtful = Hit(rule, match)
    return doubtful


@frozen
class Line:
    """A shell line as it is judged: the question it belongs to, and what was read."""

    question: Question
    reading: Reading
    root: Path  # the folder rules count from

    @property
    def text(self) -> str:
        return (self.question.command or "").strip()

    @property
    def folders(self) -> tuple[Path, ...]:
        """Where relative paths may count from: the folder, and those it moves to."""
        moved = [
            self.question.cwd / command.words[1].text
            for command in self.reading.everything()
            if command.name in ("cd", "pushd")
            and len(command.words) > 1
            and command.words[1].text is not None
        ]
        return (self.question.cwd, *moved)

    def is_verbatim(self, rule: Rule) -> bool:
        """Whether the rule is this very line."""
        if rule.tool != self.question.tool or rule.specifier is None:
            return False
        literal = rule.verbatim or not rule.specifier.endswith(":*")
        return literal and rule.specifier.strip() == self.text

    def path_of(self, file: File) -> Path | None:
        """The real path that a redirection opens, None where only the shell knows."""
        text = file.word.text
        if not text or "\0" in text or (self.reading.moves and not text.startswith("/")):
            return None
        return real(self.question.cwd / text)


def allowing(rules: Iterable[Rule], command: Command, line: Line) -> Rule | None:
    """The rule that allows this command whatever its unknown words turn out to be.

    What is set in front of it must be harmless, and what it is given to run allowed as well,
    unless the rule itself says what that is.
    """
    for rule in rules:
        if rule.tool != line.question.tool or rule.specifier is None or rule.verbatim:
            continue
        if matches(rule.specifier, command.words) is not Match.YES:
            continue
        if not command.inner and command.opaque is None:
            return rule
        said = names_inner(rule.specifier, command) and all(map(sets_nothing, command.inner))
        if said and command.opaque is None:
            return rule
        inner_allowed = all(
            sets_nothing(each) and allowing(rules, each, line) for each in command.inner
        )
        if command.opaque is None and inner_allowed:
            return rule
    return None


def says_hidden(rules: Iterable[Rule], command: Command, line: Line) -> bool:
    """Whether a rule that allows the command also says by what it may run others.

    `python -c:*` does, `python:*` does not: the first was written with that in mind.
    """
    for rule in rules:
        if rule.tool != line.question.tool or rule.specifier is None or rule.verbatim:
            continue
        if matches(rule.specifier, command.words) is not Match.YES:
            continue
        begin = prefix(rule.specifier)
        said = "*" not in rule.specifier if begin is None else len(begin) > command.hidden_at > 0
        if said and sets_nothing(command):
            return True
    return False


def sets_nothing(command: Command) -> bool:
    """Whether no variable is set in front of the command that could change what it does."""
    return all(SAFE_NAMES.fullmatch(name) for name in command.assignments)


def _forbids(rule: Rule, command: Command, line: Line) -> Match:
    if rule.specifier is None or rule.verbatim:
        return Match.NO
    if rule.tool == line.question.tool:
        return forbidden(rule.specifier, command)
    if rule.tool in READERS:
        return _shows_denied(rule.specifier, command, line)
    return Match.NO


def _shows_denied(specifier: str, command: Command, line: Line) -> Match:
    arguments = command.words[1:]
    lost = False
    for path in named_files(arguments, line.folders):
        followed = real(path)
        lost |= followed is None
        ways = (Path(os.path.normpath(path)), followed)
        if any(way and covers(specifier, way, line.root, either=True) for way in ways):
            return Match.YES if shows_files(command) else Match.MAYBE
    unknown = any(word.text is None and not is_glob(word) for word in arguments)
    return Match.MAYBE if (unknown or lost) and shows_files(command) else Match.NO


def opened(reading: Reading) -> tuple[File, ...]:
    """The redirections that open a file, those to nowhere left out."""
    return tuple(file for file in reading.files if file.word.text not in NO_FILES)
