"""A rewind as a person meets it: a list of prompts, what it would do with its diff, a question.

The same at the terminal of a session (`/rewind`) and on the command line (`interlock rewind`).
Knows neither how questions are asked nor who carries a rewind out.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from attrs import evolve, frozen

from interlock.checkpoints import Checkpoints
from interlock.checkpoints.plan import Left
from interlock.checkpoints.shown import NOT_COVERED, lines_of
from interlock.counted import counted
from interlock.errors import UsageError
from interlock.home import SessionPaths
from interlock.rewinding import Rewind, Rewound, What, plan, point_named, points
from interlock.sessions import Point, Points
from interlock.sessions.points import when
from interlock.tools import Person, UserQuestion
from interlock.tools.ask_user import Option
from interlock.tools.paths import absolute, shown

_SHOWN = 30  # prompts of a list: a screen's worth
_NOTHING = "nothing"
_YES, _NO, _TOO = "yes", "no", "yes, and the files that would be left"
_WHAT = {
    What.BOTH: "conversation and files",
    What.FILES: "files only",
    What.CONVERSATION: "conversation only",
}
_SHORT = {"y": _YES, "n": _NO, **{str(what): label for what, label in _WHAT.items()}}


@frozen(kw_only=True)
class Desk:
    """One rewind, asked for and agreed on. What is None is asked."""

    paths: SessionPaths
    cwd: Path
    person: Person
    say: Callable[[str], None]
    warn: Callable[[str], None]
    older: str  # where prompts are that a list leaves out
    undo: str  # what to type, before the id of a rewind
    by_flag: bool = False  # a file is forced with --force; else by an answer
    name: str | None = None  # of the prompt
    what: What | None = None
    force: frozenset[Path] = frozenset()
    sure: bool = False  # nobody is asked whether to do it

    async def agreed(self) -> Rewind | None:
        """What the person wants to be done, once it was shown; None: nothing.

        Raises UsageError.
        """
        found = self._points()
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
        found = self._points()
        rewind = plan(
            self.paths, found, point_named(found.points, self.name or ""), what, self.force
        )
        self._say_all(rewind)
        return rewind

    def list(self, *, whole: bool = False) -> None:
        """A line for each prompt, the newest ones if not the `whole` list is asked for."""
        found = self._points().points
        first = 1 if whole else _first(found)
        if first > 1:
            self.say(f"  …  {self._left_out(first)}")
        for number, label in enumerate(labels(found[first - 1 :]), first):
            self.say(f"{number:>3}  {label}")

    def lines(self, rewind: Rewind) -> Iterator[str]:
        """What would be done, with the diff of each file."""
        way = "undo" if rewind.point.rewind else "back to before"
        yield f"{way}: {rewind.point.line[:200]}  ({_WHAT[rewind.what]})"
        files = rewind.files
        if files is None:
            return
        if files.unknown:
            yield "no checkpoints were kept at that prompt: the files stay as they are"
            return
        yield from lines_of(files, Checkpoints.of(self.paths.folder).contents, self.cwd)
        if not files.back and not files.left:
            yield "no file that the agent changed since then has to go back"
        if self.by_flag and (forcible := _forcible(files.left)):
            yield f"to take back what others changed too: {self._flags(forcible)}"
        yield NOT_COVERED

    def tell(self, rewind: Rewind, done: Rewound) -> None:
        """What was done, and how to undo it."""
        told = []
        if rewind.turns_back:
            told.append("the conversation is back")
        if done.back:
            told.append(f"{counted(len(done.back), 'file')} put back")
        if done.left:
            told.append(f"{counted(len(done.left), 'file')} left as {_it_is(len(done.left))}")
        said = ", ".join(told) if told else "nothing had to be changed"
        self.say(f"rewound: {said}; undo it with: {self.undo} {done.id[:8]}")
        planned = () if rewind.files is None else rewind.files.left
        for left in done.left:
            if left not in planned:  # shown before, else
                self.say(f"! {shown(left.path, self.cwd)}: {left.why}")
        if forcible := _forcible(done.left):
            self.say(self._how_to_force(rewind, done, forcible))

    def _how_to_force(self, rewind: Rewind, done: Rewound, forcible: frozenset[Path]) -> str:
        again = f"{self.undo} {rewind.point.id[:8]}"
        if self.by_flag:
            again += f" --{rewind.what} {self._flags(forcible)}"
        else:
            again += f", and say {_TOO!r}"
        # Once the conversation is back the prompt is no longer in it.
        first = f"{self.undo} {done.id[:8]}, then " if rewind.turns_back else ""
        return f"to take back what others changed too: {first}{again}"

    def _flags(self, forcible: frozenset[Path]) -> str:
        names = (shlex.quote(shown(path, self.cwd)) for path in sorted(forcible))
        return " ".join(f"--force {name}" for name in names)

    def _points(self) -> Points:
        found = points(self.paths)
        for line in found.damage:
            self.warn(line)
        return found

    def _left_out(self, first: int) -> str:
        earlier = "1 earlier prompt" if first == 2 else f"{first - 1:,} earlier prompts"
        return f"{earlier}; {self.older}"

    async def _settled(self, found: Points, point: Point, what: What) -> Rewind | None:
        """Shown, and asked about until the person agrees or does not."""
        rewind = plan(self.paths, found, point, what, self.force)
        if self.sure:
            self._say_all(rewind)
            return rewind
        blocked = _forcible(rewind.files.left) if rewind.files else frozenset[Path]()
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
        first = _first(found)
        offered = labels(found[first - 1 :])
        left_out = (self._left_out(first),) if first > 1 else ()

        def named(words: str) -> str:
            """The number or the words of a prompt that is not offered will do as well."""
            return point_named(found, words).id

        said = await self._asked(
            "Go back to before which prompt?",
            (*offered, _NOTHING),
            before=left_out,
            first=first,
            otherwise=named,
        )
        if said in offered:
            return found[first - 1 + offered.index(said)]
        return next((point for point in found if point.id == said), None)

    async def _what(self) -> What | None:
        said = await self._asked("What goes back?", (*_WHAT.values(), _NOTHING))
        return next((what for what, label in _WHAT.items() if label == said), None)

    async def _asked(
        self,
        question: str,
        options: tuple[str, ...],
        *,
        before: tuple[str, ...] = (),
        first: int = 1,
        otherwise: Callable[[str], str] | None = None,
    ) -> str:
        """One of the options, or what `otherwise` makes of other words; empty if nobody said
        anything. What is neither is asked about again: no file hangs on a slip.
        """
        offered = tuple(Option(label=label) for label in options)
        asked = UserQuestion(
            question=question, header="rewind", options=offered, before=before, first=first
        )
        while True:
            answers = await self.person.answer([asked])
            if answers is None:
                raise UsageError(
                    "nobody is here to be asked: --to names the prompt, --yes does it, --dry-run "
                    "only shows"
                )
            (answer,) = answers
            said = answer.chosen[0] if answer.chosen else answer.words.strip()
            meant = said if not said or answer.chosen else _meant(said, options)
            if meant is not None:
                return meant
            problem = f"{said!r} is none of the answers"
            try:
                if otherwise is not None:
                    return otherwise(said)
            except UsageError as error:
                problem = str(error)
            asked = evolve(asked, before=(f"! {problem}",))


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


def _meant(said: str, options: Sequence[str]) -> str | None:
    """The one option that the words are, or are the beginning of."""
    words = said.casefold()
    if (whole := _SHORT.get(words, words)) in options:
        return whole
    fitting = [option for option in options if option.casefold().startswith(words)]
    return fitting[0] if len(fitting) == 1 else None


def _first(found: Sequence[Point]) -> int:
    """The number of the first prompt that is listed."""
    return max(1, len(found) - _SHOWN + 1)


def _forcible(left: Sequence[Left]) -> frozenset[Path]:
    return frozenset(one.path for one in left if one.can_force)


def _it_is(files: int) -> str:
    return "it is" if files == 1 else "they are"
