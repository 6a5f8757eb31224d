"""Plugins, joined to what is there already: skills and commands, agent types, hooks, servers.

Each part is read by those who run it, under the plugin's name; what they refuse is left out, with
a line that says why, and the rest goes on. Rules for tools hold for a plugin's as for all others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from attrs import evolve, frozen

from interlock.agents.definition import AgentDefinition
from interlock.agents.files import shipped
from interlock.configuration import Flags
from interlock.configured import SKILLS, Configured
from interlock.errors import SettingsError
from interlock.hooks import Hook, parse, with_environment
from interlock.mcp.definitions import BadDefinition, Definition, Scope
from interlock.mcp.definitions import parsed as definition_of
from interlock.mcp.names import PLUGIN, server_part
from interlock.mcp.settings import McpSettings, Unstarted
from interlock.mcp.tokens import Tokens
from interlock.plugins import Part, Plugin, Plugins, Problem, Sort
from interlock.skills import Kind, Skill, Unreadable, load
from phases.world.messages import Json

ORIGIN = "plugin "  # and its name: where a part comes from, for a person


@frozen(kw_only=True)
class Plugged:
    """What plugins bring to a session. `plugins` knows all problems, those found here too."""

    plugins: Plugins | None = None  # None: none were named
    skills: tuple[Skill, ...] = ()  # commands among them
    agents: tuple[AgentDefinition, ...] = ()
    hooks: tuple[Hook, ...] = ()
    servers: tuple[Definition, ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """A line each, for a person."""
        if self.plugins is None:
            return ()
        return (*(one.line for one in self.plugins.problems), *self.plugins.notes)

    def allowed(self, *, hooks: bool, servers: bool) -> Plugged:
        """What is left of it where settings or flags want no hooks, or no servers, of others."""
        return evolve(
            self,
            hooks=self.hooks if hooks else (),
            servers=self.servers if servers else (),
        )


def plugged(
    plugins: Plugins | None, environ: Mapping[str, str], taken: Sequence[str] = ()
) -> Plugged:
    """All that these plugins bring. `taken` are the names of servers that go before theirs."""
    if plugins is None:
        return Plugged()
    problems, notes = list(plugins.problems), list(plugins.notes)
    skills, agents = list[Skill](), list[AgentDefinition]()
    hooks, servers = list[Hook](), list[Definition]()
    parts = {server_part(name) for name in taken}
    for plugin in plugins.loaded:
        skills += _skills(plugin, problems)
        types = shipped(
            {one.name: one.path for one in plugin.agents}, _origin(plugin), plugin.variables
        )
        agents += types.types.values()
        problems += (_problem(plugin, Sort.COMPONENT, words) for words in types.warnings)
        notes += (f"plugin {plugin.name}: {words}" for words in types.denied)
        hooks += _hooks(plugin, problems)
        servers += _servers(plugin, environ, parts, problems)
    return Plugged(
        plugins=evolve(plugins, problems=tuple(problems), notes=tuple(notes)),
        skills=tuple(skills),
        agents=tuple(agents),
        hooks=tuple(hooks),
        servers=tuple(servers),
    )


def plugged_into(
    made: Configured, flags: Flags, *, only: tuple[str, ...] | None = None
) -> Configured:
    """A session with its plugins. `only` are the skills that were asked for, if not all."""
    options, found = made.options, made.configuration
    tokens = Tokens(made.settings.home)
    mcp = options.mcp or McpSettings(environ=found.environ, tokens=tokens)
    brought = plugged(options.plugins, found.environ, [one.name for one in mcp.definitions])
    brought = brought.allowed(hooks=options.lent_hooks, servers=not flags.strict_mcp)
    skills = options.skills
    if not SKILLS & {*flags.sources}:  # those of files do not count; these were named
        names = (one.name for one in brought.skills)
        skills = tuple(name for name in names if only is None or name in only)
    return evolve(
        made,
        options=evolve(
            options,
            skills=skills,
            hooks=(*options.hooks, *brought.hooks),
            agents=(*brought.agents, *options.agents),
            mcp=_with_servers(mcp, brought.servers, found.mcp_never) or None,
            plugins=brought.plugins,
            shipped=brought.skills,
        ),
        configuration=evolve(found, warnings=(*found.warnings, *brought.warnings)),
    )


def _with_servers(
    mcp: McpSettings, servers: Sequence[Definition], never: Sequence[str]
) -> McpSettings:
    """Those that settings switch off by name are known and not started."""
    off = tuple(
        Unstarted(name=one.name, scope=one.scope, problem="switched off by settings")
        for one in servers
        if one.name in never
    )
    on = (one for one in servers if one.name not in never)
    return evolve(mcp, definitions=(*mcp.definitions, *on), unstarted=(*mcp.unstarted, *off))


def _origin(plugin: Plugin) -> str:
    return f"{ORIGIN}{plugin.name}"


def _problem(plugin: Plugin, sort: Sort, words: str) -> Problem:
    return Problem(plugin=plugin.name, sort=sort, words=words)


def _skills(plugin: Plugin, problems: list[Problem]) -> Iterator[Skill]:
    """Skills before commands of the same name: they are what is written today."""
    names = set[str]()
    for kind, texts in ((Kind.SKILL, plugin.skills), (Kind.COMMAND, plugin.commands)):
        for text in texts:
            if text.name in names:
                words = f"{text.path}: a second {text.name}, left out; rename one"
                problems.append(_problem(plugin, Sort.COMPONENT, words))
                continue
            names.add(text.name)
            try:
                one = load(text.path, name=text.name, kind=kind, origin=_origin(plugin))
            except Unreadable as error:
                words = f"{text.path}: {error}; it is left out"
                problems.append(_problem(plugin, Sort.COMPONENT, words))
                continue
            # Its name is its place's, as that of each skill in a plugin, whatever it says.
            yield evolve(one, name=text.name, home=plugin.folder, variables=plugin.variables)


def _hooks(plugin: Plugin, problems: list[Problem]) -> Iterator[Hook]:
    """Those that can be understood; each group that cannot be costs a line, and no other."""
    for part in plugin.hooks:
        for raw in _groups(part.json):
            try:
                found = parse(raw, part.where)
            except SettingsError as error:
                problems.append(_problem(plugin, Sort.HOOKS, f"{error}; it does not run"))
                continue
            for hook in found:
                yield with_environment(
                    evolve(hook, origin=f"{_origin(plugin)}, {hook.origin}"), plugin.variables
                )


def _groups(raw: Json) -> Iterator[Json]:
    """The object with one group at a time, each at its own place; whatever has another shape as
    it is."""
    if not isinstance(raw, Mapping):
        yield raw
        return
    for event, groups in raw.items():
        if not isinstance(groups, list):
            yield {event: groups}
            continue
        for number, group in enumerate(groups):
            yield {event: [*({"hooks": []} for _ in range(number)), group]}


def _servers(
    plugin: Plugin, environ: Mapping[str, str], parts: set[str], problems: list[Problem]
) -> Iterator[Definition]:
    for part in plugin.servers:
        try:
            made = _server(plugin, part, environ)
        except BadDefinition as error:
            words = f"{part.where}: {part.name!r} {error}"
            problems.append(_problem(plugin, Sort.SERVERS, words))
            continue
        if server_part(made.name) in parts:
            words = f"{part.where}: another server is called {made.name} too; rename this one"
            problems.append(_problem(plugin, Sort.SERVERS, words))
            continue
        parts.add(server_part(made.name))
        yield made


def _server(plugin: Plugin, part: Part, environ: Mapping[str, str]) -> Definition:
    """Raises BadDefinition."""
    made = definition_of(
        f"{PLUGIN}{plugin.name}:{part.name}",
        part.json,
        scope=Scope.PLUGIN,
        environ={**environ, **plugin.variables},
        where=part.where,
        folder=plugin.folder,
    )
    return evolve(made, env={**plugin.variables, **made.env})
