"""Command lines, read without running them: cautious where bash is clever.

`plain` knows lines that hold one simple command and nothing else, for rules that allow.
`commands` finds every simple command that a line may run, for rules that forbid; it finds too
many rather than too few, and says None where it cannot tell. Not a parser of bash: what needs
one is asked.
"""

from __future__ import annotations

import re

from attrs import define, field, frozen

Words = tuple[str, ...]

_SPECIAL = frozenset(";&|<>(){}$`\\")
_KEYWORDS = re.compile(r"if|then|elif|else|fi|do|done|while|until|esac|time|coproc|[!{}]")
# Commands whose arguments are a command, from some word on.
_CARRIERS = re.compile(
    r"builtin|busybox|chroot|command|doas|env|exec|find|flock|ionice|nice|nohup|parallel|setsid"
    r"|stdbuf|strace|sudo|su|timeout|trap|watch|xargs"
)
# Commands that read a word of theirs as a command line.
_SHELLS = re.compile(r"bash|dash|eval|ksh|parallel|sh|ssh|su|trap|watch|zsh")
_MAX_DEPTH = 4
_COMPUTED = "\0"  # in front of a word whose text only the shell knows
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")


def plain(line: str) -> Words | None:
    """The words of a line that is one simple command, else None. Globs stay as they are."""
    words: list[str] = []
    word: str | None = None
    quote = ""
    at = 0
    while at < len(line):
        letter = line[at]
        at += 1
        if quote:
            if letter == quote:
                quote = ""
            elif (quote == '"' and letter in "$`\\!") or letter in "\n\0":
                return None
            else:
                word = (word or "") + letter
        elif letter in "'\"":
            quote, word = letter, word or ""
        elif letter in " \t":
            words += [] if word is None else [word]
            word = None
        elif letter == "\\" and line[at : at + 1] == "\n":
            at += 1
        elif letter == "#" and word is None:
            if "\n" in line[at:]:
                return None
            break
        elif letter < " " or letter in _SPECIAL:
            return None
        else:
            word = (word or "") + letter
    words += [] if word is None else [word]
    return None if quote or not words else tuple(words)


@frozen
class Found:
    """The simple commands of a line, quotes removed; `certain` is False if there may be more."""

    commands: tuple[Words, ...]
    certain: bool


def commands(line: str, depth: int = 0) -> Found:
    """Every simple command the line may run, those inside substitutions and wrappers too."""
    scan = _Scan(line)
    certain = scan.run() and depth <= _MAX_DEPTH
    found: list[Words] = []
    for words in scan.commands:
        begun = _without_prelude(words)
        if not begun:
            continue
        # `case` closes brackets it never opened, and a computed name could be any command.
        certain &= begun[0] != "case" and not begun[0].startswith(_COMPUTED)
        found.append(_bare(begun))
        if depth <= _MAX_DEPTH:
            carried = _carried(begun, depth)
            found += carried.commands
            certain &= carried.certain
    return Found(tuple(found), certain)


def _bare(words: Words) -> Words:
    return tuple(word.lstrip(_COMPUTED) for word in words)


def _without_prelude(words: Words) -> Words:
    """Without keywords and assignments in front."""
    at = 0
    while at < len(words) and (
        _KEYWORDS.fullmatch(words[at]) or _ASSIGNMENT.match(words[at].lstrip(_COMPUTED))
    ):
        at += 1
    return words[at:]


def _carried(words: Words, depth: int) -> Found:
    """The commands that a command is given to run, each place where one could begin."""
    name = words[0].rpartition("/")[2]
    found: list[Words] = []
    certain = True
    if _CARRIERS.fullmatch(name):
        found += [_bare(words[at:]) for at in range(1, len(words))]
        certain = not any(word.startswith(_COMPUTED) for word in words)
    if _SHELLS.fullmatch(name):
        for word in words[1:]:
            inner = commands(word.lstrip(_COMPUTED), depth + 1)
            found += inner.commands
            certain &= inner.certain and not word.startswith(_COMPUTED)
    return Found(tuple(found), certain)


@define
class _Level:
    """One nesting of quotes or brackets: what closes it, and the command it stands in."""

    closing: str
    words: list[str] = field(factory=list)
    word: str | None = None
    computed: bool = False  # the word holds what the shell works out
    redirected: bool = False  # the next word names a file


