"""Asking the host whether a call may run, in place of a person at a terminal."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from attrs import frozen

from interlock.control.exchange import HostRefused
from interlock.control.states import States
from interlock.options import PermissionMode
from interlock.permissions import Answer, Decision, Question, Update, UpdateKind
from interlock.permissions.rules import WRITERS
from interlock.permissions.suggest import suggested
from interlock.permissions.updates import BadUpdate, Destination

Ask: TypeAlias = Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]


class BadAnswer(ValueError):
    """What the host answered means neither yes nor no."""


@frozen(kw_only=True)
class HostAsker:
    """The gate's asker. `stop` ends the prompt under way."""

    ask_host: Ask
    states: States
    stop: Callable[[], None]
    keep: Callable[[Update], None]  # told of each change that is meant for a settings file

    async def ask(self, question: Question, decision: Decision) -> Answer:
        request = {"subtype": "can_use_tool", **asked_of(question, decision)}
        try:
            with self.states.waiting():
                said = await self.ask_host(request)
            answer = answer_of(said, question)
        except HostRefused as error:
            return Answer(allowed=False, reason=f"it could not be asked for: {error}")
        except (BadAnswer, BadUpdate) as error:
            return Answer(
                allowed=False, reason=f"the answer to the question was unusable: {error}"
            )
        if not answer.allowed and said.get("interrupt") is True:
            self.stop()
        for update in answer.updates:
            if update.destination is not Destination.SESSION:
                self.keep(update)
        return answer


def asked_of(question: Question, decision: Decision) -> dict[str, Any]:
    """The question as the protocol has it."""
    asked: dict[str, Any] = {
        "tool_name": question.tool,
        "input": dict(question.arguments),
        "tool_use_id": question.tool_use_id,
        "permission_suggestions": [update.json() for update in suggestions(question)],
        "decision_reason": decision.reason,
        "title": f"{question.tool} wants to run",
        "display_name": question.tool,
    }
    touched = question.writes or question.reads
    if touched:
        asked["blocked_path"] = str(touched[0])
    if question.command is not None and question.arguments.get("description"):
        asked["description"] = str(question.arguments["description"])
    if question.agent_id is not None:
        asked["agent_id"] = question.agent_id
    return asked


def suggestions(question: Question) -> tuple[Update, ...]:
    """What would spare the same question; never more than it says."""
    if question.tool in WRITERS:
        mode = PermissionMode.ACCEPT_EDITS
        return (Update(kind=UpdateKind.SET_MODE, mode=mode),)
    rule = suggested(question)
    if rule.verbatim and any(letter in (rule.specifier or "") for letter in "*:\\"):
        return ()  # as a rule's text it would be a pattern, and allow other lines too
    return (Update(kind=UpdateKind.ADD_RULES, destination=Destination.LOCAL, rules=(rule,)),)


def answer_of(said: Mapping[str, Any], question: Question) -> Answer:
    """What the host's answer means. Raises BadAnswer, BadUpdate."""
    behaviour = said.get("behavior")
    if behaviour == "deny":
        message = str(said.get("message") or "the user said no")
        return Answer(allowed=False, reason=message)
    if behaviour != "allow":
        raise BadAnswer(f"its behavior is {behaviour!r}; there is allow, deny")
    given = said.get("updatedInput")
    if given is not None and not isinstance(given, Mapping):
        raise BadAnswer("its updatedInput is no object")
    changed = given is not None and dict(given) != dict(question.arguments)
    return Answer(
        allowed=True,
        reason="the host allowed it",
        updates=tuple(map(Update.of, said.get("updatedPermissions") or ())),
        arguments=given if changed else None,
    )
