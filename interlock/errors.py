"""What can go wrong outside the loop. Each says it in one line that a person can act on.

InterlockError
├── UsageError          the command asks for what cannot be: a bad flag, no prompt, no key
│   ├── ConfigurationError   settings files that cannot be used: a line for each thing wrong
│   ├── OptionsError         options of the Python API: a line for each thing wrong
│   └── WrongLoop            the Python API was called where it cannot work
├── SettingsError       a setting cannot be used: what, where, how to mend it
├── TranscriptError     the transcript cannot be written or read
│   ├── CallsError      nor what becomes of tool calls: then none begins
│   ├── TraceFileError  nor the trace of a run: then it does not begin
│   ├── FolderError     nor the folder that they lie in
│   └── SessionBusy     another process is writing it
├── SessionNotFound     no session can be meant
│   └── SeveralSessions     several can
├── RunNotFound         no recorded run has that name
├── RunFailed           a run has no whole answer; only raised where that is asked for
├── EndingBroke         an ending rule of the caller's raised an error
└── BadTool             a function cannot be a tool (interlock/tools/decorate.py)

Inside the loop a failure is part of an outcome, see `phases/world/failures.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # `--help` imports this file, and is to cost nothing
    from interlock.api.result import Result
    from phases.world.messages import Message


class InterlockError(Exception):
    """Root of what this package raises; `str()` of it is one line."""


class UsageError(InterlockError):
    """What was asked for cannot be done, and the caller can mend it."""

    def __init__(self, line: str) -> None:
        self.line = line
        super().__init__(line)


class ConfigurationError(UsageError):
    """Settings files cannot be used. Each problem is `path:line:column: what; how to mend`."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class OptionsError(UsageError):
    """Options of the Python API cannot be used. Each problem is `field: what; how to mend`."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class WrongLoop(UsageError):
    """`run` within a running event loop, or the Python API outside of asyncio's."""


class SettingsError(InterlockError):
    """`where` holds a value that cannot be used; `problem` says why, `mend` what would do."""

    def __init__(self, where: str, problem: str, mend: str) -> None:
        self.where = where
        self.problem = problem
        self.mend = mend
        super().__init__(f"{where} {problem}; {mend}")


class TranscriptError(InterlockError):
    """The transcript at `path` cannot be used; nothing that was written is lost.

    `unwritten` are the messages that were to be written and are not.
    """

    what = "transcript"

    def __init__(self, path: str, problem: str) -> None:
        self.path = path
        self.problem = problem
        self.unwritten: tuple[Message, ...] = ()
        super().__init__(f"{self.what} {path}: {problem}")


class CallsError(TranscriptError):
    """What a call does cannot be written down, so it does not happen."""

    what = "record of calls"


class TraceFileError(TranscriptError):
    """The trace of a run cannot be begun, so neither can the run."""

    what = "trace"


class FolderError(TranscriptError):
    """A folder in which a session is written cannot be."""

    what = "folder"


class SessionBusy(TranscriptError):
    """Another process is writing this session: a branch can be made all the same."""


class SessionNotFound(InterlockError):
    """No session can be meant; the line says which there are."""


class SeveralSessions(SessionNotFound):
    """Several sessions can be meant: those with `session_ids`, the newest first."""

    def __init__(self, line: str, session_ids: tuple[str, ...]) -> None:
        self.session_ids = session_ids
        super().__init__(line)


class RunNotFound(InterlockError):
    """No recorded run answers to `name`."""

    def __init__(self, name: str, problem: str) -> None:
        self.name = name
        self.problem = problem
        super().__init__(f"run {name!r}: {problem}")


class RunFailed(InterlockError):
    """A run ended without a whole answer: `result` is all that is known of it."""

    def __init__(self, result: Result) -> None:
        self.result = result
        super().__init__(result.error or result.reason)


class EndingBroke(InterlockError):
    """The ending rule `name` raised `error`; the run it was asked about ends in `model_error`."""

    def __init__(self, name: str, error: Exception) -> None:
        self.name = name
        self.error = error
        super().__init__(f"the ending rule {name!r} broke: {type(error).__name__}: {error}")
