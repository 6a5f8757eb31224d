"""What an agent knows beside its conversation, wired: note files, memory, skills.

The services of `interlock/memory` meet the loop here: what is told in front of every request, what
comes between two turns, what is put back beside a summary, what is looked up beside the first
request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from attrs import define, evolve, field, frozen

from interlock.calling import Calling
from interlock.context.inject import PROJECT, SKILLS, user_context
from interlock.context.keepsakes import Keepsake, Keepsakes
from interlock.home import project_key
from interlock.inbox import Beside, Found, PrefetchSource, files_told
from interlock.instructing import Instructing
from interlock.mcp import Servers
from interlock.memory import (
    AutoMemory,
    Excluded,
    LazyNotes,
    Places,
    Withheld,
    project_of,
    relevant,
    told,
)
from interlock.memory import told_in as notes_in
from interlock.memory.relevant import Choose
from interlock.options import Options
from interlock.permissions import ChildGate, Gate
from interlock.planning import Planning
from interlock.plugins import Plugins
from interlock.prompt import Part, estimated_tokens
from interlock.settings import Settings
from interlock.skilled import SkillNews, SkillSource, UsedSkills
from interlock.skills import Skill, SkillBook
from interlock.speech import Speech
from interlock.tools import Tool
from interlock.touching import touched
from phases.world.loop import Loop
from phases.world.messages import Json, Kind, Message, encoded
from phases.world.size import BYTES_PER_TOKEN

Copy = tuple[Path, Path]  # of a tree, and that tree

_FETCHES = "Skill"  # the tool
_WRITERS = frozenset({"Write", "Edit", "MultiEdit"})
_NAMES = {"base": "system prompt", "appended": "appended to it", PROJECT: "note files"}
_FOR_THE_TITLE = 200  # bytes of a keepsake that are not its text


@define(kw_only=True)
class Knowledge:
    """One agent's."""

    notes: LazyNotes
    memory: AutoMemory | None  # None: switched off
    instructing: Instructing
    plugins: Plugins | None = None  # whose skills are among these
    front: dict[str, int] = field(factory=dict)  # tokens of what stands before the conversation
    files_told: set[Path] = field(factory=set)  # that prefetches have told of

    @classmethod
    def of(
        cls, options: Options, settings: Settings, cwd: Path, gate: Gate, session_id: str
    ) -> Knowledge:
        """With the agent's own folders opened to it: its memory, the files of skills."""
        instructing = Instructing(
            book=book_of(settings, cwd, gate.withholds, options.skills, options.shipped),
            gate=gate,
            borrower=gate,
            session_id=session_id,
            lends=options.lent_tools,
            runs=options.skill_shell,
            hooked=options.lent_hooks,
        )
        instructing.open_folders()
        memory = memory_of(options, settings, cwd, gate.withholds)
        if memory is not None:
            own = memory.folder.resolve()
            gate.judge = evolve(gate.judge, writable=(*gate.judge.writable, own))
        notes = notes_of(options, settings, cwd, gate.withholds)
        return cls(notes=notes, memory=memory, instructing=instructing, plugins=options.plugins)

    def child(
        self,
        gate: ChildGate,
        inherited: Sequence[Message] | None = None,
        memory: AutoMemory | None = None,
    ) -> Knowledge:
        """That of a child: the same notes and skills, told in its own conversation, and a memory
        of its own; what skills lend is lent to it alone. A fork knows already what the
        conversation it `inherited` tells.
        """
        fork = inherited is not None
        one = evolve(
            self,
            notes=self.notes.anew(gate.withholds),
            memory=None if memory is None else evolve(memory, withheld=gate.withholds),
            instructing=self.instructing.child(gate, fork=fork),
            front={},
            files_told=set(self.files_told) if fork else set(),
        )
        one.recall(inherited or ())
        return one

    def elsewhere(
        self, root: Path, copy: Copy, options: Options, settings: Settings, withheld: Withheld
    ) -> Knowledge:
        """The same for an agent that works in a copy of the tree: with the notes and skills that
        lie there. Skills of the tree itself, which may be in no commit, are known as well."""
        there, here = notes_of(options, settings, root, withheld, copy), self.instructing.book
        folders = (*here.folders, *there.places.folders)
        book = SkillBook.of(here.home, folders, here.budget, here.only, withheld, here.shipped)
        return evolve(self, notes=there, instructing=evolve(self.instructing, book=book))

    def takes_calls(self, calling: Calling) -> None:
        """From now on texts can call what they ask for."""
        self.instructing.calling = calling

    def speech(
        self,
        planning: Planning,
        servers: Servers,
        families: Mapping[str, str],
        spend: Callable[[str | None], None],
    ) -> Speech:
        """Who says what a prompt means. `families` are the models that short names stand for;
        `spend` is told the effort that is meant for its answers."""
        calling = self.instructing.calling
        assert calling is not None
        return Speech(
            instructing=self.instructing,
            calling=calling,
            planning=planning,
            ids=calling.ids,
            servers=servers,
            families=families,
            spend=spend,
        )

    def turn_back(self, messages: Iterable[Message]) -> None:
        """Forget what was told after these messages: they are the conversation now."""
        self.notes.forget()
        self.files_told.clear()
        self.instructing.forget()
        self.recall(messages)

    def recall(self, messages: Iterable[Message]) -> None:
        """Take up what an earlier process told."""
        told = tuple(messages)
        self.notes.recall(message.text for message in told if message.kind is Kind.NOTE)
        self.files_told |= set(files_told(told))
        self.instructing.recall(told)

    # --- in front of every request -----------------------------------------------------------

    def in_system(self, offered: Mapping[str, Tool]) -> str:
        """The part of the system prompt about the memory; "" without one."""
        if self.memory is None:
            return ""
        return self.memory.told(writes=not _WRITERS.isdisjoint(offered))

    def in_front(self, offered: Iterable[str]) -> str | None:
        """The message in front of the conversation of an agent with these tools, or None."""
        return user_context(self._context(offered))

    def _context(self, offered: Iterable[str]) -> dict[str, str]:
        # Without the tool that fetches them a list of skills would only mislead.
        skills = self.instructing.book.listing if _FETCHES in offered else ""
        return {PROJECT: told(self.notes.start), SKILLS: skills}

    def weigh(
        self, system: Sequence[Part], offered: Iterable[str], specs: Sequence[Mapping[str, Json]]
    ) -> None:
        """Note how large each part is that stands before the conversation, in its order."""
        sizes = {part.name: part.tokens for part in system}
        sizes["tools"] = round(len(encoded(specs)) / BYTES_PER_TOKEN)
        sizes |= {name: estimated_tokens(text) for name, text in self._context(offered).items()}
        self.front = {_NAMES.get(name, name): size for name, size in sizes.items() if size}

    @property
    def in_front_of(self) -> str:
        """What that message holds, in words for a person."""
        files = ", ".join(str(note.path) for note in self.notes.start)
        return f"the notes of {files}" if files else "the list of skills"

    # --- later -------------------------------------------------------------------------------

    def beside(self, tools: Mapping[str, Tool]) -> tuple[Beside, ...]:
        """What may have to be told between two turns."""
        notes = TouchedNotes(self.notes, tools)
        if _FETCHES not in tools:
            return (notes,)
        return (notes, SkillNews(self.instructing, tools, self.notes.places.top.resolve()))

    def prefetches(self, choose: Choose | None) -> tuple[PrefetchSource, ...]:
        """What is looked up beside the first request of each prompt."""
        skills = SkillSource(self.instructing.book)
        return (skills,) if self.memory is None else (MemorySource(self.memory, choose), skills)

    @property
    def keepsakes(self) -> tuple[Keepsakes, ...]:
        """What is put back beside a summary."""
        return (ToldNotes(self.notes), UsedSkills(self.instructing))


