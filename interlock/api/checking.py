"""What no options may say: all of it is looked at, so that one error tells all that is wrong.

The kinds of values are read from the fields' own types; here is what a value of the right kind
may not be. Each check is given the field's place and its value.
"""

from __future__ import annotations

import math
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from inspect import iscoroutinefunction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from interlock.api.answering import AnswerForm
from interlock.api.hooks import FunctionHook, matcher_of
from interlock.configuration import CHOSEN
from interlock.endings import Ending
from interlock.errors import OptionsError, SettingsError, UsageError
from interlock.fitting import misfit_fields
from interlock.hooks import HookMatcher, registered
from interlock.options import PermissionMode, Resume
from interlock.permissions import BadRule, Rules
from interlock.sandbox.policy import Mode
from interlock.tools.registry import names as tool_names
from phases.world.states import ENDINGS

if TYPE_CHECKING:
    from interlock.api.options import AgentOptions


def insist_on_sound(options: AgentOptions) -> None:
    """Raise OptionsError with a line for each problem."""
    problems = list(misfit_fields(options, type(options)))
    strange = {_END_OF_NAME.split(line, 1)[0] for line in problems}  # a line begins with its field
    for name, check in _CHECKS.items():
        value = getattr(options, name)
        if value is not None and name not in strange:
            problems += check(name, value)
    if not {"tools", "built_in_tools"} & strange:
        problems += _offer(options)
    if not {"session_id", "resume"} & strange:
        problems += _session(options)
    if problems:
        raise OptionsError(problems)


def _count(where: str, value: int) -> Iterator[str]:
    if value < 1:
        yield f"{where}: {value} is no whole number from 1 up"


def _money(where: str, value: float) -> Iterator[str]:
    if not (value > 0 and math.isfinite(value)):
        yield f"{where}: {value} is no amount above 0"


def _folder(where: str, value: Path) -> Iterator[str]:
    try:
        there = value.is_dir()
    except OSError:  # a name that is too long, a folder that may not be looked into
        there = False
    if not there:
        yield f"{where}: no such folder: {value}"


def _name(where: str, value: str) -> Iterator[str]:
    """What goes to the API as one word."""
    if not value.strip():
        yield f"{where}: it is empty; leave it out, or name one"
    elif not value.isprintable():
        yield f"{where}: {value!r} holds a line end or a control character; take it out"


def _key(where: str, value: str) -> Iterator[str]:
    if not value.isprintable():
        yield f"{where}: it holds a line end or a control character; take it out"


def _one_of(known: Sequence[str], where: str, value: str) -> Iterator[str]:
    if value in known:
        return
    near = get_close_matches(value, known, n=1)
    mend = f"did you mean {str(near[0])!r}?" if near else f"there are {', '.join(known)}"
    yield f"{where}: no {value!r}; {mend}"


def _each(
    check: Callable[[str, Any], Iterator[str]], where: str, values: Sequence[object]
) -> Iterator[str]:
    for value in values:
        yield from check(where, value)


def _variables(where: str, value: Mapping[str, str]) -> Iterator[str]:
    for name, text in value.items():
        if not name or "=" in name or "\0" in name + text:
            yield f"{where}: {name!r} can be no variable: a name has no =, and neither part a NUL"


def _answer(where: str, value: object) -> Iterator[str]:
    try:
        AnswerForm(value)
    except UsageError as error:
        yield str(error)


def _rule(where: str, text: str) -> Iterator[str]:
    try:
        Rules.parse([text])
    except BadRule as error:
        yield f"{where}: {error}"


def _hooks(where: str, hooks: Sequence[FunctionHook | HookMatcher]) -> Iterator[str]:
    for number, one in enumerate(hooks):
        try:
            registered((matcher_of(one),))
        except SettingsError as error:
            yield str(error).replace("hooks[0]", f"{where}[{number}]", 1)


def _endings(where: str, endings: Sequence[Ending]) -> Iterator[str]:
    names: list[str] = []
    for one in endings:
        if iscoroutinefunction(one.when):
            yield f"{where}: the rule of {one.name!r} is async; rules are plain functions"
        elif not one.name.strip() or one.name in ENDINGS:
            yield f"{where}: {one.name!r} is the table's own name, or empty; choose another"
        elif one.name in names:
            yield f"{where}: two are called {one.name!r}"
        else:
            names.append(one.name)


def _uuid(where: str, value: str) -> Iterator[str]:
    try:
        uuid.UUID(value)
    except ValueError:
        yield f"{where}: {value!r} is no UUID"


_END_OF_NAME = re.compile(r"\W")
_CHECKS: Mapping[str, Callable[[str, Any], Iterator[str]]] = {
    "cwd": _folder,
    "directories": partial(_each, _folder),
    "plugins": partial(_each, _folder),
    "model": _name,
    "fallback_models": partial(_each, _name),
    "answer": _answer,
    "max_turns": _count,
    "token_budget": _count,
    "max_budget_usd": _money,
    "permission_mode": partial(_one_of, tuple(PermissionMode)),
    "allowed_tools": partial(_each, _rule),
    "disallowed_tools": partial(_each, _rule),
    "sandbox": partial(_one_of, tuple(Mode)),
    "hooks": _hooks,
    "endings": _endings,
    "session_id": _uuid,
    "setting_sources": partial(_each, partial(_one_of, CHOSEN)),
    "env": _variables,
    "api_key": _key,
}


def _offer(options: AgentOptions) -> Iterator[str]:
    """Of tools: each has a name of its own, and one that is asked for is there."""
    if not options.tools and not options.built_in_tools:
        return
    from interlock.mcp.names import PREFIX  # with all of MCP behind it

    known = tool_names()
    own: set[str] = set()
    for one in options.tools:
        if one.name in known:
            yield f"tools: {one.name} is the name of one of ours; give yours another"
        if one.name in own:
            yield f"tools: two are called {one.name}; give one another name"
        own.add(one.name)
    for name in options.built_in_tools or ():
        if not name.startswith(PREFIX):
            yield from _one_of(sorted(known | own), "built_in_tools", name)


def _session(options: AgentOptions) -> Iterator[str]:
    """Of both together: what is resumed has its id."""
    resume = options.resume
    goes_on = resume is not None and not (isinstance(resume, Resume) and resume.fork)
    if options.session_id is not None and goes_on:
        yield "session_id: a session that is resumed has its id; fork it: Resume(…, fork=True)"
