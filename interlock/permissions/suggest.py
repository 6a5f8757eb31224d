"""The rule that "always" would give: shown before it is given, and never wider than it looks."""

from __future__ import annotations

import re

from interlock.permissions import domains
from interlock.permissions.decision import Question
from interlock.permissions.rules import READERS, WRITERS, Rule
from interlock.permissions.shell import read
from interlock.permissions.updates import Destination

# Programs whose next words say what is done; what follows are its details. Anything that runs
# what it is given (an interpreter, a shell, `git -c`) has no safe beginning.
_BEGINNINGS = (
    r"npm (?:test|ci|ls|outdated|run [\w:.-]+)",
    r"(?:pnpm|yarn) (?:test|lint|build)",
    r"cargo (?:build|check|clippy|doc|fmt|test)",
    r"go (?:build|fmt|test|vet)",
    r"git (?:add|blame|branch|commit|diff|log|show|stash|status|switch)",
    r"(?:make|just) [\w.-]+",
    r"(?:uv|poetry|hatch) run (?:pytest|mypy|ruff)",
    r"(?:black|eslint|flake8|mypy|pyright|pytest|ruff|tsc)",
)
_PATTERN = re.compile(r"[\[\]{}*?]")  # letters of a path that a rule would take for a pattern
_BEGINNING = re.compile("|".join(f"(?:{each})" for each in _BEGINNINGS))


def suggested(question: Question) -> Rule:
    """The narrowest rule that spares the same question the next time."""
    origin = f"{Destination.SESSION.words}, an answer of yours"
    if question.command is not None:
        return _for_line(question.tool, question.command.strip(), origin)
    if question.tool == "WebFetch":
        host = domains.host_of(question.arguments.get("url"))
        if host is not None:
            return Rule(question.tool, f"{domains.PREFIX}{host}", origin)
    if question.tool in READERS | WRITERS:
        return _for_files(question, origin)
    return Rule(question.tool, None, origin)


def told(rule: Rule) -> str:
    """What the rule is about, for the person who would give it."""
    if rule.verbatim:
        return f"this very line: {rule}"
    if rule.plain:
        return f"{rule.tool} in the working folders, files that steer git, a shell or me left out"
    return str(rule)


def _for_files(question: Question, origin: str) -> Rule:
    """Who lets one file be written has not looked at a hook of git, or at one of the home folder;
    who lets one be read that lies outside has seen its name, and no other."""
    if question.tool in READERS and len(question.reads) == 1:
        return Rule(question.tool, f"/{_PATTERN.sub('?', str(question.reads[0]))}", origin)
    return Rule(question.tool, "**", origin, plain=True)


def _for_line(tool: str, line: str, origin: str) -> Rule:
    begin = beginning(line)
    if begin is None:
        return Rule(tool, line, origin, verbatim=True)
    return Rule(tool, f"{begin}:*", origin)


def beginning(line: str) -> str | None:
    """The words that a rule for more than this very line may begin with, if there are any."""
    reading = read(line)
    simple = len(reading.commands) == 1 and not reading.files
    if not simple or reading.doubt or reading.altered or reading.commands[0].assignments:
        return None
    words = reading.commands[0].literal
    if words is None or reading.commands[0].inner or any(" " in word for word in words[:3]):
        return None
    for count in (3, 2, 1):
        begin = " ".join(words[:count])
        if len(words) >= count and _BEGINNING.fullmatch(begin):
            return begin
    return None
