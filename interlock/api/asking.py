"""A program's function in a person's place: for permissions, and for the model's questions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from attrs import define, field, frozen

from interlock.api.answers import Allow, Deny
from interlock.api.calling import called
from interlock.fitting import misfits
from interlock.permissions import Answer, Decision, NobodyAsks, Question, suggested
from interlock.quiet import Quiet
from interlock.tools import UserAnswer, UserQuestion
from phases.world.messages import encoded

_log = Quiet(__name__)


@frozen(kw_only=True)
class PermissionRequest:
    """A call that rules and mode do not decide."""

    tool: str
    input: Mapping[str, Any]
    reason: str  # why it is asked about
    tool_use_id: str
    cwd: Path
    command: str | None  # the line, of a tool that runs one
    reads: tuple[Path, ...]
    writes: tuple[Path, ...]
    always: str  # the rule that `Allow(always=True)` would give
    agent_type: str | None  # of the sub-agent that asks; None: the main agent
    _preview: Callable[[], Awaitable[str | None]] | None = field(default=None, repr=False)

    async def preview(self) -> str | None:
        """What a person would be shown beside the input: a diff, say. None: nothing."""
        return None if self._preview is None else await self._preview()


Verdict: TypeAlias = Allow | Deny | bool
CanUseTool: TypeAlias = Callable[[PermissionRequest], Verdict | Awaitable[Verdict]]
Answers: TypeAlias = Sequence[UserAnswer] | None
OnQuestion: TypeAlias = Callable[[Sequence[UserQuestion]], Answers | Awaitable[Answers]]


def _nothing() -> None:
    """There is no run yet."""


@define
class FunctionAsks:
    """Implements `Asker`. A function that raises denies: nobody has said yes."""

    function: CanUseTool
    stop: Callable[[], None] = _nothing  # ends the run under way

    async def ask(self, question: Question, decision: Decision) -> Answer:
        try:
            said: Verdict = await called(self.function, _request(question, decision))
            return self._answer(said)
        except Exception as error:
            _log.debug("permission callback broke", exc_info=True)
            reason = f"the permission callback broke: {type(error).__name__}: {error}"
            return Answer(allowed=False, reason=reason)

    def _answer(self, said: Verdict) -> Answer:
        for line in misfits(said, Verdict, "answer"):
            raise TypeError(f"{line}; return Allow(), Deny('why'), True or False")
        if isinstance(said, Allow) and said.input is not None:
            encoded(dict(said.input))  # TypeError: it can be no input of a call
        match said:
            case True:
                return Answer(allowed=True, reason="the program allowed it")
            case False:
                return Answer(allowed=False, reason="the program said no")
            case Allow(input=given, always=always, updates=updates):
                return Answer(
                    allowed=True,
                    reason="the program allowed it",
                    always=always,
                    updates=updates,
                    arguments=given,
                )
            case Deny(reason=reason, stop=stop):
                if stop:
                    self.stop()
                return Answer(allowed=False, reason=reason.strip() or "the program said no")


# For the model, and for whoever reads the transcript: how a program permits a call beforehand.
NOBODY = NobodyAsks("with allowed_tools=[{tool!r}], a permission_mode, or can_use_tool")


@frozen
class FunctionAnswers:
    """Implements `Person`: the program answers what the model asks."""

    function: OnQuestion

    async def answer(self, questions: Sequence[UserQuestion]) -> Answers:
        answers: Answers = await called(self.function, questions)
        for line in misfits(answers, Answers, "answer"):
            raise TypeError(f"on_question: {line}; return a list of UserAnswer, or None")
        return answers


def _request(question: Question, decision: Decision) -> PermissionRequest:
    return PermissionRequest(
        tool=question.tool,
        input=question.arguments,
        reason=decision.reason,
        tool_use_id=question.tool_use_id,
        cwd=question.cwd,
        command=question.command,
        reads=question.reads,
        writes=question.writes,
        always=str(suggested(question)),
        agent_type=question.agent_type,
        preview=question.preview,
    )
