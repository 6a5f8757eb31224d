"""What a caller asks of the agent: the command line's flags and the Python API's arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import field, frozen

from interlock.sandbox.policy import Mode, SandboxSettings
from phases.world.messages import Json

if TYPE_CHECKING:  # the other way round it imports these
    from interlock.agents.definition import AgentDefinition
    from interlock.hooks.hook import Hook
    from interlock.mcp.settings import McpSettings
    from interlock.plugins.plugin import Plugins
    from interlock.skills.skill import Skill


class PermissionMode(StrEnum):
    """What happens to a call that no rule decides."""

    DEFAULT = "default"  # reads inside the working folder run, all else asks
    ACCEPT_EDITS = "acceptEdits"  # file changes inside the working folder run too
    PLAN = "plan"  # reads as in default; what changes anything is denied until a plan is approved
    DONT_ASK = "dontAsk"  # what would be asked is denied
    BYPASS_PERMISSIONS = "bypassPermissions"  # everything runs but what a deny or ask rule names


@frozen(kw_only=True)
class GivenRule:
    """A permission rule of a settings file, and where it stands."""

    behaviour: str  # allow, ask or deny
    text: str
    origin: str  # "project settings, .claude/settings.json:12"


@frozen(kw_only=True)
class Resume:
    """An earlier session to go on with.

    Its model and permission mode come back where the options name none (the mode `default` names
    none), and with `over_…` in any case: what the options say is then no more than a default.
    That all permissions are bypassed never comes back by itself.
    """

    session: str | None = None  # an id, its beginning, a title, a part of one; None: the newest
    fork: bool = False  # go on in a new session, and leave that one as it is
    at: str | None = None  # the message to go on from; what came after it stays, as a branch
    over_model: bool = False
    over_mode: bool = False


@frozen(kw_only=True)
class RemotePlace:
    """Another `interlock serve`, where children can run."""

    url: str
    token_env: str | None = None  # the variable that holds its token; None: the usual one


class Thinking(StrEnum):
    """Whether the model thinks, where the caller has a say in it."""

    ADAPTIVE = "adaptive"
    DISABLED = "disabled"


@frozen(kw_only=True)
class Asking:
    """How the model is asked, beside what it is told. None: as it does by itself."""

    thinking: Thinking | None = None
    thinking_budget: int | None = None  # tokens; for models that take one
    thinking_display: str | None = None  # summarized, or omitted
    effort: str | None = None
    task_budget: int | None = None  # tokens that the model is told it has
    betas: tuple[str, ...] = ()


@frozen(kw_only=True)
class Options:
    """One agent's settings. None means: as the environment or the defaults say."""

    cwd: Path = field(factory=Path.cwd)
    model: str | None = None
    fallback_models: tuple[str, ...] = ()
    max_turns: int | None = None
    max_budget_usd: float | None = None
    token_budget: int | None = None  # output tokens a prompt should use; its own words go first
    system_prompt: str | None = None  # in place of our own
    append_system_prompt: str | None = None
    json_schema: Mapping[str, Json] | None = None  # that the answer is to fit
    answer_check: Callable[[Json], object] | None = None  # beyond it; ValueError says why not
    tools: tuple[str, ...] | None = None  # names on offer; None: all
    allowed_tools: tuple[str, ...] = ()  # "Read", "Bash(git:*)"
    disallowed_tools: tuple[str, ...] = ()
    rules: tuple[GivenRule, ...] = ()  # of settings files; the two above are the flags'
    directories: tuple[Path, ...] = ()  # worked in besides cwd
    notes_excluded: tuple[str, ...] = ()  # patterns of note files that are not read
    auto_memory: bool = True  # the agent keeps notes of its own from session to session
    lent_tools: bool = True  # `allowed-tools` of skills and commands count while these are used
    skill_shell: bool = True  # the commands in their text are run
    memory_folder: Path | None = None  # for these; None: the project's own, in the user's folder
    environment: Mapping[str, str] = field(factory=dict)  # for commands, over this process's own
    permission_mode: PermissionMode = PermissionMode.DEFAULT
    session_id: str | None = None  # of a new session, or of the branch
    resume: Resume | None = None  # None: a new session
    asking: Asking = field(factory=Asking)
    include_partial_messages: bool = False
    record: bool | None = None  # each run, so that it can be run again to the byte
    hooks: tuple[Hook, ...] = ()  # of settings files (interlock.hooks.parse)
    skills: tuple[str, ...] | None = None  # the only ones there are; None: all that are found
    lent_hooks: bool = True  # hooks that agent types and skills bring run
    agents: tuple[AgentDefinition, ...] = ()  # types beside the built-in ones; the last counts
    remotes: Mapping[str, RemotePlace] = field(factory=dict)  # by the names that calls give
    sandbox_mode: Mode | None = None  # None: as `sandbox` says
    sandbox: SandboxSettings = field(factory=SandboxSettings)
    mcp: McpSettings | None = None  # servers whose tools are offered too
    plugins: Plugins | None = None  # that were named, and read
    shipped: tuple[Skill, ...] = ()  # the skills and commands of these
