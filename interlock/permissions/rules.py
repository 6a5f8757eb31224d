"""Rules: `Tool` or `Tool(specifier)`, as people write them in flags and settings files.

    Bash(git status)             this command, word for word
    Bash(git push:*)             commands that begin with these words
    Bash(npm run *)              `*` stands for anything
    Edit(src/**)                 file changes; Read(...) is about everything that reads files
    WebFetch(domain:example.com) a host; `*.example.com` for those below it
    mcp__server__tool            mcp__server and mcp__server__* stand for all of its tools
    Agent(reviewer)              one type of agent; Task is the same tool

A path counts from the working folder; `//` begins an absolute path, `~/` the home folder. A
pattern without a slash matches at any depth, and a folder that matches covers what is in it.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from pathlib import Path

from attrs import evolve, field, frozen

from interlock.permissions import domains
from interlock.permissions.decision import Question
from interlock.permissions.globs import BadPattern, compiled
from interlock.permissions.paths import covers, guarded, inside, relative

# A rule about paths speaks of what is done to a file, not of one tool only.
READERS = frozenset({"Read", "Glob", "Grep"})
WRITERS = frozenset({"Edit", "MultiEdit", "NotebookEdit", "Write"})
_GROUPS = {
    "Read": READERS,
    "Edit": WRITERS,
    **{name: frozenset({name}) for name in WRITERS - {"Edit"}},
}
# The argument that a specifier is about, for tools whose calls go by a name.
_NAMED = {"Task": "subagent_type", "Agent": "subagent_type", "Skill": "skill"}
# Old names of tools: a rule that was written for one is about the tool that it is now.
_NOW = {
    "Task": "Agent",
    **dict.fromkeys(("BashOutput", "BashOutputTool", "AgentOutputTool"), "TaskOutput"),
    **dict.fromkeys(("KillShell", "KillBash"), "TaskStop"),
}
_RULE = re.compile(r"(?P<tool>[^\s(),]+)(?:\((?P<specifier>.*)\))?", re.DOTALL)

Source = str | tuple[str, str]  # a rule's text, or the text and where it stands


class BadRule(ValueError):
    """A rule that cannot be read: refused at the start rather than never matched."""


@frozen
class Rule:
    """One rule. `specifier` None means every call of the tool.

    `origin` says where it stands, beginning with whose settings they are: "project settings,
    .claude/settings.json:12". A `verbatim` one is a whole command line, `*` and all. A `plain` one
    is about the files of all working folders, those that steer git, a shell or us left out.
    """

    tool: str
    specifier: str | None = None
    origin: str | None = field(default=None, eq=False)
    verbatim: bool = False
    plain: bool = False

    def __str__(self) -> str:
        return self.tool if self.specifier is None else f"{self.tool}({self.specifier})"

    @property
    def told(self) -> str:
        """The rule and where it stands, for a sentence."""
        return f"{self}" if self.origin is None else f"{self} ({self.origin})"

    @classmethod
    def parse(cls, text: str, origin: str | None = None) -> Rule:
        where = "" if origin is None else f" in {origin}"
        match = _RULE.fullmatch(text.strip())
        if match is None:
            raise BadRule(
                f"{text!r}{where} is no rule: write Tool or Tool(specifier), like"
                " Bash(git status:*)"
            )
        specifier = match["specifier"]
        if specifier is not None and specifier.strip() in ("", "*", ":*"):
            specifier = None
        rule = cls(match["tool"], specifier, origin)
        rule._insist_on_sense(where)
        return rule

    def _insist_on_sense(self, where: str) -> None:
        if self.specifier is None:
            return
        if self.about_paths:
            try:
                compiled(relative(self.specifier)[0])
            except BadPattern as error:
                raise BadRule(f"{str(self)!r}{where}: {error}") from error
        if self.tool == "WebFetch" and domains.pattern_of(self.specifier) is None:
            raise BadRule(
                f"{str(self)!r}{where} names no host: write WebFetch(domain:example.com)"
            )
        if self.tool.startswith("mcp__"):
            name = f"{self.tool.removesuffix('__*')}"
            raise BadRule(f"{str(self)!r}{where}: a tool of an MCP server takes no (...): {name}")

    @property
    def about_paths(self) -> bool:
        return self.tool in READERS | WRITERS

    def names(self, question: Question) -> bool:
        """Whether the rule names the tool and nothing more."""
        if self.specifier is not None:
            return False
        return same_tool(self.tool, question.tool) or _is_of_server(self.tool, question.tool)


@frozen(kw_only=True)
class Rules:
    """Deny beats ask beats allow. A specifier on a tool this module does not know matches no
    call that it would allow, and every call that it would forbid."""

    allow: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = field(default=())

    @classmethod
    def parse(
        cls,
        allow: Iterable[Source] = (),
        deny: Iterable[Source] = (),
        ask: Iterable[Source] = (),
    ) -> Rules:
        """Raises BadRule, with the rule, where it stands and how to write it."""
        return cls(allow=_all(allow), ask=_all(ask), deny=_all(deny))

    def with_more(self, more: Rules) -> Rules:
        return evolve(
            self,
            allow=(*self.allow, *more.allow),
            ask=(*self.ask, *more.ask),
            deny=(*self.deny, *more.deny),
        )

    def strangers(self, known: Iterable[str]) -> tuple[str, ...]:
        """The words that name none of the `known` tools and no tool of an MCP server."""
        names = frozenset(known)
        rules = (*self.allow, *self.ask, *self.deny)
        return tuple(
            dict.fromkeys(
                rule.tool
                for rule in rules
                if rule.tool not in names and not rule.tool.startswith("mcp__")
            )
        )


def _all(sources: Iterable[Source]) -> tuple[Rule, ...]:
    found: list[Rule] = []
    for source in sources:
        text, origin = (source, None) if isinstance(source, str) else source
        found += parsed(text, origin)
    return tuple(found)


def parsed(text: str, origin: str | None = None) -> tuple[Rule, ...]:
    """The rules of a flag's value: separated by commas or blanks outside brackets."""
    found, begun, depth = [], "", 0
    for letter in text:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth <= 0 and (letter == "," or letter.isspace()):
            found.append(begun)
            begun = ""
        else:
            begun += letter
    return tuple(Rule.parse(one, origin) for one in [*found, begun] if one.strip())


