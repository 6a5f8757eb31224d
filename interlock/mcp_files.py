"""Where MCP servers are written down, who counts, and which of them may be started unasked.

    flags      --mcp-config, a file or the JSON itself
    local      mcp.json in the user's folder, under "projects" and the project's path
    project    .mcp.json in the working folder and above, up to the root of its repository
    user       mcp.json in the user's folder

The first that defines a name counts. Those of a project come from whoever wrote it: each is
started only after someone has said yes to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from attrs import define, field, frozen

from interlock.configuration import Source
from interlock.configuration.files import Document, SettingsFile, parsed, project_folders, read
from interlock.configuration.json_text import Node, Object, kind, plain
from interlock.errors import ConfigurationError
from interlock.mcp.definitions import BadDefinition, Definition, Scope, unheard
from interlock.mcp.definitions import parsed as definition_of
from interlock.mcp.settings import McpSettings, Unstarted
from interlock.mcp.tokens import Tokens
from interlock.mcp.trust import Approvals

NAME = ".mcp.json"
OWN = "mcp.json"
_FLAG = "--mcp-config"
_ASK = (
    "nobody has said yes to it: start interlock at a terminal to be asked, or name it in "
    "enabledMcpjsonServers of your own settings"
)


@frozen(kw_only=True)
class Allowed:
    """What settings say of the servers of projects."""

    all: bool = False
    named: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()

    def names(self, server: str) -> bool:
        """Whether it may be started though nobody was asked."""
        return self.all or server in self.named


@frozen(kw_only=True)
class Written:
    """One definition as it stands in a file."""

    name: str
    scope: Scope
    node: Node
    document: Document

    @property
    def where(self) -> str:
        return self.document.origin(self.node).place


def servers(
    cwd: Path,
    home: Path,
    *,
    environ: Mapping[str, str],
    given: Sequence[str] = (),
    strict: bool = False,
    sources: Sequence[Source] = (Source.USER, Source.PROJECT, Source.LOCAL),
    allowed: Allowed | None = None,
) -> McpSettings:
    """The servers of a session. Raises ConfigurationError for a file that cannot be understood."""
    project = tuple(project_folders(cwd, environ))
    places = _Places(
        cwd=cwd, home=home, project=project, given=given, strict=strict, sources=sources
    )
    sorting = _Sorting(
        allowed=allowed or Allowed(), home=home, project=project[-1], environ=environ
    )
    for one in places.written(sorting.warnings.append):
        sorting.take(one)
    return sorting.settings()


@define(kw_only=True)
class _Sorting:
    """Of definitions, those that count first: which are started, and why others are not."""

    allowed: Allowed
    home: Path
    project: Path
    environ: Mapping[str, str]
    warnings: list[str] = field(factory=list)
    _definitions: list[Definition] = field(factory=list, init=False)
    _unstarted: list[Unstarted] = field(factory=list, init=False)
    _seen: set[str] = field(factory=set, init=False)

    def take(self, one: Written) -> None:
        if one.name in self._seen:
            return
        self._seen.add(one.name)
        words = unheard(plain(one.node))
        self.warnings += [f"{one.where}: {one.name}: {each}" for each in words]
        try:
            made = self._defined(one)
        except BadDefinition as error:
            self._leave(one, f"{one.where}: {error}")
            return
        said = Approvals(self.home).said(self.project, made)
        if one.name in self.allowed.never:
            self._leave(one, "switched off by settings")
        elif said or one.scope is not Scope.PROJECT or self.allowed.names(one.name):
            self._definitions.append(made)
        elif said is None:
            self._leave(one, _ASK, asked=made)
        else:  # it is remembered, and nobody is asked again
            self._leave(one, "someone said no to it")

    def settings(self) -> McpSettings:
        return McpSettings(
            definitions=tuple(self._definitions),
            unstarted=tuple(self._unstarted),
            environ=self.environ,
            approvals=Approvals(self.home),
            tokens=Tokens(self.home),
            project=self.project,
            warnings=tuple(self.warnings),
        )

    def _defined(self, one: Written) -> Definition:
        return definition_of(
            one.name,
            plain(one.node),
            scope=one.scope,
            environ=self.environ,
            where=one.where,
            folder=one.document.file.folder,
        )

    def _leave(self, one: Written, problem: str, asked: Definition | None = None) -> None:
        self._unstarted.append(
            Unstarted(name=one.name, scope=one.scope, problem=problem, definition=asked)
        )


@frozen(kw_only=True)
class _Places:
    """Where definitions may stand."""

    cwd: Path
    home: Path
    project: tuple[Path, ...]  # its folders, from the working folder up
    given: Sequence[str]
    strict: bool
    sources: Sequence[Source]

    def written(self, tell: Callable[[str], None]) -> Iterator[Written]:
        """Every definition, those that count first; `tell` hears of files that hold none.

        Raises ConfigurationError.
        """
        for each in self.given:
            document = _of_flag(each, self.cwd)
            if (empty := _for_nothing(document)) is not None:
                raise ConfigurationError([empty])
            yield from _members(document, Scope.FLAGS, "mcpServers")
        if self.strict:
            return
        own = read(own_file(self.home))
        if own is not None and Source.LOCAL in self.sources:
            yield from _members(own, Scope.LOCAL, "projects", str(self.project[-1]), "mcpServers")
        if Source.PROJECT in self.sources:
            for folder in self.project:
                found = read(project_file(folder))
                if found is None:
                    continue
                if (empty := _for_nothing(found)) is not None:
                    tell(empty)
                yield from _members(found, Scope.PROJECT, "mcpServers")
        if own is not None and Source.USER in self.sources:
            yield from _members(own, Scope.USER, "mcpServers")


def own_file(home: Path) -> SettingsFile:
    """The user's file, which holds their servers for all projects and for single ones."""
    path = home / OWN
    return SettingsFile(source=Source.USER, path=path, shown=str(path), folder=home)


