"""Questions that the model puts to a person, asked of the host: it can show them to one.

They go as a question for permission whose allowed input holds the answers: hosts know them so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import uuid4

from attrs import frozen

from interlock.control.exchange import HostRefused
from interlock.control.hooks import Ask
from interlock.control.states import States
from interlock.tools.ask_user import UserAnswer, UserQuestion

_TOOL = "AskUserQuestion"


@frozen(kw_only=True)
class HostPerson:
    """Implements `tools.Person`."""

    ask_host: Ask
    states: States

    async def answer(self, questions: Sequence[UserQuestion]) -> Sequence[UserAnswer] | None:
        request = {
            "subtype": "can_use_tool",
            "tool_name": _TOOL,
            "input": {"questions": [_asked(one) for one in questions]},
            "tool_use_id": f"question_{uuid4().hex}",
            "permission_suggestions": [],
        }
        try:
            with self.states.waiting():
                said = await self.ask_host(request)
        except HostRefused:
            return None
        if said.get("behavior") != "allow":
            words = str(said.get("message") or "the user did not answer")
            return [UserAnswer(words=words) for _ in questions]
        given = (said.get("updatedInput") or {}).get("answers")
        if not isinstance(given, Mapping):
            return None
        return [_told(one, given.get(one.question)) for one in questions]


def _asked(one: UserQuestion) -> dict[str, Any]:
    options = [{"label": each.label, "description": each.description} for each in one.options]
    return {
        "question": one.question,
        "header": one.header,
        "options": options,
        "multiSelect": one.several,
    }


def _told(one: UserQuestion, answer: object) -> UserAnswer:
    """Labels that were on offer, or words of the person's own."""
    labels = {each.label for each in one.options}
    given = answer if isinstance(answer, list) else [answer] if answer is not None else []
    texts = [str(each) for each in given]
    if len(texts) == 1 and texts[0] not in labels:
        parts = [part.strip() for part in texts[0].split(",")]
        texts = parts if labels.issuperset(parts) else texts
    chosen = tuple(text for text in texts if text in labels)
    return UserAnswer(chosen=chosen, words=", ".join(t for t in texts if t not in labels))
