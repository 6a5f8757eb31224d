"""The pieces of a command line, as permissions speak of them. Data only."""

from __future__ import annotations

import re

from attrs import frozen

# Names that no program takes for an order, in front of a command or by themselves.
SAFE_NAMES = re.compile(
    r"CI|CLICOLOR|COLUMNS|DEBUG|FORCE_COLOR|LANG|LANGUAGE|LC_[A-Z]+|LINES|NO_COLOR|NODE_ENV|RUST_LOG"
    r"|PYTHONDONTWRITEBYTECODE|PYTHONUNBUFFERED|RUST_BACKTRACE|TERM|TZ"
)


@frozen
class Word:
    """One word as written, and as the shell would see it; `text` None: only the shell knows."""

    text: str | None
    source: str
    single: bool = True  # unknown, but one word and not several or none
    raw: bool = True  # written without quotes and escapes: it can be a reserved word

    def __str__(self) -> str:
        return self.source


@frozen(kw_only=True)
class File:
    """A file that a redirection opens."""

    word: Word
    writes: bool


@frozen(kw_only=True)
class Command:
    """One simple command. `inner` holds the commands it is given to run, as `sudo` is.

    A `transparent` command does nothing but run them. `opaque` says why it cannot be told what
    they are. `reach` is how many words come before the first inner one.
    """

    words: tuple[Word, ...]
    assignments: tuple[str, ...] = ()  # names set in front, for this command alone
    inner: tuple[Command, ...] = ()
    opaque: str | None = None
    transparent: bool = False
    reach: int = 0
    source: str = ""
    hidden: str | None = None  # why it may run commands that none of its words is
    hidden_at: int = 0  # the word that says so

    def __str__(self) -> str:
        return self.source or " ".join(word.source for word in self.words)

    @property
    def name(self) -> str | None:
        """The program's name without its folder."""
        text = self.words[0].text
        return None if text is None else text.rpartition("/")[2]

    @property
    def literal(self) -> tuple[str, ...] | None:
        """Its words, if all are known."""
        texts = tuple(word.text for word in self.words if word.text is not None)
        return texts if len(texts) == len(self.words) else None

    def everything(self) -> tuple[Command, ...]:
        """Itself and all it is given to run, at any depth."""
        return (self, *(each for one in self.inner for each in one.everything()))


@frozen(kw_only=True)
class Reading:
    """What a line would run. Each field that is not None says why one cannot be sure.

    `doubt`: there may be commands that were not found. `hidden`: it gives a program something to
    run. `altered`: a name may not mean what it says, since the line sets a variable, defines a
    function or changes the shell.
    """

    commands: tuple[Command, ...]
    files: tuple[File, ...]
    doubt: str | None = None
    hidden: str | None = None
    altered: str | None = None
    moves: bool = False  # a command changes the folder, so relative paths are not known

    def everything(self) -> tuple[Command, ...]:
        return tuple(each for one in self.commands for each in one.everything())
