"""Files, flags and environment in, Options and Settings out: what `assembly` builds from.

For every door that lets settings files count. Runs `apiKeyHelper`, if there is need for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import attrs
from attrs import frozen

from interlock.agents import files as agent_files
from interlock.agents.definition import AgentDefinition
from interlock.configuration import (
    MANAGED_FOLDERS,
    Configuration,
    Flags,
    Source,
    StandingRule,
    load,
)
from interlock.errors import ConfigurationError, SettingsError, UsageError
from interlock.home import home_of
from interlock.hooks import Hook, idle
from interlock.hooks import parse as parse_hooks
from interlock.key_helper import key_from
from interlock.mcp.settings import McpSettings
from interlock.mcp_files import Allowed, servers
from interlock.memory import Withheld
from interlock.memory.files import LOCAL, Places
from interlock.options import GivenRule, Options
from interlock.permissions import BadRule, Rule, Rules
from interlock.permissions.explain import judge_of
from interlock.permissions.paths import expanded_home
from interlock.sandbox import BadSandbox, SandboxSettings, ignored, tightening
from interlock.sandbox import parse as parse_sandbox
from interlock.settings import Settings
from interlock.tools import meant
from interlock.tools import names as tool_names

SKILLS = {Source.USER, Source.PROJECT}  # where skills may come from


@frozen(kw_only=True)
class Configured:
    """One session's options and settings, and what they were made from."""

    options: Options
    settings: Settings
    configuration: Configuration


@frozen(kw_only=True)
class _Parts:
    """What the files say where words of their own have to be understood."""

    rules: tuple[GivenRule, ...]
    hooks: tuple[Hook, ...]
    sandbox: SandboxSettings
    agents: tuple[AgentDefinition, ...]
    mcp: McpSettings
    warnings: tuple[str, ...]


def configured(
    options: Options,
    flags: Flags,
    environ: Mapping[str, str],
    *,
    managed: Sequence[Path] = MANAGED_FOLDERS,
    key: bool = True,
) -> Configured:
    """`options` with what files and environment add. Raises ConfigurationError, SettingsError.

    Without `key`, no `apiKeyHelper` is run: for those who only look.
    """
    cwd = options.cwd.resolve()
    found = load(cwd, home_of(environ), flags=flags, environ=environ, managed=managed)
    parts = _parts(found, options, flags, environ)
    found = attrs.evolve(found, warnings=(*found.warnings, *parts.warnings))
    settings = settings_of(found)
    helper = found.api_key_helper
    if key and helper is not None and settings.api_key is None and settings.auth_token is None:
        settings = attrs.evolve(settings, api_key=key_from(helper, found.environ, cwd))
    made = Configured(
        options=_options(options, parts, found, flags, settings),
        settings=settings,
        configuration=found,
    )
    if options.plugins is None:
        return made
    from interlock.plugged import plugged_into  # here: most sessions have none

    return plugged_into(made, flags, only=options.skills)


def _parts(
    found: Configuration, options: Options, flags: Flags, environ: Mapping[str, str]
) -> _Parts:
    """Raises ConfigurationError with everything that cannot be understood."""
    cwd = options.cwd.resolve()
    problems = [problem for rule in found.permissions if (problem := _unreadable(rule))]
    hooks, never_run = _hooks(found, problems)
    sandbox, unheard = _sandbox(found, problems)
    if problems:
        raise ConfigurationError(problems)
    rules = tuple(counted for rule in found.permissions for counted in _counted(rule, cwd))
    agents = agent_files.found(
        cwd,
        home_of(environ),
        user=Source.USER in flags.sources,
        project=Source.PROJECT in flags.sources,
        withheld=_withheld(options, rules),
    )
    mcp = _mcp(found, flags, cwd, home_of(found.environ))
    return _Parts(
        rules=rules,
        hooks=hooks,
        sandbox=sandbox,
        agents=tuple(agents.types.values()),
        mcp=mcp,
        warnings=(*agents.warnings, *never_run, *_strange(found), *unheard, *mcp.warnings),
    )


def _options(
    options: Options, parts: _Parts, found: Configuration, flags: Flags, settings: Settings
) -> Options:
    """What was said beside the files stands in front of what they say, or behind it."""
    env = {name: one.value for name, one in found.env.items()}
    remotes = {name: one.value for name, one in found.remotes.items()}
    fallbacks, shell_off = found.fallback_models, found.skill_shell_off
    return attrs.evolve(
        options,
        model=found.model.value if found.model else options.model,
        fallback_models=fallbacks.value if fallbacks else options.fallback_models,
        permission_mode=found.default_mode.value,
        # Where managed rules alone may allow, a flag may not either.
        allowed_tools=() if found.managed_rules_only else options.allowed_tools,
        rules=(*options.rules, *parts.rules),
        directories=(*options.directories, *(one.value for one in found.directories)),
        environment=env | {**options.environment},
        hooks=(*parts.hooks, *options.hooks),
        lent_hooks=found.lent_hooks,
        agents=(*parts.agents, *options.agents),
        remotes=remotes | {**options.remotes},
        sandbox=parts.sandbox,
        notes_excluded=(
            *(one.value for one in found.notes_excluded),
            *_notes_unwanted(flags, options.cwd.resolve(), settings.home),
        ),
        skills=options.skills if SKILLS & {*flags.sources} else (),
        auto_memory=_auto_memory(found, settings),
        memory_folder=_memory_folder(found),
        lent_tools=not found.managed_rules_only,
        skill_shell=shell_off is None or not shell_off.value,
        mcp=parts.mcp or None,
    )


