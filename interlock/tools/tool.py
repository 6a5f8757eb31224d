"""What a tool is, and what it is given to run with.

The defaults are the careful ones: a tool that says nothing about itself may change the world,
runs alone, and needs approval. A new tool is one file here and one line in `registry.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

from attrs import define, field, frozen

from interlock.tools.paths import PathMoved, resolved
from interlock.tools.reads import FileReads
from phases.world.limits import Limits
from phases.world.messages import Json, Media, Text

Arguments = Mapping[str, Json]


class ToolError(Exception):
    """The call failed in a way the model should read about. The text is written for it."""


@frozen
class Output:
    """What a tool has to say. Text over the cap is cut by the executor, head and tail kept."""

    content: str | tuple[Text | Media, ...]
    is_error: bool = False
    timed_out: bool = False  # ended at a time limit of the tool's own
    loads: tuple[str, ...] = ()  # tools that the model may call from now on; then nothing is said


@frozen(kw_only=True)
class Touches:
    """What a call would read, write, run or ask: what permissions are about. Paths are real;
    `named` holds them as written, made absolute, for deny rules that name a link."""

    reads: tuple[Path, ...] = ()
    writes: tuple[Path, ...] = ()
    named: tuple[Path, ...] = ()
    command: str | None = None
    domain: str | None = None  # the host of the network that is asked
    about: str | None = None  # what a rule's specifier is held against, if no argument says it


NO_NAMES: Mapping[str, str] = MappingProxyType({})


def _silent(text: str) -> None:
    """Progress that nobody watches."""


def _nothing() -> str:
    return ""


def _hides_nothing(path: Path) -> bool:
    return False


def keeps_nothing(path: Path, before: bytes | None, after: bytes | None) -> object:
    """Changes that nobody wants to take back."""
    return None


@define(kw_only=True)
class ToolContext:
    """One call's surroundings. A tool writes to `cwd` and `so_far` only."""

    cwd: Path
    root: Path  # the folder the session works in: where to fall back to
    limits: Limits
    reads: FileReads
    spill: Path  # the folder for outputs too long to be shown; made when needed
    call_id: str = "call"  # as a part of a file's name
    use_id: str = "call"  # as the model gave it
    granted: frozenset[Path] | None = None  # the real paths that were permitted; None: any
    progress: Callable[[str], None] = _silent
    hides: Callable[[Path], bool] = _hides_nothing  # files that searches must leave out
    # Told of a change to a file right before it is made: its real path, what it holds, what it
    # will. None: no file. Called from any thread; never raises.
    keep: Callable[[Path, bytes | None, bytes | None], object] = keeps_nothing
    so_far: Callable[[], str] = field(default=_nothing)  # asked for if the call is interrupted

    def path(self, written: str) -> Path:
        """The real path of what the model wrote; the one that was permitted, or an error."""
        real = resolved(written, self.cwd)
        if self.granted is not None and real not in self.granted:
            raise PathMoved(f"{written} leads to another file than when it was permitted")
        return real


class Tool(ABC):
    """A tool. Subclasses set the attributes, or their `__init__` does."""

    name: str
    description: str  # for the model
    input_schema: Mapping[str, Json]
    time_limit: float | None = 120.0  # seconds; None: it keeps its own
    also: tuple[str, ...] = ()  # other names that a call may give it
    also_arguments: Mapping[str, str] = (
        NO_NAMES  # other names of arguments, and the ones they have
    )
    falls_with_siblings: bool = False  # one of its calls that fails ends those that run beside it

    def named(self, given: Arguments) -> Arguments:
        """The arguments of a call, by the names that they have here."""
        if given.keys().isdisjoint(self.also_arguments):
            return given
        here = {self.also_arguments.get(name, name): value for name, value in given.items()}
        # What goes by its own name counts, if both are given.
        return {**here, **{name: given[name] for name in here if name in given}}

    def effects(self, arguments: Arguments) -> bool:
        """Whether the call may change anything outside this process."""
        return True

    def concurrency_safe(self, arguments: Arguments) -> bool:
        """Whether the call may run beside any other call that says so too."""
        return False

    def touches(self, arguments: Arguments, cwd: Path) -> Touches:
        return Touches()

    async def preview(self, arguments: Arguments, context: ToolContext) -> str | None:
        """What a person who is asked sees: a diff, say. May raise `ToolError`."""
        return None

    @abstractmethod
    async def run(self, arguments: Arguments, context: ToolContext) -> Output:
        """Do it. Cancelled on an interrupt: whatever was started must end then."""

    def close(self) -> None:  # noqa: B027 (most tools have nothing to end)
        """The session is over; end what still runs. May be called twice."""

    def wire(self) -> dict[str, Json]:
        """As the Messages API wants it."""
        return {
            "name": self.name,
            "description": self.description,
            "input_schema": self.input_schema,
        }
