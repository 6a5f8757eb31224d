"""Rules: `Tool` or `Tool(specifier)`, as people write them in flags and settings files.

    Bash(git status)     this command, word for word
    Bash(git push:*)     commands that begin with these words
    Bash(npm run *)      `*` stands for anything
    Edit(src/**)         file changes; Read(...) is about everything that reads files

A path counts from the working folder; `//` begins an absolute path, `~/` the home folder. A
pattern without a slash matches at any depth, and a folder that matches covers what is in it.
"""

from __future__ import annotations

import fnmatch
import re
import sys
from collections.abc import Iterable
from pathlib import Path

from attrs import field, frozen

from interlock.permissions import lines
from interlock.permissions.decision import Question
from interlock.permissions.globs import BadPattern, compiled

# A rule about paths speaks of what is done to a file, not of one tool only.
READERS = frozenset({"Read", "Glob", "Grep"})
WRITERS = frozenset({"Edit", "Write"})
_GROUPS = {"Read": READERS, "Edit": WRITERS, "Write": frozenset({"Write"})}
_RULE = re.compile(r"(?P<tool>[^\s(),]+)(?:\((?P<specifier>.*)\))?", re.DOTALL)
_IGNORES_CASE = sys.platform in ("darwin", "win32")


class BadRule(ValueError):
    """A rule that cannot be read: refused at the start rather than never matched."""


@frozen
class Rule:
    """One rule. `specifier` None means every call of the tool."""

    tool: str
    specifier: str | None = None

    def __str__(self) -> str:
        return self.tool if self.specifier is None else f"{self.tool}({self.specifier})"

    @classmethod
    def parse(cls, text: str) -> Rule:
        match = _RULE.fullmatch(text.strip())
        if match is None:
            raise BadRule(f"{text!r} is no rule: write Tool or Tool(specifier)")
        specifier = match["specifier"]
        if specifier is not None and specifier.strip() in ("", "*"):
            specifier = None
        rule = cls(match["tool"], specifier)
        if specifier is not None and rule.about_paths:
            try:
                compiled(_relative(specifier)[0])
            except BadPattern as error:
                raise BadRule(f"{text!r}: {error}") from error
        return rule

    @property
    def about_paths(self) -> bool:
        return self.tool in READERS | WRITERS

    def names(self, question: Question) -> bool:
        """Whether the rule names the tool and nothing more."""
        return self.specifier is None and self.tool == question.tool


@frozen(kw_only=True)
class Rules:
    """Deny beats ask beats allow. A specifier on a tool this module does not know matches no
    call that it would allow, and every call that it would forbid."""

    allow: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = field(default=())

    @classmethod
    def parse(
        cls, allow: Iterable[str] = (), deny: Iterable[str] = (), ask: Iterable[str] = ()
    ) -> Rules:
        return cls(
            allow=tuple(rule for text in allow for rule in parsed(text)),
            ask=tuple(rule for text in ask for rule in parsed(text)),
            deny=tuple(rule for text in deny for rule in parsed(text)),
        )

    def strangers(self, known: Iterable[str]) -> tuple[str, ...]:
        """The words that name none of the `known` tools and no tool of an MCP server."""
        names = frozenset(known)
        rules = (*self.allow, *self.ask, *self.deny)
        return tuple(
            dict.fromkeys(
                rule.tool
                for rule in rules
                if rule.tool not in names and not rule.tool.startswith("mcp__")
            )
        )


def parsed(text: str) -> tuple[Rule, ...]:
    """The rules of a flag's value: separated by commas or blanks outside brackets."""
    found, begun, depth = [], "", 0
    for letter in text:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth <= 0 and (letter == "," or letter.isspace()):
            found.append(begun)
            begun = ""
        else:
            begun += letter
    return tuple(Rule.parse(one) for one in [*found, begun] if one.strip())


# --- paths -----------------------------------------------------------------------------------


def permits(rule: Rule, question: Question, root: Path) -> bool:
    """Whether an allow rule matches: every path of the call must be covered, as a real path."""
    if rule.names(question):
        return True
    if rule.specifier is None:
        return False
    if question.command is not None:
        return rule.tool == question.tool and _is_command(rule.specifier, question.command)
    if question.tool not in _GROUPS.get(rule.tool, ()):
        return False
    paths = (*question.reads, *question.writes)
    return bool(paths) and all(covers(rule.specifier, path, root) for path in paths)


def forbids(rule: Rule, question: Question, root: Path) -> bool:
    """Whether a deny or ask rule matches: one path, by its real or its written name, is enough."""
    if rule.names(question):
        return True
    if rule.specifier is None:
        return False
    if question.command is not None:
        return rule.tool == question.tool and _runs_command(rule.specifier, question.command)
    if not rule.about_paths:
        return rule.tool == question.tool
    # What must not be read must not be changed either: an edit shows the lines around it.
    group = READERS | WRITERS if rule.tool in READERS else _GROUPS[rule.tool]
    paths = (*question.reads, *question.writes, *question.named)
    return question.tool in group and any(
        covers(rule.specifier, path, root, either=True) for path in paths
    )


def covers(specifier: str, path: Path, root: Path, either: bool = False) -> bool:
    """Whether a path pattern covers a path. `either`: read a leading `/` in both ways."""
    readings = [_relative(specifier)]
    if either and specifier.startswith("/") and not specifier.startswith("//"):
        readings.append((specifier, Path("/")))
    for pattern, anchor in readings:
        top = anchor or root
        for base in dict.fromkeys((top, Path(top).resolve())):
            if path.is_relative_to(base):
                parts = path.relative_to(base).parts
                if compiled(pattern, _IGNORES_CASE).covers(parts):
                    return True
    return False


def _relative(specifier: str) -> tuple[str, Path | None]:
    """The pattern, and the folder it counts from; None for the working folder."""
    if specifier.startswith("//"):
        return "/" + specifier.lstrip("/"), Path("/")
    if specifier.startswith("~/"):
        return specifier[1:], Path.home()
    return (specifier[1:] if specifier.startswith("./") else specifier), None


# --- commands --------------------------------------------------------------------------------


def _is_command(specifier: str, line: str) -> bool:
    """Whether the whole line is one simple command that the specifier names."""
    if line.strip() == specifier.strip() and not specifier.endswith(":*"):
        return True  # the very line that someone wrote into a rule
    words = lines.plain(line)
    return words is not None and _matches(specifier, words)


def _runs_command(specifier: str, line: str) -> bool:
    found = lines.commands(line)
    return line.strip() == specifier.strip() or any(
        _matches(specifier, (words[0].rpartition("/")[2], *words[1:]))
        or _matches(specifier, words)
        for words in found.commands
    )


def _matches(specifier: str, words: lines.Words) -> bool:
    """Word by word, so that `ls` is not `lsof`."""
    for ending in (":*", " *"):
        if specifier.endswith(ending) and "*" not in specifier.removesuffix(ending):
            begin = tuple(specifier.removesuffix(ending).split())
            return words[: len(begin)] == begin
    if "*" in specifier:
        pattern = specifier.removesuffix(":*") + (" *" if specifier.endswith(":*") else "")
        return fnmatch.fnmatchcase(" ".join(words), re.sub(r"([\[?])", r"[\1]", pattern))
    return words == (lines.plain(specifier) or tuple(specifier.split()))