def _notes_unwanted(flags: Flags, cwd: Path, home: Path) -> Iterator[str]:
    """Patterns of the note files whose source is not to be read."""
    if Source.USER not in flags.sources:
        yield f"{_quoted(home)}/**"
    if Source.PROJECT not in flags.sources:
        yield f"{_quoted(Places(cwd=cwd, home=home).top)}/**"
    if Source.LOCAL not in flags.sources:
        yield f"**/{LOCAL}"


def _withheld(options: Options, rules: tuple[GivenRule, ...]) -> Withheld:
    """Which files must not be told unasked. Raises UsageError for a flag that is no rule."""
    try:
        return judge_of(attrs.evolve(options, rules=(*options.rules, *rules))).withholds
    except BadRule as error:
        raise UsageError(str(error)) from error


def _auto_memory(found: Configuration, settings: Settings) -> bool:
    """A variable goes before files, but not before managed ones."""
    said, variable = found.auto_memory, settings.auto_memory
    if said is None or (variable is not None and said.origin.source is not Source.MANAGED):
        return variable is not False
    return said.value


def _memory_folder(found: Configuration) -> Path | None:
    named = found.memory_folder
    return None if named is None else expanded_home(Path(named.value)).absolute()


def settings_of(found: Configuration) -> Settings:
    """The settings in force. Raises ConfigurationError, or SettingsError for the environment's."""
    try:
        return Settings.of(found.environ)
    except SettingsError as error:
        origin = found.origin_of(error.where)
        if origin.line is None:
            raise
        raise ConfigurationError([f"{origin.place}: {error}"]) from error


def _hooks(found: Configuration, problems: list[str]) -> tuple[tuple[Hook, ...], tuple[str, ...]]:
    """The hooks of all files, those of higher sources first; and which of them never run."""
    hooks, never_run = list[Hook](), list[str]()
    tools = tool_names() if found.hooks else frozenset[str]()
    for part in found.hooks:
        try:
            hooks += parse_hooks(part.json, part.origin.place)
        except SettingsError as error:
            problems.append(str(error))
            continue
        never_run += [
            f"{part.at(event, number, 'matcher').place}: {words}"
            for (event, number), words in idle(part.json, tools)
        ]
    return tuple(hooks), tuple(never_run)


def _sandbox(found: Configuration, problems: list[str]) -> tuple[SandboxSettings, tuple[str, ...]]:
    """The sandbox of all files, higher sources last so that they stand; and what was not heard.

    A repository may only tighten it.
    """
    settings, unheard = SandboxSettings(), []
    for part in reversed(found.sandbox):
        raw = part.json
        try:
            parse_sandbox(raw)  # wrong words are refused also where they would not be heard
            unheard += [f"{part.origin.place}: {name} has no effect here" for name in ignored(raw)]
            if part.origin.source.from_repository:
                raw, loosening = tightening(raw)
                unheard += [
                    f"{part.origin.place}: {name} is not heard from files of a project"
                    for name in loosening
                ]
            settings = parse_sandbox(raw, settings)
        except BadSandbox as error:
            problems.append(f"{part.at(*error.place).place}: {error}")
    return settings, tuple(unheard)


def _mcp(found: Configuration, flags: Flags, cwd: Path, home: Path) -> McpSettings:
    return servers(
        cwd,
        home,
        environ=found.environ,
        given=flags.mcp_config,
        strict=flags.strict_mcp,
        sources=flags.sources,
        allowed=Allowed(
            all=found.mcp_all,
            named=frozenset(found.mcp_named),
            never=frozenset(found.mcp_never),
        ),
    )


def _strange(found: Configuration) -> Iterator[str]:
    """Rules that match nothing because a tool's name is misspelt; other agents' tools pass."""
    known = tool_names()
    for rule in found.permissions:
        name = Rule.parse(rule.text).tool
        if name not in known and (near := meant(name)) is not None:
            where = f"{rule.origin.place}: permissions.{rule.behaviour}"
            yield f"{where}: {rule.text!r} matches nothing: no tool is called {name}; {near} is"


def _unreadable(rule: StandingRule) -> str | None:
    where = f"{rule.origin.place}: permissions.{rule.behaviour}"
    try:
        rules = Rules.parse([rule.text]).allow
    except BadRule as error:
        return f"{where}: {error}"
    several = f"{where}: {rule.text!r} holds several rules; write each as a string of its own"
    return several if len(rules) != 1 else None


def _counted(rule: StandingRule, cwd: Path) -> Iterator[GivenRule]:
    """A rule as it counts in `cwd`.

    A path in a project's file counts from the folder of that project. Started below it, a deny
    or ask rule counts from the working folder too: rather one too many than one too few.
    """
    there = _from_its_folder(rule, cwd)
    texts = (there,) if rule.behaviour == "allow" else dict.fromkeys((rule.text, there))
    for text in texts:
        yield GivenRule(behaviour=rule.behaviour, text=text, origin=str(rule.origin))


def _from_its_folder(rule: StandingRule, cwd: Path) -> str:
    parsed = Rule.parse(rule.text)
    path, folder = parsed.specifier, rule.folder
    if folder is None or folder == cwd or path is None or not parsed.about_paths:
        return rule.text
    if path.startswith(("//", "~/")):
        return rule.text
    inner = path.removeprefix("./")
    from_top = inner != path or "/" in inner.rstrip("/")
    below = inner.lstrip("/") if from_top else f"**/{inner}"
    return f"{parsed.tool}(/{_quoted(folder)}/{below})"


def _quoted(folder: Path) -> str:
    """As a pattern that means this folder alone."""
    return re.sub(r"[*?[{},\\]", r"\\\g<0>", str(folder))
