"""A rewind as a person meets it: a list of prompts, what it would do with its diff, a question.

The same at the terminal of a session (`/rewind`) and on the command line (`interlock rewind`).
Knows neither how questions are asked nor who carries a rewind out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from attrs import evolve, frozen

from interlock.checkpoints import NOT_COVERED, Checkpoints, Plan, lines_of
from interlock.errors import UsageError
from interlock.home import SessionPaths
from interlock.rewinding import Rewind, Rewound, What, plan, point_named, points
from interlock.sessions import Point, Points
from interlock.sessions.points import when
from interlock.tools import Person, UserQuestion
from interlock.tools.ask_user import Option
from interlock.tools.deciding import NO, YES, decided
from interlock.tools.paths import absolute, shown

_NOTHING = "nothing"
_YES, _NO, _TOO = "yes", "no", "yes, and the files that would be left"
_WHAT = {
    What.BOTH: "conversation and files",
    What.FILES: "files only",
    What.CONVERSATION: "conversation only",
}


@frozen(kw_only=True)
class Desk:
    """One rewind, asked for and agreed on. What is None is asked."""

    paths: SessionPaths
    cwd: Path
    person: Person
    say: Callable[[str], None]
    undo: str  # what to type, before the id of a rewind
    name: str | None = None  # of the prompt
    what: What | None = None
    force: frozenset[Path] = frozenset()
    sure: bool = False  # nobody is asked whether to do it

    async def agreed(self) -> Rewind | None:
        """What the person wants to be done, once it was shown; None: nothing.

        Raises UsageError.
        """
        found = points(self.paths)
        if self.name is None:
            point = await self._picked(found.points)
        else:
            point = point_named(found.points, self.name)
        if point is None:
            return None
        what = self.what or await self._what()
        return None if what is None else await self._settled(found, point, what)

    def planned(self, what: What) -> Rewind:
        """The same without asking anybody: shown, not done. Raises UsageError."""
        found = points(self.paths)
        rewind = plan(
            self.paths, found, point_named(found.points, self.name or ""), what, self.force
        )
        self._say_all(rewind)
        return rewind

    def list(self) -> None:
        """A line for each prompt."""
        for number, label in enumerate(labels(points(self.paths).points), 1):
            self.say(f"{number:>3}  {label}")

    def lines(self, rewind: Rewind) -> Iterator[str]:
        """What would be done, with the diff of each file."""
        yield f"back to before: {rewind.point.line[:200]}  ({_WHAT[rewind.what]})"
        files = rewind.files
        if files is None:
            return
        if files.unknown:
            yield "no checkpoints were kept at that prompt: the files stay as they are"
            return
        yield from lines_of(files, Checkpoints.of(self.paths.folder).contents, self.cwd)
        if not files.back and not files.left:
            yield "no file that the agent changed since then has to go back"
        yield NOT_COVERED

    def tell(self, rewind: Rewind, done: Rewound) -> None:
        """What was done, and how to undo it."""
        told = []
        if rewind.turns_back:
            told.append("the conversation is back")
        if done.back:
            told.append(f"{_counted(len(done.back))} put back")
        if done.left:
            told.append(f"{_counted(len(done.left))} left as they are")
        said = ", ".join(told) if told else "nothing had to be changed"
        self.say(f"rewound: {said}; undo it with: {self.undo} {done.id[:8]}")
        planned = () if rewind.files is None else rewind.files.left
        for left in done.left:
            if left not in planned:  # shown before, else
                self.say(f"! {shown(left.path, self.cwd)}: {left.why}")

    async def _settled(self, found: Points, point: Point, what: What) -> Rewind | None:
        """Shown, and asked about until the person agrees or does not."""
        rewind = plan(self.paths, found, point, what, self.force)
        if self.sure:
            self._say_all(rewind)
            return rewind
        blocked = _forcible(rewind.files)
        options = (_YES, *((_TOO,) if blocked else ()), _NO)
        match await self._asked("Do it?", options, before=tuple(self.lines(rewind))):
            case "yes":
                return rewind
            case said if said == _TOO:
                # Their diff has not been seen yet: shown before it is asked again.
                more = evolve(self, force=self.force | blocked)
                return await more._settled(found, point, what)
        return None

    def _say_all(self, rewind: Rewind) -> None:
        for line in self.lines(rewind):
            self.say(line)

    async def _picked(self, found: Sequence[Point]) -> Point | None:
        offered = labels(found)
        said = await self._asked("Go back to before which prompt?", (*offered, _NOTHING))
        return found[offered.index(said)] if said in offered else None

    async def _what(self) -> What | None:
        said = await self._asked("What goes back?", (*_WHAT.values(), _NOTHING))
        return next((what for what, label in _WHAT.items() if label == said), None)

    async def _asked(
        self, question: str, options: tuple[str, ...], *, before: tuple[str, ...] = ()
    ) -> str:
        words = {_YES: YES, _NO: NO, _NOTHING: NO}
        offered = tuple(Option(label=label, also=words.get(label, ())) for label in options)
        asked = UserQuestion(question=question, header="rewind", options=offered, before=before)
        said = await decided(self.person, asked)
        if said is None:
            raise UsageError(
                "nobody is here to be asked: --to names the prompt, --yes does it, --dry-run only "
                "shows"
            )
        return said


def labels(found: Sequence[Point]) -> list[str]:
    """A line for each point; no two are the same."""
    told: list[str] = []
    for point in found:
        undo = "(undo) " if point.rewind else ""
        label = f"{when(point):>10}  {undo}{point.line[:90]}"
        told.append(f"{label}  [{point.id[:8]}]" if label in told else label)
    return told


def forced(named: Sequence[str], cwd: Path) -> frozenset[Path]:
    """Real paths of files that go back although others changed them."""
    return frozenset(absolute(each, cwd).resolve() for each in named)


def _forcible(files: Plan | None) -> frozenset[Path]:
    return frozenset(left.path for left in files.left if left.can_force) if files else frozenset()


def _counted(files: int) -> str:
    return "1 file" if files == 1 else f"{files} files"
