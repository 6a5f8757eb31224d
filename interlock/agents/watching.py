"""What a child tells while it works: shown to who watches the session, noted for its report."""

from __future__ import annotations

from time import monotonic
from typing import Protocol

from attrs import define, evolve, field

from interlock.agents.errand import Errand, Report
from interlock.agents.telling import why
from phases.world.updates import (
    AgentEnded,
    AgentProgress,
    AgentStarted,
    FromAgent,
    Recorded,
    Show,
    ToolStarted,
    Update,
)


class Watched(Protocol):
    """Where a session is watched; `show` is replaced with each prompt."""

    show: Show


@define
class Heard:
    """One child's. Called with its updates."""

    errand: Errand
    session: Watched
    text: str = ""  # what it said last
    calls: int = 0
    doing: str = ""  # the tool it called last
    tokens: int = 0  # of the requests that its transcript holds the answers of
    _began: float = field(factory=monotonic)

    def __call__(self, update: Update) -> None:
        errand = self.errand
        self.session.show(
            FromAgent(
                agent_id=errand.agent_id,
                agent_type=errand.agent_type,
                tool_use_id=errand.tool_use_id,
                update=update,
            )
        )
        match update:
            case Recorded(message) if message.role == "assistant":
                self.text = message.text if message.text.strip() else self.text
                if message.origin is not None:
                    self.tokens += message.origin.usage.total_tokens
            case ToolStarted(call):
                self.calls += 1
                self.doing = call.name
                self._tell_progress()

    def begin(self) -> None:
        errand = self.errand
        self.session.show(
            AgentStarted(
                agent_id=errand.agent_id,
                agent_type=errand.agent_type,
                description=errand.description,
                prompt=errand.prompt,
                tool_use_id=errand.tool_use_id,
                background=errand.background,
            )
        )

    def _tell_progress(self) -> None:
        errand = self.errand
        self.session.show(
            AgentProgress(
                agent_id=errand.agent_id,
                agent_type=errand.agent_type,
                description=errand.description,
                tool_use_id=errand.tool_use_id,
                doing=self.doing,
                tokens=self.tokens,
                calls=self.calls,
                seconds=monotonic() - self._began,
            )
        )

    def completed(self, report: Report, seconds: float) -> Report:
        """The report with what was heard on the way."""
        text = report.text if report.text.strip() else self.text
        return evolve(report, text=text, calls=self.calls, seconds=seconds)

    def end(self, report: Report, transcript: str) -> None:
        errand = self.errand
        whole = report.error is None
        status = "completed" if whole else "stopped" if report.interrupted else "failed"
        self.session.show(
            AgentEnded(
                agent_id=errand.agent_id,
                agent_type=errand.agent_type,
                description=errand.description,
                tool_use_id=errand.tool_use_id,
                background=errand.background,
                status=status,
                summary=errand.description if whole else f"{errand.description}: {why(report)}",
                transcript=transcript,
                tokens=report.usage.total_tokens,
                calls=report.calls,
                seconds=report.seconds,
            )
        )
