"""Every key of a settings file, once: what it holds, how files add up, what it means.

The table in `docs/settings.md` is made from this one. A key that is not here is no setting; what
then happens depends on how near it comes to one that protects something.
"""

from __future__ import annotations

from collections.abc import Iterator

from attrs import field, frozen

from interlock.configuration import shapes
from interlock.configuration.files import Document
from interlock.configuration.json_text import Member, Node, Object, kind
from interlock.configuration.known import UNENFORCED, WITHOUT_EFFECT
from interlock.configuration.origin import Origin
from interlock.configuration.shapes import Fault, Shape
from phases.world.messages import Json


@frozen(kw_only=True)
class Key:
    """One kind of setting. `name` is its way from the top, with dots."""

    name: str
    shape: Shape
    holds: str
    adds_up: bool = False
    repository: str = "yes"  # whether files of a repository may set it
    meaning: str

    @property
    def section(self) -> str:
        return self.name.rpartition(".")[0]

    @property
    def last(self) -> str:
        return self.name.rpartition(".")[2]


_MANAGED_ONLY = "no: managed files only"

KEYS = (
    Key(
        name="permissions.allow",
        shape=shapes.texts,
        holds="list of rules",
        adds_up=True,
        meaning="calls that run without a question, like `Bash(git status)`",
    ),
    Key(
        name="permissions.ask",
        shape=shapes.texts,
        holds="list of rules",
        adds_up=True,
        meaning="calls that a person is always asked about",
    ),
    Key(
        name="permissions.deny",
        shape=shapes.texts,
        holds="list of rules",
        adds_up=True,
        meaning="calls that never run, like `Read(./.env)`; goes before ask, ask before allow",
    ),
    Key(
        name="permissions.defaultMode",
        shape=shapes.mode,
        holds="name of a mode",
        repository="all but `bypassPermissions`",
        meaning="what happens to a call that no rule decides",
    ),
    Key(
        name="permissions.additionalDirectories",
        shape=shapes.texts,
        holds="list of folders",
        adds_up=True,
        repository="not the home folder, what holds it, or its hidden folders",
        meaning="folders that count as the working folder does; `~/` is home",
    ),
    Key(
        name="permissions.disableBypassPermissionsMode",
        shape=shapes.disable,
        holds='`"disable"`',
        meaning="no source and no flag may turn on `bypassPermissions`",
    ),
    Key(
        name="env",
        shape=shapes.variables,
        holds="object of strings",
        adds_up=True,
        repository="not what steers programs, keys, servers or us (see below)",
        meaning="variables put over the shell's, for commands and for our own settings",
    ),
    Key(
        name="hooks",
        shape=shapes.hooks,
        holds="object of events",
        adds_up=True,
        meaning="commands that are told of events and may decide",
    ),
    Key(
        name="disableAllHooks",
        shape=shapes.switch,
        holds="true or false",
        repository="its own hooks only",
        meaning="leave out hooks of this source and of those that are trusted less",
    ),
    Key(
        name="allowManagedHooksOnly",
        shape=shapes.switch,
        holds="true or false",
        repository=_MANAGED_ONLY,
        meaning="hooks of all other sources are left out",
    ),
    Key(
        name="allowManagedPermissionRulesOnly",
        shape=shapes.switch,
        holds="true or false",
        repository=_MANAGED_ONLY,
        meaning="allow rules of all other sources are left out; their ask and deny rules stay",
    ),
    Key(
        name="sandbox",
        shape=shapes.whole_object,
        holds="object",
        adds_up=True,
        repository="only what tightens it",
        meaning="how commands are shut in",
    ),
    Key(
        name="model",
        shape=shapes.text,
        holds="name of a model",
        meaning="as `--model` and `ANTHROPIC_MODEL`",
    ),
    Key(
        name="fallbackModel",
        shape=shapes.models,
        holds="list of models",
        meaning="as `--fallback-model`",
    ),
    Key(
        name="apiKeyHelper",
        shape=shapes.text,
        holds="command line",
        repository="no",
        meaning="prints the API key; run once, where the environment holds none",
    ),
    Key(
        name="fileCheckpointingEnabled",
        shape=shapes.switch,
        holds="true or false",
        repository="no",
        meaning="what the agent changes can be taken back (`/rewind`); on unless it says false",
    ),
    Key(
        name="claudeMdExcludes",
        shape=shapes.texts,
        holds="list of patterns",
        adds_up=True,
        meaning="note files that are not read, by their whole path: `**/vendor/CLAUDE.md`",
    ),
    Key(
        name="autoMemoryEnabled",
        shape=shapes.switch,
        holds="true or false",
        repository="only `false`",
        meaning="whether the agent keeps a memory of the project; on, as `INTERLOCK_AUTO_MEMORY`",
    ),
    Key(
        name="autoMemoryDirectory",
        shape=shapes.text,
        holds="path of a folder",
        repository="no",
        meaning="where that memory lies; `~/` is home",
    ),
    Key(
        name="disableSkillShellExecution",
        shape=shapes.switch,
        holds="true or false",
        repository="only `true`",
        meaning="the commands in the text of skills and slash commands are not run",
    ),
    Key(
        name="enableAllProjectMcpServers",
        shape=shapes.switch,
        holds="true or false",
        repository="no",
        meaning="start every MCP server of a project's `.mcp.json` without asking",
    ),
    Key(
        name="enabledMcpjsonServers",
        shape=shapes.texts,
        holds="list of names",
        adds_up=True,
        repository="no",
        meaning="servers of `.mcp.json` files that are started without asking",
    ),
    Key(
        name="disabledMcpjsonServers",
        shape=shapes.texts,
        holds="list of names",
        adds_up=True,
        meaning="MCP servers that are never started",
    ),
    Key(
        name="cleanupPeriodDays",
        shape=shapes.days,
        holds="whole number from 1 up",
        repository="no",
        meaning="days that an old session is kept (30), as `INTERLOCK_CLEANUP_DAYS`",
    ),
    Key(
        name="remotes",
        shape=shapes.remotes,
        holds="object of objects",
        adds_up=True,
        repository="no",
        meaning='other machines for agents: `{"gpu": {"url": "https://…", "tokenEnv": "NAME"}}`',
    ),
    Key(
        name="interlock.limits",
        shape=shapes.limits,
        holds="object of numbers",
        repository="those that bound nothing (see below)",
        meaning="the numbers of `interlock config show`, as `INTERLOCK_<NAME>`",
    ),
    Key(
        name="interlock.features",
        shape=shapes.features,
        holds="object of true and false",
        repository="all but `snip`, which it may switch off",
        meaning="the switches of `interlock config show`, as `INTERLOCK_<NAME>`",
    ),
    Key(
        name="interlock.fsync",
        shape=shapes.fsync,
        holds="`never`, `prompt`, `request` or `always`",
        repository="no",
        meaning="when a session is forced onto the disk, as `INTERLOCK_FSYNC`",
    ),
)

