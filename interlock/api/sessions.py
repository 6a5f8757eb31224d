"""Sessions that lie on disk: to list, to read, to name and to delete them, without opening one.

To go on with one is for `AgentOptions(resume=…)`. Nothing here talks to a model.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from attrs import field, frozen

from interlock import sessions
from interlock.api.options import as_path, maybe_path
from interlock.errors import UsageError
from interlock.fitting import checked_arguments, misfit_fields
from interlock.home import home_of
from interlock.sessions import Listed, Node
from phases.world.messages import Message

SessionInfo: TypeAlias = Listed
SessionTree: TypeAlias = Node


@frozen
class Sessions:
    """Those of a working folder; iterating gives them, the newest first.

    A session is named by its id, the beginning of one, its title or a part of it; an id may also
    be of another folder's session. Methods that take a name raise SessionNotFound.
    """

    cwd: Path = field(factory=Path.cwd, converter=as_path)
    home: Path | None = field(default=None, converter=maybe_path)  # None: the user's own

    def __attrs_post_init__(self) -> None:
        for line in misfit_fields(self, Sessions):
            raise UsageError(f"Sessions: {line}")

    def __iter__(self) -> Iterator[SessionInfo]:
        return sessions.sessions_in(self._home, self.cwd)

    def everywhere(self) -> Iterator[SessionInfo]:
        """Those of every folder, the newest first."""
        return sessions.all_sessions(self._home)

    @checked_arguments
    def find(self, name: str) -> SessionInfo:
        """The session that is meant."""
        return sessions.session_anywhere(self._home, self.cwd, name)

    @checked_arguments
    def messages(self, name: str, at: str | None = None) -> tuple[Message, ...]:
        """The history that the session goes on with, up to the message `at` if one is named.

        Raises TranscriptError where it cannot be read.
        """
        return sessions.read(self.find(name).path, at).messages

    @checked_arguments
    def tree(self, name: str | None = None) -> tuple[SessionTree, ...]:
        """What branched off from what: of all sessions of the folder, or of one and its kin."""
        if name is None:
            return tuple(sessions.tree_of(list(self)))
        one = self.find(name)
        beside = [each for each in self.everywhere() if each.path.parent == one.path.parent]
        return tuple(sessions.tree_of(sessions.kin_of(beside, one)))

    @checked_arguments
    def rename(self, name: str, title: str) -> None:
        """Give it a title, also while it is open."""
        sessions.rename(self.find(name).path, title)

    @checked_arguments
    def tag(self, name: str, tag: str | None) -> None:
        """Give it a tag, also while it is open; None takes it away."""
        sessions.tag(self.find(name).path, tag)

    @checked_arguments
    def delete(self, name: str) -> None:
        """Delete it for good, with all that lies beside it. Raises SessionBusy if it is open."""
        sessions.delete(self.find(name).path)

    @property
    def _home(self) -> Path:
        return home_of(os.environ) if self.home is None else self.home.absolute()
