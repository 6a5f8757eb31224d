"""What a prompt means before it is sent: a command that stands for more, files it speaks of.

`/name words` becomes the instructions of that name; `@path` brings the file along, `@server:uri`
the resource of an MCP server. Only what a person has typed is read so: piped data gives no orders.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TypeAlias

from attrs import define, evolve, field, frozen

from interlock.agents.models import model_of
from interlock.calling import Calling, denial_of
from interlock.errors import UsageError
from interlock.inbox import Queued
from interlock.instructing import Instructing
from interlock.mcp import Servers
from interlock.mcp.mentions import Mentions
from interlock.mcp.tools import ReadMcpResource
from interlock.memory.imports import Import, imports
from interlock.planning import Planning
from phases.world.messages import Json, Kind, Media, Message, Text, ToolResult
from phases.world.ports import Ids

_COMMAND = re.compile(r"\s*/(?P<name>[A-Za-z][\w:.-]*)(?:\s+(?P<arguments>.*))?\Z", re.DOTALL)
_MOST_MENTIONS = 20  # of one prompt
_SURELY = (
    "/",
    "./",
    "../",
    "~/",
)  # a path begins so; `@someone` is a person, `@types/x` a package


@frozen(kw_only=True)
class Spoken:
    """What is sent for a prompt."""

    prompt: str | Queued | tuple[Text | Media, ...]
    typed: str | None
    notes: tuple[Message, ...] = ()
    model: str | None = None  # for this prompt alone; None: the session's
    effort: str | None = None  # so is this


@define(kw_only=True)
class Speech:
    """One session's."""

    instructing: Instructing
    calling: Calling
    planning: Planning
    ids: Ids
    servers: Servers
    families: Mapping[str, str] = field(factory=dict)  # the models of short names
    spend: Callable[[str | None], None]  # with which effort the prompt is answered; None: as usual

    async def heard(
        self, prompt: str | Queued, typed: str | None, cwd: Path, model: str = ""
    ) -> Spoken:
        """`model` is the session's. Raises UsageError for a command that is none, or cannot be
        run."""
        text = prompt if isinstance(prompt, str) else prompt.text
        said = text if typed is None else typed
        news = self._news()
        found = _COMMAND.match(said)
        self.spend(None)
        if found is not None:
            # What was piped to it belongs to its arguments.
            arguments = (_COMMAND.match(text) or found)["arguments"] or ""
            spoken = await self._command(found["name"], arguments, prompt, said, cwd)
            self.spend(spoken.effort)
            asked = spoken.model and model_of(None, spoken.model, model, self.families, None)
            return evolve(spoken, notes=news, model=asked)
        notes = await self._mentioned(said, cwd)
        return Spoken(prompt=prompt, typed=typed, notes=(*news, *notes))

    async def _command(
        self, name: str, arguments: str, prompt: str | Queued, typed: str, cwd: Path
    ) -> Spoken:
        command = self.instructing.find(name)
        if command is None:
            raise UsageError(self._unknown(name))
        expansion = await command.expand(arguments, cwd)
        line = Text(f"/{command.name} {arguments}".strip() + "\n\n")
        content = (line, *expansion)
        told = content if isinstance(prompt, str) else evolve(prompt, content=content)
        return Spoken(prompt=told, typed=typed, model=command.model, effort=command.effort)

    def _unknown(self, name: str) -> str:
        why = self.servers.why_not(name)
        if why is not None:
            return f"no command /{name}: {why}"
        commands = self.instructing.commands()
        near = get_close_matches(name, commands, n=1)
        hint = f"did you mean /{near[0]}?" if near else "interlock skills lists what there is"
        return f"no command /{name}; {hint}"

    def _news(self) -> tuple[Message, ...]:
        """What has changed in the list of skills since it was told; that plan mode is on."""
        texts = (self.instructing.news(), self.planning.reminder)
        return tuple(self._note(text) for text in texts if text)

    async def _mentioned(self, typed: str, cwd: Path) -> tuple[Message, ...]:
        """What the words speak of, read by calls as the model makes them."""
        calls: dict[str, _Call] = {}
        absent: dict[str, str] = {}
        mentions = Mentions(self.servers.by_name.values)
        for one in imports(typed):
            written = one.written
            mention = mentions.of(written)
            if mention is None:
                if (call := _call(one, cwd)) is not None:
                    calls[written] = call
                elif one.quoted or written.startswith(_SURELY):
                    absent[written] = "there is no such file"
            elif mention.absence:
                absent[written] = mention.absence
            else:
                asked = {"server": mention.server, "uri": mention.uri}
                calls[written] = (ReadMcpResource.name, asked)
        calls = dict(list(calls.items())[:_MOST_MENTIONS])
        results = await self.calling.results(list(calls.values()), cwd)
        read = [
            self._read(written, calls[written][0], result)
            for written, result in zip(calls, results, strict=True)
        ]
        return (*read, *(self._missing(written, why) for written, why in absent.items()))

    def _read(self, written: str, tool: str, result: ToolResult) -> Message:
        denied = denial_of(result)
        if denied is not None:
            return self._note(f"The user speaks of @{written}, which was not read: {denied}")
        if result.is_error and tool == ReadMcpResource.name:
            return self._missing(written, result.text)
        shown = [part for part in result.content if isinstance(part, Media)]
        return self._note(f"The user speaks of @{written}:\n\n{result.text}", *shown)

    def _missing(self, written: str, why: str) -> Message:
        """It was surely meant: who named it should know that it is not there."""
        line = f"@{written} was not read: {' '.join(why.split())}"
        self.servers.tell("warning", line)
        return self._note(f"The user speaks of @{written}, which was not read: {why}")

    def _note(self, words: str, *media: Media) -> Message:
        text = Text(f"<system-reminder>\n{words}\n</system-reminder>")
        return Message(id=self.ids.new(), role="user", kind=Kind.NOTE, content=(text, *media))


_Call: TypeAlias = tuple[str, Mapping[str, Json]]  # the tool, and what it is called with


def _call(one: Import, cwd: Path) -> _Call | None:
    """The call that reads a file or folder; a word that is neither is no such thing."""
    ways = [(one.written, None)] + ([(one.path, one.lines)] if one.lines else [])
    for path, lines in ways:
        try:
            real = cwd / Path(path).expanduser()
            if path and real.is_dir():
                return "Glob", {"pattern": "*", "path": str(real)}
            if path and real.is_file():
                return "Read", {"file_path": str(real), **_part(lines)}
        except (OSError, RuntimeError, ValueError):
            continue
    return None


def _part(lines: range | None) -> dict[str, Json]:
    return {} if lines is None else {"offset": lines.start, "limit": len(lines)}
