"""All that a program can ask of an agent, in one value; a plain one needs none of it.

What the command line has a flag for is here under the flag's name; what only code can give
(functions, tools, hooks, endings) beside it. Checked when it is made, so that what is wrong is
told where it was written; what it becomes is `opening`'s affair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, TypeAlias, TypeVar, cast

from attrs import field, frozen

from interlock.agents.definition import AgentDefinition
from interlock.api.asking import CanUseTool, OnQuestion
from interlock.api.hooks import FunctionHook
from interlock.endings import Ending
from interlock.errors import OptionsError
from interlock.fitting import Else
from interlock.hooks import HookMatcher
from interlock.options import Asking, PermissionMode, Resume
from interlock.tools import BadTool, Tool, tool
from phases.world.ports import Clock

T = TypeVar("T")
Names: TypeAlias = Iterable[str] | str  # one name, or several
AnyPath: TypeAlias = str | PathLike[str]
OneHook: TypeAlias = Annotated[
    FunctionHook | HookMatcher, Else("is no hook; decorate it: @hook('PreToolUse')")
]
OneResume: TypeAlias = Annotated[
    Resume | str | None, Else("is no session; give an id, a title, or Resume()")
]


def _no_tool(given: Any) -> str:
    if isinstance(given, type) and issubclass(given, Tool):
        return f"is a class; give a tool of it: {given.__name__}()"
    try:
        return f"is no tool: {tool(given)}"
    except BadTool as error:
        return f"cannot be a tool: {error}"


OneTool: TypeAlias = Annotated[Tool, Else(_no_tool)]


# What is given comes as it is handy, and is kept as one type. What makes none of it stays as it
# is: the check below says so of all fields at once.


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise OptionsError(
            [f"cwd: this folder is gone ({error.strerror}); name another"]
        ) from None


def as_path(given: AnyPath) -> Path:
    try:
        return Path(given).expanduser()
    except (TypeError, RuntimeError):  # RuntimeError: of `~nobody`
        return cast("Path", given)


def maybe_path(given: AnyPath | None) -> Path | None:
    return None if given is None else as_path(given)


def _listed(given: Iterable[T]) -> tuple[T, ...]:
    wrong = isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable)
    return cast("tuple[T, ...]", given) if wrong else tuple(given)


def _paths(given: Iterable[AnyPath]) -> tuple[Path, ...]:
    paths = (given,) if isinstance(given, str) else _listed(given)
    return tuple(map(as_path, paths)) if isinstance(paths, tuple) else paths


def _names(given: Names) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else _listed(given)


def _maybe_names(given: Names | None) -> tuple[str, ...] | None:
    return None if given is None else _names(given)


def _tools(given: Iterable[Tool | Callable[..., Any]]) -> tuple[Tool, ...]:
    """Plain functions become tools, with the careful defaults."""
    found = _listed(given)
    return tuple(map(_tool, found)) if isinstance(found, tuple) else found


def _tool(given: Tool | Callable[..., Any]) -> Tool:
    if isinstance(given, Tool) or (isinstance(given, type) and issubclass(given, Tool)):
        return cast("Tool", given)
    try:
        return tool(given)
    except BadTool:
        return cast("Tool", given)


def _hooks(given: Iterable[FunctionHook | HookMatcher]) -> tuple[FunctionHook | HookMatcher, ...]:
    return _listed(given)


def _endings(given: Iterable[Ending]) -> tuple[Ending, ...]:
    return _listed(given)


def _agents(given: Iterable[AgentDefinition]) -> tuple[AgentDefinition, ...]:
    return _listed(given)


def _mode(given: PermissionMode | str | None) -> PermissionMode | str | None:
    if isinstance(given, str) and given in set(PermissionMode):
        return PermissionMode(given)
    return given


def _resume(given: Resume | str | None) -> Resume | str | None:
    return given


@frozen(kw_only=True)
class AgentOptions:
    """One agent's options. None means: as settings files, the environment or the defaults say.

    Raises OptionsError, with a line for each thing that is wrong.
    """

    cwd: Path = field(factory=_here, converter=as_path)
    model: str | None = None
    fallback_models: tuple[str, ...] = field(default=(), converter=_names)
    system_prompt: str | None = None  # in place of our own
    append_system_prompt: str | None = None

    # The form of the answer: a type (a pydantic model, a dataclass, list[str], ...) or a JSON
    # Schema; `Result.answer` holds it.
    answer: Any = None

    max_turns: int | None = None
    max_budget_usd: float | None = None
    token_budget: int | None = None  # output tokens a prompt should use

    # Your own: functions with `@tool`, or typed functions as they are.
    tools: tuple[OneTool, ...] = field(default=(), converter=_tools)
    # Names of those of ours that are on offer; None: all, `()`: none.
    built_in_tools: tuple[str, ...] | None = field(default=None, converter=_maybe_names)
    # By name: a definition as `.mcp.json` has it, or a server of the package `mcp` itself.
    mcp_servers: Mapping[str, Any] = field(factory=dict)
    agents: tuple[AgentDefinition, ...] = field(default=(), converter=_agents)

    permission_mode: PermissionMode | str | None = field(default=None, converter=_mode)
    allowed_tools: tuple[str, ...] = field(default=(), converter=_names)  # "Bash(git:*)", "Edit"
    disallowed_tools: tuple[str, ...] = field(default=(), converter=_names)
    directories: tuple[Path, ...] = field(default=(), converter=_paths)  # worked in besides cwd
    sandbox: str | None = None  # "off", "auto", "required"
    can_use_tool: CanUseTool | None = None  # asked where nothing decides; None: that is denied
    on_question: OnQuestion | None = None  # answers what the model asks; None: nobody does
    hooks: tuple[OneHook, ...] = field(default=(), converter=_hooks)
    endings: tuple[Ending, ...] = field(default=(), converter=_endings)

    plugins: tuple[Path, ...] = field(default=(), converter=_paths)  # folders, one each
    skills: tuple[str, ...] | None = field(default=None, converter=_maybe_names)  # only these
    asking: Asking = field(factory=Asking)  # thinking, effort, betas

    session_id: str | None = None  # a UUID, of a new session or of a branch
    # A session to go on with: its id, its title or a part of one; `Resume()`: the newest.
    resume: OneResume = field(default=None, converter=_resume)
    partial_messages: bool = False  # text as it arrives, too
    raw_events: bool = False  # each event of the Messages API's stream, too
    record: bool | None = None  # so that the run can be run again to the byte

    settings: Mapping[str, Any] | AnyPath | None = None  # over those of files
    setting_sources: tuple[str, ...] | None = field(default=None, converter=_maybe_names)
    env: Mapping[str, str] = field(factory=dict, repr=False)  # over this process's own
    api_key: str | None = field(default=None, repr=False)
    base_url: str | None = None
    home: Path | None = field(default=None, converter=maybe_path)  # for sessions and settings
    clock: Clock | None = field(default=None, repr=False, eq=False)  # for tests

    def __attrs_post_init__(self) -> None:
        from interlock.api.checking import insist_on_sound

        insist_on_sound(self)
