"""What is the same for every entry of a transcript: the session, and where it takes place."""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

from interlock import __version__
from interlock.regular_files import read_regular


@frozen(kw_only=True)
class Facts:
    """The common keys of a session's entries."""

    session_id: str
    cwd: str
    git_branch: str = ""  # empty outside a repository
    entrypoint: str = "cli"
    permission_mode: str | None = None
    agent_id: str | None = None  # the sub-agent whose transcript it is
    version: str = __version__

    @classmethod
    def of(
        cls,
        session_id: str,
        cwd: Path,
        *,
        entrypoint: str,
        permission_mode: str | None = None,
        agent_id: str | None = None,
    ) -> Facts:
        """Look at `cwd` once, when the session begins."""
        return cls(
            session_id=session_id,
            cwd=str(cwd),
            git_branch=branch_of(cwd),
            entrypoint=entrypoint,
            permission_mode=permission_mode,
            agent_id=agent_id,
        )

    @property
    def keys(self) -> dict[str, object]:
        of_agent = {} if self.agent_id is None else {"agentId": self.agent_id}
        return {
            "sessionId": self.session_id,
            "cwd": self.cwd,
            "version": self.version,
            "gitBranch": self.git_branch,
            "isSidechain": self.agent_id is not None,
            **of_agent,
            "userType": "external",
            "entrypoint": self.entrypoint,
        }


def branch_of(cwd: Path) -> str:
    """The branch checked out in `cwd`, read without starting git; "HEAD" if none is."""
    for folder in (cwd, *cwd.parents):
        marker = folder / ".git"
        try:
            if marker.is_file():  # a worktree or a submodule: the file says where
                words = read_regular(marker).decode(errors="replace").strip()
                marker = (folder / words.removeprefix("gitdir:").strip()).resolve()
            if not marker.is_dir():
                continue
            head = read_regular(marker / "HEAD").decode(errors="replace").strip()
        except OSError:
            return ""
        return head.removeprefix("ref: refs/heads/") if head.startswith("ref:") else "HEAD"
    return ""