def notes_of(
    options: Options, settings: Settings, cwd: Path, withheld: Withheld, copy: Copy | None = None
) -> LazyNotes:
    """The note files for an agent in `cwd`, those of its start read, but for what is withheld."""
    excluded = Excluded(options.notes_excluded, copy)
    return LazyNotes.of(Places(cwd=cwd, home=settings.home, excluded=excluded, withheld=withheld))


def book_of(
    settings: Settings,
    cwd: Path,
    withheld: Withheld,
    only: Iterable[str] | None = None,
    shipped: tuple[Skill, ...] = (),
) -> SkillBook:
    """The skills and commands of the user, of the project that `cwd` belongs to, of plugins."""
    folders = Places(cwd=cwd, home=settings.home).folders
    budget = int(settings.limits.skill_listing_budget * BYTES_PER_TOKEN)
    return SkillBook.of(settings.home, folders, budget, only, withheld, shipped)


def memory_of(
    options: Options, settings: Settings, cwd: Path, withheld: Withheld
) -> AutoMemory | None:
    """The memory of the project that `cwd` belongs to; None where it is switched off."""
    if not options.auto_memory or settings.auto_memory is False:
        return None
    usual = settings.home / "projects" / project_key(project_of(cwd)) / "memory"
    return AutoMemory(folder=options.memory_folder or usual, withheld=withheld)


@frozen
class TouchedNotes:
    """The note files of folders that the last turn worked in."""

    notes: LazyNotes
    tools: Mapping[str, Tool]

    async def news(self, loop: Loop) -> Sequence[str]:
        paths = touched(loop, self.tools)
        if not paths:
            return ()
        view = (*loop.now.view, *loop.state.messages)
        standing = {
            path
            for message in view
            if message.kind is Kind.NOTE
            for path in notes_in(message.text)
        }
        text = self.notes.touched(paths, standing)
        return () if text is None else (text,)


@frozen
class ToldNotes:
    """Note files that came in the course of the conversation, whole, as they are now."""

    notes: LazyNotes

    async def keepsakes(self, budget: int) -> Sequence[Keepsake]:
        text = self.notes.again(int(budget * BYTES_PER_TOKEN) - _FOR_THE_TITLE)
        return () if text is None else (Keepsake("Notes of files you worked with", text),)


@frozen
class MemorySource:
    """Files of the memory folder that may help with a prompt."""

    memory: AutoMemory
    choose: Choose | None
    name: str = "memory"

    async def find(self, prompt: str) -> tuple[Found, ...]:
        topics = await relevant(self.memory, prompt, self.choose)
        return tuple(
            Found(title=topic.about or topic.name, text=topic.text, path=topic.path)
            for topic in topics
        )
