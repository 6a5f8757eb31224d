"""Any sequence of changes, by the agent and by others, and of ways back."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.checkpoints.changes import change, checkpoints_in, rewind


class Session(RuleBasedStateMachine):
    """An agent, other people and rewinds on two files, against a model that remembers all.

    The model, for each point: what each file held when the agent first touched it from there on,
    and which files somebody else has changed after that. Every content is new, so whose it is is
    never a guess.
    """

    NAMES: ClassVar[tuple[str, ...]] = ("a.txt", "sub/b.txt")
    names = st.sampled_from(NAMES)

    @initialize(first=st.lists(st.booleans(), min_size=2, max_size=2))
    def begin(self, first: list[bool]) -> None:
        self.room = TemporaryDirectory()
        self.work = Path(os.path.realpath(self.room.name))
        self.kept = checkpoints_in(self.work)
        self.count = 0
        self.wanted: dict[str, dict[str, str | None]] = {}
        self.foreign: dict[str, set[str]] = {}
        for name, there in zip(self.NAMES, first, strict=True):
            if there:
                self.somebody_writes(name)
        self.prompt()

    def teardown(self) -> None:
        if hasattr(self, "room"):
            self.room.cleanup()

    def new(self, whose: str) -> str:
        self.count += 1
        return f"{whose} {self.count}"

    def holds(self, name: str) -> str | None:
        path = self.work / name
        return path.read_text() if path.exists() else None

    def point(self, name: str) -> None:
        self.wanted[name], self.foreign[name] = {}, set()

    def touch(self, name: str, held: str | None) -> None:
        for wanted in self.wanted.values():
            wanted.setdefault(name, held)

    @rule()
    def prompt(self) -> None:
        name = self.new("p")
        self.kept.begin(name)
        self.point(name)

    @rule()
    def resume(self) -> None:
        self.kept = checkpoints_in(self.work)
        self.prompt()

    @rule(name=names)
    def agent_writes(self, name: str) -> None:
        self.touch(name, self.holds(name))
        change(self.kept, self.work / name, self.new("the agent's"))

    @rule(name=names)
    def agent_is_killed_before_it_writes(self, name: str) -> None:
        now = self.holds(name)
        self.touch(name, now)
        before = None if now is None else now.encode()
        self.kept.before_change(self.work / name, before, self.new("never").encode())

    @rule(name=names)
    def somebody_writes(self, name: str) -> None:
        path = self.work / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(self.new("theirs"))
        for point, wanted in self.wanted.items():
            if name in wanted:
                self.foreign[point].add(name)

    @rule(data=st.data(), force=st.booleans())
    def rewind(self, data: st.DataObject, force: bool) -> None:
        to = data.draw(st.sampled_from(sorted(self.wanted)))
        before = {name: self.holds(name) for name in self.NAMES}
        undo = self.new("r")
        named = [self.work / name for name in self.NAMES] if force else []

        done = rewind(self.kept, to, undo, *named)

        left = {str(each.path.relative_to(self.work)) for each in done.left}
        self.point(undo)
        for name in self.NAMES:
            wanted = self.wanted[to].get(name, before[name])
            theirs = name in self.foreign[to] and not force
            assert self.holds(name) == (before[name] if theirs else wanted)
            assert (name in left) == (theirs and before[name] != wanted)
            if self.holds(name) != before[name]:
                self.touch(name, before[name])

    @invariant()
    def nothing_but_the_files_is_in_the_project(self) -> None:
        if hasattr(self, "work"):
            found = (path.relative_to(self.work) for path in self.work.rglob("*.*"))
            there = {str(path) for path in found if path.parts[0] != "session"}
            assert there <= set(self.NAMES)


TestSession = Session.TestCase
TestSession.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