_BY_NAME = {key.name: key for key in KEYS}
_SECTIONS = frozenset(key.section for key in KEYS if key.section)
_TOP = frozenset(key.last for key in KEYS if not key.section) | _SECTIONS
# What other names come near must be meant for one of these: passed over, it would not protect.
_PROTECTING = _TOP - {"model", "fallbackModel", "autoMemoryDirectory"}
_RULES = frozenset({"allow", "ask", "deny"})


@frozen(kw_only=True)
class Found:
    """One setting of one file, in its right shape."""

    key: str
    name: str  # of a variable, limit or feature, else empty
    value: Json
    origin: Origin
    document: Document = field(repr=False)


@frozen(kw_only=True)
class Checked:
    """What a file says, what is odd in it, and what is wrong with it."""

    found: tuple[Found, ...] = ()
    ignored: tuple[Found, ...] = ()  # known elsewhere, without a meaning here
    warnings: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def checked(document: Document) -> Checked:
    """Hold a file against the schema. Raises nothing: all that is wrong is told at once."""
    check = _Check(document)
    if document.root is None:
        return Checked()
    if isinstance(document.root, Object):
        check.section("", document.root)
    else:
        fault = Fault(node=document.root, problem=f"is {kind(document.root)}", mend="write {…}")
        check.refuse(fault, "the whole")
    return Checked(
        found=tuple(check.found),
        ignored=tuple(check.ignored),
        warnings=tuple(check.warnings),
        problems=tuple(check.problems),
    )