# --- which calls a rule is about, commands apart ----------------------------------------------


def permits(rule: Rule, question: Question, folders: tuple[Path, ...]) -> bool:
    """Whether an allow rule matches: every path of the call must be covered, as a real path."""
    if rule.specifier is None:
        return rule.names(question)
    if question.command is not None:
        return False
    if question.tool in _GROUPS.get(rule.tool, ()):
        paths = (*question.reads, *question.writes)
        if rule.plain:
            return bool(paths) and all(
                inside(path, folders) and not guarded(path, folders) for path in paths
            )
        return bool(paths) and all(covers(rule.specifier, path, folders[0]) for path in paths)
    return same_tool(rule.tool, question.tool) and _is_about(rule, question) is True


def forbids(rule: Rule, question: Question, root: Path) -> bool:
    """Whether a deny or ask rule matches: one path, by its real or its written name, is enough."""
    if rule.specifier is None:
        return rule.names(question)
    if question.command is not None:
        return False
    if not rule.about_paths:
        return same_tool(rule.tool, question.tool) and _is_about(rule, question) is not False
    paths = (*question.reads, *question.writes, *question.named)
    return question.tool in group(rule) and any(
        covers(rule.specifier, path, root, either=True) for path in paths
    )


def group(rule: Rule) -> frozenset[str]:
    """The tools that a path rule forbids."""
    # What must not be read must not be changed either: an edit shows the lines around it.
    return READERS | WRITERS if rule.tool in READERS else _GROUPS[rule.tool]


def _is_about(rule: Rule, question: Question) -> bool | None:
    """Whether a specifier names this call; None where that cannot be told."""
    specifier = rule.specifier or ""
    if rule.tool == "WebFetch":
        host = domains.host_of(question.arguments.get("url"))
        pattern = domains.pattern_of(specifier)
        return None if host is None or pattern is None else domains.is_at(pattern, host)
    if rule.tool in _NAMED:
        name = question.about or question.arguments.get(_NAMED[rule.tool])
        return name == specifier if isinstance(name, str) else None
    return None


def same_tool(one: str, other: str) -> bool:
    """Whether two names are of one tool."""
    return _NOW.get(one, one) == _NOW.get(other, other)


def _is_of_server(named: str, tool: str) -> bool:
    """`mcp__server` and `mcp__server__*` stand for the tools of that server."""
    if not named.startswith("mcp__") or not tool.startswith("mcp__"):
        return False
    if "*" in named:
        return fnmatch.fnmatchcase(tool, re.sub(r"([\[?])", r"[\1]", named))
    return named.count("__") == 1 and tool.startswith(f"{named}__")
