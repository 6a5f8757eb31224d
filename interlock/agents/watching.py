"""What a child tells while it works: shown to who watches the session, noted for its report."""

from __future__ import annotations

from typing import Protocol

from attrs import define, evolve

from interlock.agents.errand import Errand, Report
from interlock.agents.telling import why
from phases.world.updates import (
    AgentEnded,
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

    def __call__(self, update: Update) -> None:
        match update:
            case Recorded(message) if message.role == "assistant" and message.text.strip():
                self.text = message.text
            case ToolStarted(call):
                self.calls += 1
                self.doing = call.name
        errand = self.errand
        self.session.show(
            FromAgent(
                agent_id=errand.agent_id,
                agent_type=errand.agent_type,
                tool_use_id=errand.tool_use_id,
                update=update,
            )
        )

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

    def completed(self, report: Report, seconds: float) -> Report:
        """The report with what was heard on the way."""
        text = report.text if report.text.strip() else self.text
        return evolve(report, text=text, calls=self.calls, seconds=seconds)

    def end(self, report: Report, transcript: str) -> None:
        errand, usage = self.errand, report.usage
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
                tokens=usage.input_tokens
                + usage.output_tokens
                + usage.cache_read_input_tokens
                + usage.cache_creation_input_tokens,
                calls=report.calls,
                seconds=report.seconds,
            )
        )