@frozen
class _Check:
    document: Document
    found: list[Found] = field(factory=list)
    ignored: list[Found] = field(factory=list)
    warnings: list[str] = field(factory=list)
    problems: list[str] = field(factory=list)

    def section(self, section: str, node: Object) -> None:
        for member in node.members:
            name = f"{section}.{member.name}" if section else member.name
            if name in _SECTIONS:
                if isinstance(member.value, Object):
                    self.section(name, member.value)
                else:
                    mend = f'write "{name}": {{…}}'
                    self.refuse(Fault(node=member.value, problem="is no object", mend=mend), name)
            elif name in _BY_NAME:
                self.setting(_BY_NAME[name], member.value)
            elif name in WITHOUT_EFFECT or name in UNENFORCED:
                self.without_effect(name, member)
            else:
                self.unknown(section, member)

    def setting(self, key: Key, node: Node) -> None:
        for read in key.shape(self.document, node):
            if isinstance(read, Fault):
                self.refuse(read, key.name)
            else:
                self.found.append(self._found(key.name, read.value, read.node, read.name))

    def without_effect(self, name: str, member: Member) -> None:
        self.ignored.append(self._found(name, None, member.key, ""))
        if name in UNENFORCED:
            self.warn(member.key, f"{name} is not enforced here")

    def unknown(self, section: str, member: Member) -> None:
        if section:  # every name in it protects something, or is one of ours
            known = [key.last for key in KEYS if key.section == section]
            mend = shapes.meant(member.name, known) or f"{section} knows {', '.join(known)}"
        elif f"permissions.{member.name}" in _BY_NAME:
            mend = "put it inside permissions"
        elif isinstance(member.value, Object) and any(map(member.value.get, _RULES)):
            mend = 'rules stand in "permissions"'
        else:
            near = shapes.meant(member.name, _PROTECTING)
            if near is None:
                near = shapes.meant(member.name, _TOP | WITHOUT_EFFECT | UNENFORCED)
                words = f"unknown setting {member.name!r} has no effect"
                self.warn(member.key, f"{words}; {near}" if near else words)
                return
            mend = near
        name = f"{section}.{member.name}" if section else member.name
        self.refuse(Fault(node=member.key, problem="is no setting", mend=mend), name)

    def refuse(self, fault: Fault, name: str) -> None:
        whole = ".".join(part for part in (name, fault.name) if part)
        place = self.document.origin(fault.node).place
        self.problems.append(f"{place}: {whole} {fault.problem}; {fault.mend}")

    def warn(self, node: Node, words: str) -> None:
        self.warnings.append(f"{self.document.origin(node).place}: {words}")

    def _found(self, key: str, value: Json, node: Node, name: str) -> Found:
        return Found(
            key=key,
            name=name,
            value=value,
            origin=self.document.origin(node),
            document=self.document,
        )


def table() -> Iterator[str]:
    """The keys as a table in Markdown, for the documentation."""
    yield "| key | holds | several files | from a repository | meaning |"
    yield "| --- | --- | --- | --- | --- |"
    for key in KEYS:
        several = "add up" if key.adds_up else "the highest counts"
        cells = (f"`{key.name}`", key.holds, several, key.repository, key.meaning)
        yield f"| {' | '.join(cells)} |"
