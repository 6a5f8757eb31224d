"""The skills of one conversation: what there is, what was told of it, what has changed since."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path

from attrs import define, evolve, field

from interlock.likeness import Likened, likest
from interlock.skills.finding import Catalogue, Mark, Withheld, catalogue, marks, told_freely
from interlock.skills.listing import changes, listing
from interlock.skills.skill import Kind, Skill

_MOST_LIKE = 3


@define(kw_only=True)
class SkillBook:
    """`folders` are those of the project, the most important last; more may come to light."""

    home: Path
    folders: tuple[Path, ...]
    budget: int  # characters of the list
    only: frozenset[str] | None = None  # the names of those that count; None: all
    withheld: Withheld = told_freely
    shipped: tuple[Skill, ...] = ()  # those of plugins
    found: Catalogue = field(factory=Catalogue)
    awake: set[str] = field(factory=set)  # skills for some files, such as were worked with
    listing: str = field(default="", init=False)  # for the model, as things were at the start
    _marks: tuple[Mark, ...] | None = field(default=None, init=False)
    _front: dict[str, str] = field(factory=dict, init=False)  # told in front of every request
    _told: dict[str, str] = field(factory=dict, init=False)  # that, and the news since

    @classmethod
    def of(
        cls,
        home: Path,
        folders: Iterable[Path],
        budget: int,
        only: Iterable[str] | None = None,
        withheld: Withheld = told_freely,
        shipped: tuple[Skill, ...] = (),
    ) -> SkillBook:
        chosen = None if only is None else frozenset(only)
        book = cls(
            home=home,
            folders=tuple(folders),
            budget=budget,
            only=chosen,
            withheld=withheld,
            shipped=shipped,
        )
        book.look()
        book._front = book._told = book._listed()
        book.listing = listing(book.shown, budget)
        return book

    def anew(self, *, fork: bool = False) -> SkillBook:
        """The same for another conversation with the same front; a fork was told the news too."""
        book = evolve(self, awake=set(self.awake) if fork else set())
        book._marks, book._front, book.listing = self._marks, self._front, self.listing
        book._told = self._told if fork else self._front
        return book

    @property
    def skills(self) -> dict[str, Skill]:
        return self.found.skills

    @property
    def shown(self) -> list[Skill]:
        """All but those for files that nobody has worked with yet."""
        return [one for one in self.skills.values() if not one.paths or one.name in self.awake]

    @property
    def asleep(self) -> list[Skill]:
        return [one for one in self.skills.values() if one.paths and one.name not in self.awake]

    def look(self, further: Iterable[Path] = ()) -> None:
        """Look again, also in folders that work has come to; costs little if nothing is new."""
        new = tuple(each for each in dict.fromkeys(further) if each not in self.folders)
        # Before the project's own: what lies deeper takes over no name from above.
        self.folders = (*new, *self.folders)
        now = marks(self.home, self.folders)
        if now != self._marks:
            found = catalogue(self.home, self.folders, self.withheld, self.shipped)
            self._marks, self.found = now, self._chosen(found)

    def ship(self, shipped: tuple[Skill, ...]) -> None:
        """These come with plugins from now on, in place of those that did. Where they were all
        that counts they are so again."""
        if self.only == frozenset(one.name for one in self.shipped):
            self.only = frozenset(one.name for one in shipped)
        self.shipped, self._marks = shipped, None
        self.look()

    def _chosen(self, found: Catalogue) -> Catalogue:
        """Commands stay: a person gives them, not the model."""
        if self.only is None:
            return found
        kept = {
            name: one
            for name, one in found.skills.items()
            if one.kind is Kind.COMMAND or name in self.only
        }
        return evolve(found, skills=kept)

    def news(self) -> str:
        """What has changed in the list since it was told; "" for nothing. Told once."""
        told = changes(self._told, self.shown).told
        self._told = self._listed()
        return told

    def forget(self) -> None:
        """The news stand in the conversation no more: they are told again."""
        self._told = self._front

    def difference(self) -> str:
        """How the list differs from the one in front of every request."""
        return changes(self._front, self.shown).told

    def find(self, name: str) -> Skill | None:
        """By its name, or by the last part of it where only one ends so."""
        name = name.removeprefix("/")
        if name in self.skills:
            return self.skills[name]
        ending = [skill for each, skill in self.skills.items() if each.endswith(f":{name}")]
        return ending[0] if len(ending) == 1 else None

    def nearest(self, name: str) -> str | None:
        near = get_close_matches(name.removeprefix("/"), self.skills, n=1)
        return near[0] if near else None

    def fitting(self, prompt: str) -> tuple[Skill, ...]:
        """Those whose name and description share rare words with the prompt."""
        listed = [skill for skill in self.shown if skill.listed]
        texts = [Likened(head=skill.name, body=skill.description) for skill in listed]
        return tuple(listed[at] for at in likest(prompt, texts, most=_MOST_LIKE))

    def _listed(self) -> dict[str, str]:
        listed = (skill for skill in self.shown if skill.listed)
        return {skill.name: skill.description for skill in listed}
