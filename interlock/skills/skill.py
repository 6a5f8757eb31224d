"""A skill or a slash command: instructions in a file, under a name.

A command is one file; a skill is a folder with `SKILL.md` and what belongs to it. Both have the
same front matter, and both can be called by a person (`/name`) and by the model (the Skill tool).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from enum import StrEnum
from pathlib import Path

from attrs import field, frozen

from interlock.front_matter import Fronted, fronted
from interlock.regular_files import read_regular
from interlock.skills.mistyped import argument_words, mistyped, texts
from phases.world.messages import Json

# As other tools write it.
_KNOWN = """
    name description when_to_use argument-hint arguments allowed-tools disable-model-invocation
    user-invocable model context agent effort hooks paths shell version license compatibility
    metadata
"""
KNOWN = frozenset(_KNOWN.split())
EFFORTS = ("low", "medium", "high", "xhigh", "max")
LARGEST = 200_000  # bytes of a file of instructions; a person writes no more
_NAME = re.compile(r"[A-Za-z][\w-]*(?::[\w-]+)*")
_NO_MODEL = frozenset({"inherit", "default"})  # the one that is in use


@frozen
class Oddity:
    """What is odd in a file, for a person; `line` is where, if that is known."""

    words: str
    line: int | None = None


class Kind(StrEnum):
    SKILL = "skill"
    COMMAND = "command"


@frozen(kw_only=True)
class Skill:
    """What its front matter says. The instructions themselves are read when it is used."""

    name: str
    kind: Kind
    path: Path
    origin: str  # user, project or "plugin NAME"
    description: str = ""
    argument_hint: str = ""
    argument_names: tuple[str, ...] = ()
    allowed_tools: tuple[str, ...] = ()  # rules that hold while it is in use
    model: str | None = None  # of the prompt in which a person calls it, or of its own agent
    forks: bool = False  # it runs as an agent of its own
    agent: str | None = None  # the type of that; None: the general one
    effort: str | None = None  # one of EFFORTS: how much is spent on that prompt, or agent
    hooks: Mapping[str, Json] = field(factory=dict)  # that run while it is in use, unread
    paths: tuple[str, ...] = ()  # patterns: it is told once such files are worked with
    runs: bool = True  # the commands in its text; False: they are written for another shell
    by_model: bool = True
    by_user: bool = True
    home: Path | None = None  # the folder of the plugin it comes with
    variables: Mapping[str, str] = field(factory=dict)  # `${NAME}` in it, beside the usual ones
    problems: tuple[Oddity, ...] = ()

    @property
    def folder(self) -> Path | None:
        """Where the files that belong to it lie; a command has none."""
        return self.path.parent if self.kind is Kind.SKILL else None

    @property
    def listed(self) -> bool:
        """Whether the model is told of it."""
        return self.by_model and bool(self.description)


class Unreadable(Exception):
    """A file that is no skill; the text says why, for a person."""


def load(path: Path, *, name: str, kind: Kind, origin: str) -> Skill:
    """Read what a file says of itself. `name` is what it is called where it says nothing.

    Raises Unreadable. What is merely odd is a problem of the skill, which works all the same.
    """
    front = read(path)
    problems = [Oddity(front.problem, 1)] if front.problem else []
    named = front.text("name") if kind is Kind.SKILL else None
    if named is not None and not _NAME.fullmatch(named):
        words = f"its name {named!r} cannot be typed as a command; it is called {name}"
        problems.append(Oddity(words, front.line_of("name")))
        named = None
    if not _NAME.fullmatch(named or name):
        raise Unreadable(f"{name!r} is no name: write letters, digits, _ and -")
    problems += _odd(front)
    problems += [Oddity(words, front.line_of(key)) for key, words in mistyped(front)]
    model = front.text("model") if isinstance(front.fields.get("model"), str) else None
    about = front.text("description") or _first_line(front.body)
    when = front.text("when_to_use")
    # What a command says below is not written to be found by: only its own description counts.
    shown = about if kind is Kind.SKILL or front.text("description") else ""
    return Skill(
        name=named or name,
        kind=kind,
        path=path,
        origin=origin,
        description=" ".join(filter(None, (shown, when))),
        argument_hint=_hint(front),
        argument_names=_argument_names(front),
        allowed_tools=_allowed(front),
        model=None if model in _NO_MODEL else model,
        forks=front.text("context") == "fork",
        agent=front.text("agent") if isinstance(front.fields.get("agent"), str) else None,
        effort=_effort(front),
        hooks=_hooks(front),
        paths=front.words("paths"),
        runs=_shell(front) == "bash",
        by_model=not front.switch("disable-model-invocation", False),
        by_user=front.switch("user-invocable", True),
        problems=tuple(problems),
    )


def read(path: Path) -> Fronted:
    """The file, taken apart. Raises Unreadable."""
    try:
        data = read_regular(path, LARGEST + 1)
    except OSError as error:
        raise Unreadable(f"it cannot be read: {error.strerror or error}") from error
    if b"\0" in data:
        raise Unreadable("it is no text")
    if len(data) > LARGEST:
        raise Unreadable(f"it is larger than {LARGEST:,} bytes; put details into files beside it")
    return fronted(data.decode("utf-8-sig", "replace"))


def _odd(front: Fronted) -> Iterator[Oddity]:
    for key in front.fields:
        if key not in KNOWN:
            near = get_close_matches(key, KNOWN, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            yield Oddity(f"{key}: no such key, it has no effect{hint}", front.line_of(key))
    context, effort = front.text("context"), front.text("effort")
    if context not in (None, "fork"):
        words = f"context {context!r} is unknown, and has no effect; there is fork"
        yield Oddity(words, front.line_of("context"))
    if front.text("agent") and context != "fork":
        words = "agent: has no effect without context: fork"
        yield Oddity(words, front.line_of("agent"))
    if effort not in (None, *EFFORTS):
        words = f"effort {effort!r} is unknown, and has no effect; there are {', '.join(EFFORTS)}"
        yield Oddity(words, front.line_of("effort"))
    if front.fields.get("hooks") and not _hooks(front):
        words = "hooks: no object with events, it has no effect"
        yield Oddity(words, front.line_of("hooks"))
    if _shell(front) != "bash":
        words = f"shell {_shell(front)!r}: there is bash alone; commands in the text are not run"
        yield Oddity(words, front.line_of("shell"))
    for key in ("disable-model-invocation", "user-invocable"):
        if key in front.fields and front.switch(key, True) is not front.switch(key, False):
            words = f"{key} is {front.fields[key]!r}, and has no effect; write true or false"
            yield Oddity(words, front.line_of(key))


def _effort(front: Fronted) -> str | None:
    named = front.text("effort")
    return named if named in EFFORTS else None


def _shell(front: Fronted) -> str:
    return (front.text("shell") or "bash").lower()


def _hooks(front: Fronted) -> Mapping[str, Json]:
    given = front.fields.get("hooks")
    return given if isinstance(given, dict) else {}


def _allowed(front: Fronted) -> tuple[str, ...]:
    """Kept as written: a rule may hold commas and blanks in its brackets."""
    return texts(front, "allowed-tools")


def _hint(front: Fronted) -> str:
    """`[issue] [priority]` is a list for YAML, and meant as it stands."""
    given = front.fields.get("argument-hint")
    if isinstance(given, list):
        return f"[{', '.join(map(str, given))}]"
    return front.text("argument-hint") or ""


def _argument_names(front: Fronted) -> tuple[str, ...]:
    return tuple(word for word in argument_words(front) if word.isidentifier())


def _first_line(body: str) -> str:
    lines = (line.strip().lstrip("#").strip() for line in body.splitlines())
    return next((line for line in lines if line), "")
