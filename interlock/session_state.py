"""What a session knows beside its messages, in a file of its own: so that it comes back.

The model and the mode, what a person allowed, the shell's folder and variables, todos, what files
held when they were read, how often the history was compacted. The file is replaced whole, so a
crash leaves the old one; it may hold secrets that a command exported, and only its owner can read
it. What it all cost is in a file that only grows (`spending`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

import orjson
from attrs import Attribute, define, evolve, field, fields, frozen, resolve_types
from cattrs import Converter

from interlock.durability import Disk, Moment, mend_of
from interlock.permissions import Gate, give, given_to
from interlock.regular_files import read_regular
from interlock.sessions import Transcript
from interlock.sessions.transcript import private_folder
from interlock.tools import FileReads, TodoList
from interlock.tools.bash import Bash
from interlock.tools.shell_state import ShellState
from phases.world.loop import NEVER_COMPACTED, AutoCompactTracking
from phases.world.messages import Message, encoded
from phases.world.updates import Notice, Show, Todo, Update

_converter = Converter(detailed_validation=False)
_AT_MOST_EVERY_S = 1.0  # numbers that only grow: a write per call would cost more than it is worth


@frozen(kw_only=True)
class SessionState:
    """The file's content. What a part means is its owner's affair."""

    model: str | None = None
    permission_mode: str | None = None
    given: Mapping[str, Any] | None = None  # permissions
    shell: Mapping[str, Any] | None = None
    todos: tuple[Todo, ...] = ()
    reads: Mapping[str, str] = field(factory=dict)
    tracking: AutoCompactTracking = NEVER_COMPACTED
    loaded: tuple[str, ...] = ()  # tools that were found by ToolSearch
    readable: tuple[str, ...] = ()  # folders with results of the sessions it branched from


@frozen
class Loaded:
    """A state, and what of it begins anew, if there is a reason to tell."""

    state: SessionState
    problem: str | None = None


_PARTS = {  # as a person knows them
    "model": "the model",
    "permission_mode": "the permission mode",
    "given": "permissions",
    "shell": "the shell's folder and variables",
    "todos": "todos",
    "reads": "the files that were read",
    "tracking": "earlier compactions",
    "loaded": "tools that were found",
    "readable": "folders of long results",
}


def load(path: Path) -> Loaded:
    """The state in the file at `path`: each part that can be used, whatever the others are."""
    try:
        data = orjson.loads(read_regular(path))
    except FileNotFoundError:
        return Loaded(SessionState())  # another program's session, or one that did not come far
    except OSError as error:
        return Loaded(SessionState(), _unusable(path, error.strerror or str(error)))
    except orjson.JSONDecodeError:
        return Loaded(SessionState(), _unusable(path, "no JSON"))
    if not isinstance(data, dict):
        return Loaded(SessionState(), _unusable(path, "no JSON object"))
    known = {each.name: each for each in fields(resolve_types(SessionState))}
    parts = {name: _part(data[name], each) for name, each in known.items() if name in data}
    usable = {name: part for name, part in parts.items() if part is not _UNUSABLE}
    lost = [_PARTS[name] for name in parts.keys() - usable.keys()]
    problem = f"{path}: what it says of {', '.join(sorted(lost))} cannot be used; that begins anew"
    return Loaded(SessionState(**usable), problem if lost else None)


_UNUSABLE = object()


def _part(said: object, kind: Attribute[Any]) -> Any:
    """One part as its type, if that is what was said: a converter takes `5` for a text, too."""
    try:
        part = _converter.structure(said, kind.type)  # type: ignore[arg-type]
        same = orjson.loads(encoded(_converter.unstructure(part))) == said
    except Exception:  # cattrs raises whatever the first wrong value leads to
        return _UNUSABLE
    return part if same else _UNUSABLE


def _unusable(path: Path, why: str) -> str:
    return f"{path} cannot be used ({why}): mode, permissions, folder and todos begin anew"


def turn_back(path: Path) -> str | None:
    """As `Keeping.turn_back`, for a session that nobody has open; what of it begins anew, if
    that is to be told. Raises OSError.
    """
    loaded = load(path)
    if path.exists():
        state = evolve(loaded.state, reads={}, todos=(), tracking=NEVER_COMPACTED)
        _replace(path, encoded(_converter.unstructure(state)), Disk())
    return loaded.problem


def _nobody(update: Update) -> None:
    """Nobody watches."""


@define(kw_only=True)
class Keeping:
    """Keeps the file of one session up to date. A failure is told once, until it is past."""

    path: Path
    transcript: Transcript  # without its file nothing was said, and nothing is kept
    show: Show = _nobody
    gate: Gate
    todos: TodoList
    reads: FileReads
    shell: Bash | None
    loaded: Sequence[str] = ()  # grows
    readable: tuple[str, ...] = ()
    _kept: tuple[object, ...] = ()
    _at: float = 0.0
    _failed: bool = False

    def take_up(self, state: SessionState) -> str | None:
        """Give all parts what they had; what could not be given."""
        self.todos.todos = state.todos
        problems = []
        parts: dict[str, Callable[[SessionState], None]] = {
            "permissions": self._permissions,
            "the files that were read": self._reads,
            "the shell's folder and variables": self._shell,
        }
        for what, take in parts.items():
            try:
                take(state)
            except (ValueError, KeyError, TypeError, AttributeError):
                problems.append(what)
        if not problems:
            return None
        return f"{self.path}: what it says of {', '.join(problems)} cannot be used"

    def _permissions(self, state: SessionState) -> None:
        if state.given is not None:
            give(self.gate, state.given)

    def _reads(self, state: SessionState) -> None:
        self.reads.take_up(state.reads)

    def _shell(self, state: SessionState) -> None:
        if state.shell is not None and self.shell is not None:
            self.shell.state = ShellState.of_data(state.shell)

    def turn_back(self, messages: Sequence[Message]) -> None:
        """The history is an earlier one. What was read since is unknown to the model, and no one
        knows what it read before: it reads again what it wants to change."""
        self.reads.forget()
        self.todos.todos = ()
        self.todos.recall(messages)

    def save(self, model: str, tracking: AutoCompactTracking, *, at_once: bool = False) -> None:
        """Write it down, if there is something new. Never raises: the run goes on without."""
        shell = self.shell.state if self.shell is not None else None
        given = (len(self.gate.changes), len(self.gate.grants))
        kept = (model, tracking, self.gate.mode, given, shell, self.todos.todos, len(self.loaded))
        soon = monotonic() - self._at < _AT_MOST_EVERY_S
        if (kept == self._kept and soon and not at_once) or not self.transcript.path.exists():
            return
        state = SessionState(
            model=model,
            permission_mode=self.gate.mode.value,
            given=given_to(self.gate),
            shell=None if shell is None else shell.as_data(),
            todos=self.todos.todos,
            reads=self.reads.as_data(),
            tracking=tracking,
            loaded=tuple(self.loaded),
            readable=self.readable,
        )
        try:
            disk = self.transcript.disk
            sync = disk.wants(Moment.END if at_once else Moment.RECORD)
            _replace(self.path, encoded(_converter.unstructure(state)), disk if sync else None)
        except OSError as error:
            if not self._failed:
                self.show(Notice("warning", _not_kept(self.path, error)))
            self._failed = True
            return
        self._failed, self._kept, self._at = False, kept, monotonic()


def _not_kept(path: Path, error: OSError) -> str:
    why = f"{path} cannot be written: {error.strerror or error}"
    return f"a resume will not know permissions, folder and todos: {why}; {mend_of(error)}"


def _replace(path: Path, data: bytes, disk: Disk | None) -> None:
    """The new content or the old, whatever happens; never a mixture, never for other eyes.

    On a `disk` that wants it also where the power goes: the rename could get there first.
    """
    private_folder(path.parent)
    # Always the same name: the session has one writer, and what a crash left is written over.
    part = path.with_name(f"{path.name}.part")
    file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(file, "wb") as out:
            out.write(data)
            out.flush()
            if disk is not None:
                disk.sync(out.fileno())
        part.rename(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