@define
class _Scan:
    """Cuts a line at everything that can begin a command."""

    line: str
    commands: list[Words] = field(factory=list)
    _levels: list[_Level] = field(factory=lambda: [_Level("")])
    _certain: bool = True

    def run(self) -> bool:
        """Whether all was understood."""
        at = 0
        while at < len(self.line):
            at = self._in_quotes(at) if self._level.closing == '"' else self._outside(at)
        while len(self._levels) > 1:
            self._certain = False  # something never closed
            self._leave()
        self._end_command()
        return self._certain

    @property
    def _level(self) -> _Level:
        return self._levels[-1]

    def _in_quotes(self, at: int) -> int:
        letter, following = self.line[at], self.line[at + 1 : at + 2]
        if letter == '"':
            self._leave()
        elif letter == "\\" and following in ("$", "`", '"', "\\"):
            self._certain &= following != "`"
            self._add(following)
            return at + 2
        elif letter in "$`":
            return self._substitution(at)
        else:
            self._add(letter)
        return at + 1

    def _outside(self, at: int) -> int:
        letter, line = self.line[at], self.line
        if letter == "'":
            end = line.find("'", at + 1)
            self._certain &= end >= 0
            self._add(line[at + 1 : end if end >= 0 else None])
            return end + 1 if end >= 0 else len(line)
        if letter == "\\":
            following = line[at + 1 : at + 2]
            self._certain &= following != "`"  # a substitution inside a substitution
            if following != "\n":
                self._add(following)
            return at + 2
        if letter in "$`":
            return self._substitution(at)
        if letter in "<>":
            return self._redirection(at)
        if letter == "#" and self._level.word is None:
            end = line.find("\n", at)
            return end if end >= 0 else len(line)
        self._plain_letter(letter)
        return at + 1

    def _plain_letter(self, letter: str) -> None:
        if letter == '"':
            self._enter('"')
        elif letter == "(":
            self._end_command()
            self._enter(")")
        elif letter in ";&|\n":
            self._end_command()
        elif letter == ")":
            self._certain &= self._level.closing == ")"
            self._end_command()
            if self._level.closing == ")":
                self._leave()
        elif letter in " \t\r":
            self._end_word()
        else:
            self._certain &= letter != "\0"
            self._level.computed |= letter in "{*?["
            self._add(letter)

    def _substitution(self, at: int) -> int:
        """`$(` and backticks hold a command of their own; `$x` is a word not known here."""
        following = self.line[at + 1 : at + 2]
        self._add("")
        self._level.computed = True
        if self.line[at] == "`":
            if any(level.closing == "`" for level in self._levels):
                while self._level.closing != "`":
                    self._certain = False
                    self._leave()
                self._leave()
            else:
                self._enter("`")
            return at + 1
        if following == "(":
            self._enter(")")
            return at + 2
        self._certain &= following != "'"  # $'..' has escapes of its own
        return at + 1

    def _redirection(self, at: int) -> int:
        level = self._level
        if level.word is not None and level.word.isdigit():
            level.word = None  # the number of a file descriptor
        self._end_word()
        end = at + 1
        while self.line[end : end + 1] in ("<", ">", "&", "|", "-"):
            end += 1
        # The lines of a here-document are text, and their quotes close nothing.
        self._certain &= self.line[at:end].rstrip("-") != "<<"
        level.redirected = True
        if self.line[end : end + 1] == "(":
            self._add("")
            self._enter(")")
            return end + 1
        return end

    def _enter(self, closing: str) -> None:
        if closing == '"':
            self._add("")
        self._levels.append(_Level(closing))

    def _leave(self) -> None:
        """Back to what was around; quoted text belongs to the word it stands in."""
        level = self._levels[-1]
        if level.closing == '"':
            self._levels.pop()
            self._add(level.word or "")
            self._level.computed |= level.computed
        else:
            self._end_command()
            self._levels.pop()

    def _add(self, text: str) -> None:
        self._level.word = (self._level.word or "") + text

    def _end_word(self) -> None:
        level = self._level
        if level.word is not None and not level.redirected:
            computed = level.computed and level.word not in ("{", "[", "[[")
            level.words.append(_COMPUTED + level.word if computed else level.word)
        if level.word is not None:
            level.redirected = False
        level.word, level.computed = None, False

    def _end_command(self) -> None:
        self._end_word()
        level = self._level
        level.redirected = False
        if level.words:
            self.commands.append(tuple(level.words))
        level.words = []
