"""Skills and commands put to use: their text filled in, what it asks for run, their rules lent.

A command whose call is not permitted makes the whole unusable: instructions without the output
they speak of would mislead. A file that may not be read is told as missing.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from attrs import define, evolve, field, frozen

from interlock.calling import Calling, denial_of
from interlock.errors import SettingsError, UsageError
from interlock.hooks import parse, with_environment
from interlock.permissions import BadRule, ChildGate, Gate, Rules, for_a_person
from interlock.skills import (
    Given,
    Piece,
    Skill,
    SkillBook,
    Sort,
    Unreadable,
    filled,
    pieces,
    read,
    takes_arguments,
    with_variables,
)
from interlock.tools import Apart, ToolError
from phases.world.messages import Json, Kind, Media, Message, Text, ToolResult

_FETCHED = re.compile(r"Skill (?P<name>\S+), fetched before:\n(?P<text>.*)", re.DOTALL)
_BY_TOOL = (
    "The skill {name} runs as an agent of its own: call the Skill tool with skill {name!r} and"
    " args {args!r}, and tell the user what came of it."
)
_OTHER_SHELL = "[not run: it is written for another shell than bash]"
_NO_SHELL = "[not run: settings do not let skills and commands run anything]"


@frozen(kw_only=True)
class SlashCommand:
    """Something that `/name` stands for; `expand` makes its arguments a prompt.

    `expand` raises UsageError, with one line for a person, where that cannot be.
    """

    name: str
    description: str = ""
    argument_hint: str = ""
    origin: str = ""  # user, project, the name of a server
    model: str | None = None  # for this prompt
    effort: str | None = None  # so is this
    expand: Callable[[str, Path], Awaitable[tuple[Text | Media, ...]]]


class CommandSource(Protocol):
    """Where further commands come from: the prompts of MCP servers, say."""

    def commands(self) -> Sequence[SlashCommand]: ...


@define(kw_only=True)
class Instructing:
    """One agent's skills and commands, for a person and for the model."""

    book: SkillBook
    gate: Gate  # of the session: what it opens is open to all its agents
    borrower: Gate | ChildGate  # of the agent: what skills lend is lent to it
    session_id: str
    calling: Calling | None = None
    lends: bool = True  # their `allowed-tools` count
    runs: bool = True  # so do the commands in them
    hooked: bool = True  # and their hooks
    sources: list[CommandSource] = field(factory=list)
    used: dict[str, str] = field(factory=dict)  # what the model has fetched, the newest last
    called: set[str] = field(factory=set)  # by a person, who wants the model to run them

    def child(self, gate: ChildGate, *, fork: bool) -> Instructing:
        """Those of a child with this gate."""
        book = self.book.anew(fork=fork)
        return evolve(self, book=book, borrower=gate, calling=None, used={})

    # --- for the model -----------------------------------------------------------------------

    def apart(self, name: str) -> Apart | None:
        """How a skill is run that runs as an agent of its own; None for any other. Raises
        ToolError."""
        skill = self._for_the_model(name)
        if not skill.forks:
            return None
        return Apart(skill.name, skill.agent, skill.model, skill.effort)

    async def use(self, name: str, arguments: str, cwd: Path) -> str:
        """The instructions of a skill, for the Skill tool. Raises ToolError."""
        skill = self._for_the_model(name)
        try:
            text = await self._text(skill, arguments, cwd)
        except UsageError as error:
            raise ToolError(str(error)) from error
        self.used.pop(skill.name, None)
        self.used[skill.name] = text
        return text

    def forget(self) -> None:
        """What was told and fetched stands in the conversation no more."""
        self.book.forget()
        self.used.clear()

    def recall(self, messages: Iterable[Message]) -> None:
        """Take up what was fetched before, from the history."""
        asked: dict[str, str] = {}
        for message in messages:
            asked |= {
                call.id: str(call.input.get("skill"))
                for call in message.calls
                if call.name == "Skill"
            }
            for block in message.content:
                if isinstance(block, ToolResult) and block.tool_use_id in asked:
                    if not block.is_error:
                        self.used[asked[block.tool_use_id]] = block.text
                elif (
                    message.kind is Kind.NOTE
                    and isinstance(block, Text)
                    and (found := _FETCHED.match(block.text)) is not None
                ):
                    self.used[found["name"]] = found["text"]

    def news(self, further: Iterable[Path] = ()) -> str:
        """What has changed in the list of skills since it was told; "" for nothing."""
        self.book.look(further)
        self.open_folders()
        return self.book.news()

    def open_folders(self) -> None:
        """What belongs to a skill can be read unasked; so can the plugin it comes with."""
        folders = (one.home or one.folder for one in self.book.skills.values())
        real = (folder.resolve() for folder in folders if folder is not None)
        readable = tuple(dict.fromkeys((*self.gate.judge.readable, *real)))
        self.gate.judge = evolve(self.gate.judge, readable=readable)

    # --- for a person ------------------------------------------------------------------------

    def commands(self) -> dict[str, SlashCommand]:
        """Everything a person can call, by name."""
        found = {
            skill.name: self._command(skill)
            for skill in self.book.skills.values()
            if skill.by_user
        }
        for source in self.sources:
            found |= {one.name: one for one in source.commands() if one.name not in found}
        return found

    def find(self, name: str) -> SlashCommand | None:
        name = name.removeprefix("/")
        commands = self.commands()
        if name in commands:
            return commands[name]
        skill = self.book.find(name)
        return commands.get(skill.name) if skill is not None else None

    def _command(self, skill: Skill) -> SlashCommand:
        async def expand(arguments: str, cwd: Path) -> tuple[Text | Media, ...]:
            if skill.forks and self._is_offered:
                self.called.add(skill.name)
                return (Text(_BY_TOOL.format(name=skill.name, args=arguments.strip())),)
            return (Text(await self._text(skill, arguments, cwd)),)

        return SlashCommand(
            name=skill.name,
            description=skill.description,
            argument_hint=skill.argument_hint,
            origin=skill.origin,
            model=None if skill.forks else skill.model,
            effort=None if skill.forks else skill.effort,
            expand=expand,
        )

    # --- the text ----------------------------------------------------------------------------

    async def _text(self, skill: Skill, arguments: str, cwd: Path) -> str:
        """The instructions, filled in. Raises UsageError."""
        why = self.borrower.withholds(skill.path)  # rules may have come since it was listed
        if why is not None:
            raise UsageError(f"{skill.kind} {skill.name} is not told: {why}")
        try:
            template = read(skill.path).body.strip()
        except Unreadable as error:
            raise UsageError(f"{skill.kind} {skill.name}: {skill.path}: {error}") from error
        self._lend(skill)
        self._lend_hooks(skill)
        given = Given(
            text=arguments.strip(), names=skill.argument_names, variables=self._variables(skill)
        )
        text = await self._filled(skill, template, given, cwd)
        if given.text and not takes_arguments(template, skill.argument_names):
            text = f"{text}\n\nARGUMENTS: {given.text}"
        if skill.folder is not None:
            text = f"The files of this skill lie in {skill.folder}\n\n{text}"
        return text

    def _variables(self, skill: Skill) -> Mapping[str, str]:
        folder = str(skill.path.parent)
        usual = {"CLAUDE_SKILL_DIR": folder, "CLAUDE_SESSION_ID": self.session_id}
        return {**usual, **skill.variables}

    async def _filled(self, skill: Skill, template: str, given: Given, cwd: Path) -> str:
        found = [evolve(one, text=filled(one.text, given)) for one in pieces(template)]
        runs = self.runs and skill.runs
        asked = [_call_for(one, cwd, runs=runs) for one in found]
        results = iter(await self._run([call for call in asked if call is not None], cwd))
        told = []
        for one, call in zip(found, asked, strict=True):
            if call is not None:
                told.append(_inserted(skill, one, next(results)))
            elif one.sort is Sort.COMMAND:
                told.append(_NO_SHELL if skill.runs else _OTHER_SHELL)
            else:
                told.append(filled(one.source, given))
        return "".join(told)

    async def _run(
        self, calls: Sequence[tuple[str, Mapping[str, Json]]], cwd: Path
    ) -> tuple[ToolResult, ...]:
        if not calls:
            return ()
        assert self.calling is not None
        return await self.calling.results(calls, cwd)

    def _lend(self, skill: Skill) -> None:
        """What it may do unasked, until the prompt is over; denials stay what they are."""
        if not self.lends or not skill.allowed_tools:
            return
        origin = f"{skill.kind} {skill.name}, {skill.path}"
        texts = (with_variables(text, skill.variables) for text in skill.allowed_tools)
        try:
            rules = Rules.parse(allow=[(text, origin) for text in texts])
        except BadRule as error:
            raise UsageError(f"allowed-tools: {error}") from error
        self.borrower.lend(rules.allow)

    def _lend_hooks(self, skill: Skill) -> None:
        """Its hooks run for this agent until the prompt is over."""
        if not skill.hooks or not self.hooked or self.calling is None:
            return
        try:
            found = parse(skill.hooks, f"{skill.kind} {skill.name}, {skill.path}")
            self.calling.lend_hooks(tuple(with_environment(one, skill.variables) for one in found))
        except SettingsError as error:
            raise UsageError(str(error)) from error

    @property
    def _is_offered(self) -> bool:
        """Whether the agent has the tool that runs skills."""
        return self.calling is not None and "Skill" in self.calling.tools

    def _for_the_model(self, name: str) -> Skill:
        skill = self.book.find(name)
        if skill is None or not (skill.by_model or skill.name in self.called):
            raise ToolError(self._not_for_the_model(name, skill))
        return skill

    def _not_for_the_model(self, name: str, skill: Skill | None) -> str:
        if skill is not None:
            return f"{skill.name} is for the user alone to call."
        near = self.book.nearest(name)
        listed = ", ".join(sorted(one.name for one in self.book.skills.values() if one.listed))
        hint = f" Did you mean {near}?" if near else ""
        return f"There is no skill {name}.{hint} There are: {listed or 'none'}."


def _inserted(skill: Skill, piece: Piece, result: ToolResult) -> str:
    denied = denial_of(result)
    if piece.sort is Sort.COMMAND:
        if denied is not None:
            why = for_a_person(denied)
            raise UsageError(f"{skill.name} was not run: its command `{piece.text}`: {why}")
        return result.text
    if denied is not None:
        return f"{piece.source} [not read: {denied}]"
    return f"{piece.source}\n\n{result.text}\n"


def _call_for(piece: Piece, cwd: Path, *, runs: bool) -> tuple[str, Mapping[str, Json]] | None:
    if piece.sort is Sort.COMMAND:
        return ("Bash", {"command": piece.text}) if runs else None
    if piece.sort is Sort.FILE and _is_file(piece.text, cwd):
        return "Read", {"file_path": piece.text}
    return None


def _is_file(name: str, cwd: Path) -> bool:
    try:
        return (cwd / Path(name).expanduser()).is_file()
    except (OSError, RuntimeError, ValueError):
        return False