def project_file(folder: Path) -> SettingsFile:
    path = folder / NAME
    return SettingsFile(source=Source.PROJECT, path=path, shown=str(path), folder=folder)


def _of_flag(given: str, cwd: Path) -> Document:
    if given.lstrip().startswith("{"):
        file = SettingsFile(source=Source.FLAGS, path=Path(_FLAG), shown=_FLAG, folder=cwd)
        return parsed(file, given.encode("utf-8", "surrogatepass"))
    path = cwd / Path(given).expanduser()
    file = SettingsFile(source=Source.FLAGS, path=path, shown=given, folder=cwd)
    document = read(file)
    if document is None:
        raise ConfigurationError([f"{_FLAG}: no such file: {given!r}; name one, or write {{…}}"])
    return document


def _for_nothing(document: Document) -> str | None:
    """Why a file that is only for servers holds none, where somebody may have meant some."""
    where, root = document.file.shown, document.root
    mend = 'servers stand in {"mcpServers": {"name": {…}}}'
    if root is None:
        return f"{where}: is empty; {mend}"
    if not isinstance(root, Object) or not root.members or root.get("mcpServers") is not None:
        return None
    return f"{where}: has no mcpServers, and {root.members[0].name!r} means nothing here; {mend}"


def _members(document: Document, scope: Scope, *way: str) -> Iterator[Written]:
    node = document.root
    for step in way:
        node = None if node is None else _object(document, node).get(step)
    if node is None:
        return
    for member in _object(document, node).members:
        yield Written(name=member.name, scope=scope, node=member.value, document=document)


def _object(document: Document, node: Node) -> Object:
    if isinstance(node, Object):
        return node
    where = document.origin(node).place
    raise ConfigurationError([f"{where}: is {kind(node)}; write an object of servers: {{…}}"])
