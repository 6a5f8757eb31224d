"""What no options may say: all of it is looked at, so that one error tells all that is wrong."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from inspect import iscoroutinefunction
from os import PathLike
from typing import TYPE_CHECKING

from interlock.agents.definition import AgentDefinition
from interlock.api.answering import AnswerForm
from interlock.api.hooks import FunctionHook, matcher_of
from interlock.configuration import CHOSEN
from interlock.endings import Ending
from interlock.errors import OptionsError, SettingsError, UsageError
from interlock.hooks import HookMatcher, registered
from interlock.options import PermissionMode, Resume
from interlock.permissions import BadRule, Rules
from interlock.sandbox.policy import Mode
from phases.world.states import ENDINGS

if TYPE_CHECKING:
    from interlock.api.options import AgentOptions


def insist_on_sound(options: AgentOptions) -> None:
    """Raise OptionsError with a line for each problem."""
    problems = [
        *_numbers(options),
        *_words(options),
        *_answer(options),
        *_rules(options),
        *_functions(options),
        *_endings(options),
        *_sessions(options),
    ]
    if problems:
        raise OptionsError(problems)


def _numbers(options: AgentOptions) -> Iterator[str]:
    for name in ("max_turns", "token_budget"):
        value = getattr(options, name)
        if value is not None and not (type(value) is int and value >= 1):
            yield f"{name}: {value!r} is no whole number from 1 up"
    budget = options.max_budget_usd
    if budget is not None and not (type(budget) in (int, float) and budget > 0):
        yield f"max_budget_usd: {budget!r} is no amount above 0"


def _words(options: AgentOptions) -> Iterator[str]:
    if not options.cwd.is_dir():
        yield f"cwd: no such folder: {options.cwd}"
    for name in ("directories", "plugins"):
        for folder in getattr(options, name):
            if not folder.is_dir():
                yield f"{name}: no such folder: {folder}"
    if options.permission_mode is not None:
        yield from _one_of("permission_mode", options.permission_mode, tuple(PermissionMode))
    if options.sandbox is not None:
        yield from _one_of("sandbox", options.sandbox, tuple(Mode))
    for source in options.setting_sources or ():
        yield from _one_of("setting_sources", source, CHOSEN)
    settings = options.settings
    if settings is not None and not isinstance(settings, Mapping | str | PathLike):
        yield f"settings: {settings!r} is neither a mapping nor a path"
    for name, value in options.env.items():
        if not (isinstance(name, str) and isinstance(value, str)):
            yield f"env: {name!r} is set to {value!r}; names and values are text"


def _answer(options: AgentOptions) -> Iterator[str]:
    if options.answer is None:
        return
    try:
        AnswerForm(options.answer)
    except UsageError as error:
        yield str(error)


def _one_of(name: str, value: object, known: tuple[str, ...]) -> Iterator[str]:
    if value in known:
        return
    near = get_close_matches(str(value), known, n=1)
    mend = f"did you mean {str(near[0])!r}?" if near else f"there are {', '.join(known)}"
    yield f"{name}: no {value!r}; {mend}"


def _rules(options: AgentOptions) -> Iterator[str]:
    for name in ("allowed_tools", "disallowed_tools"):
        for text in getattr(options, name):
            try:
                Rules.parse([text])
            except BadRule as error:
                yield f"{name}: {error}"


def _functions(options: AgentOptions) -> Iterator[str]:
    for name in ("can_use_tool", "on_question"):
        value = getattr(options, name)
        if value is not None and not callable(value):
            yield f"{name}: {value!r} is no function"
    for number, one in enumerate(options.hooks):
        where = f"hooks[{number}]"
        if not isinstance(one, FunctionHook | HookMatcher):
            yield f"{where}: {one!r} is no hook; decorate it: @hook('PreToolUse')"
            continue
        try:
            registered((matcher_of(one),))
        except SettingsError as error:
            yield str(error).replace("hooks[0]", where, 1)
    for agent in options.agents:
        if not isinstance(agent, AgentDefinition):
            yield f"agents: {agent!r} is no AgentDefinition"


def _endings(options: AgentOptions) -> Iterator[str]:
    names: list[str] = []
    for one in options.endings:
        if not isinstance(one, Ending) or not callable(one.when):
            yield f"endings: {one!r} is no Ending(name, when)"
        elif iscoroutinefunction(one.when):
            yield f"endings: the rule of {one.name!r} is async; rules are plain functions"
        elif not one.name.strip() or one.name in ENDINGS:
            yield f"endings: {one.name!r} is the table's own name, or empty; choose another"
        elif one.name in names:
            yield f"endings: two are called {one.name!r}"
        else:
            names.append(one.name)


def _sessions(options: AgentOptions) -> Iterator[str]:
    if options.session_id is not None and not _is_uuid(options.session_id):
        yield f"session_id: {options.session_id!r} is no UUID"
    resume = options.resume
    if not (resume is None or isinstance(resume, str | Resume)):
        yield f"resume: {resume!r} is no session; give an id, a title, or Resume()"
    goes_on = resume is not None and not (isinstance(resume, Resume) and resume.fork)
    if options.session_id is not None and goes_on:
        yield "session_id: a session that is resumed has its id; fork it: Resume(…, fork=True)"


def _is_uuid(text: str) -> bool:
    try:
        uuid.UUID(text)
    except (ValueError, AttributeError, TypeError):
        return False
    return True
