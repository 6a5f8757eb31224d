"""The user's folder, and where in it a session's files lie.

The layout of `projects/` is the one that agent SDKs read: one folder per working folder, one
transcript per session, and beside it a folder for what belongs to that session alone.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path

from attrs import frozen

_KEY_LENGTH = 200  # longer keys are cut and hashed; readers of this layout accept any hash

COSTS = "costs.jsonl"  # what a session cost, in its folder


def home_of(environ: Mapping[str, str]) -> Path:
    """The user's folder.

    An agent SDK that started us reads sessions in `~/.claude` by itself, or where its own variable
    says, so then we write there.
    """
    started_by_sdk = environ.get("CLAUDE_CODE_ENTRYPOINT", "").startswith("sdk-")
    names = ("INTERLOCK_HOME", "CLAUDE_CONFIG_DIR")
    known = (environ.get(name) for name in (reversed(names) if started_by_sdk else names))
    named = next(filter(None, known), None)
    if named:
        return Path(unicodedata.normalize("NFC", named)).expanduser().absolute()
    user = Path(environ["HOME"]) if environ.get("HOME") else Path.home()
    return user / (".claude" if started_by_sdk else ".interlock")


def project_key(cwd: Path) -> str:
    """The name of the folder that holds the sessions of the working folder `cwd`."""
    real = unicodedata.normalize("NFC", str(cwd.resolve()))
    key = re.sub(r"[^A-Za-z0-9]", "-", real)
    if len(key) <= _KEY_LENGTH:
        return key
    return f"{key[:_KEY_LENGTH]}-{_hash(real)}"


@frozen
class SessionPaths:
    """Where one session keeps its files. Nothing is created here."""

    home: Path
    project: str
    session_id: str

    @classmethod
    def of(cls, home: Path, cwd: Path, session_id: str) -> SessionPaths:
        return cls(home, project_key(cwd), session_id)

    @property
    def transcript(self) -> Path:
        return self.home / "projects" / self.project / f"{self.session_id}.jsonl"

    @property
    def folder(self) -> Path:
        return self.home / "projects" / self.project / self.session_id

    @property
    def runs(self) -> Path:
        return self.folder / "runs"

    @property
    def state(self) -> Path:
        return self.folder / "state.json"

    @property
    def costs(self) -> Path:
        return self.folder / COSTS

    @property
    def plan(self) -> Path:
        return self.folder / "plan.md"

    def trace(self, run_id: str) -> Path:
        return self.runs / f"{run_id}.trace.jsonl"

    @property
    def collapses(self) -> Path:
        return self.folder / "collapses.jsonl"

    @property
    def tool_results(self) -> Path:
        return self.folder / "tool-results"

    @property
    def agents(self) -> Path:
        """The transcripts of the session's sub-agents."""
        return self.folder / "subagents"

    def agent(self, agent_id: str) -> AgentPaths:
        return AgentPaths(self, agent_id)


@frozen
class AgentPaths:
    """Where one sub-agent keeps its files. Nothing is created here."""

    session: SessionPaths
    agent_id: str

    @property
    def transcript(self) -> Path:
        return self.session.agents / f"agent-{self.agent_id}.jsonl"

    @property
    def meta(self) -> Path:
        """What it is, and who started it."""
        return self.session.agents / f"agent-{self.agent_id}.meta.json"

    @property
    def result(self) -> Path:
        """What came of it; there once it is over."""
        return self.session.agents / f"agent-{self.agent_id}.result.json"

    @property
    def trace(self) -> Path:
        # Apart from the session's own runs: the newest of those is the one that `last` means.
        return self.session.runs / "agents" / f"{self.agent_id}.trace.jsonl"

    @property
    def folder(self) -> Path:
        return self.session.folder / "agents" / self.agent_id

    @property
    def collapses(self) -> Path:
        return self.folder / "collapses.jsonl"

    @property
    def tool_results(self) -> Path:
        # Below the session's, which the model may read.
        return self.session.tool_results / self.agent_id


def _hash(text: str) -> str:
    # The 32-bit string hash of JavaScript programs, in base 36: the same folder as theirs.
    value = 0
    for unit in memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H"):
        value = (value * 31 + unit) & 0xFFFFFFFF
    if value >= 0x80000000:
        value = 0x100000000 - value
    digits = ""
    while value or not digits:
        value, digit = divmod(value, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits
