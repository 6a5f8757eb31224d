"""Before a prompt is part of the history: what hooks say to it, and to the session that begins.

A prompt that is blocked was never said: no message, no loop, no request. What hooks told the
model is kept until a prompt is let through.
"""

from __future__ import annotations

from attrs import define, field, frozen

from interlock.hooks import SessionHooks, Who, blocked, prompt_submitted, session_started
from phases.world.messages import Kind, Message, Text
from phases.world.ports import Ids, Interrupt
from phases.world.states import State
from phases.world.updates import Notice

PROMPT_BLOCKED = "prompt_blocked"  # how a prompt ends that hooks did not let through


@frozen(kw_only=True)
class Refused:
    """The prompt is not to be run; `error` is None where a hook wanted it so."""

    reason: str
    error: str | None
    words: str


@define(kw_only=True)
class Admission:
    """One per session. `source` is how it begins, or begins anew: startup, resume, clear."""

    hooks: SessionHooks
    interrupt: Interrupt
    ids: Ids
    source: str | None = "startup"  # None: it has begun
    begun: bool = False
    end_reason: str = "other"  # clear, logout, prompt_input_exit or other: for SessionEnd
    _notes: list[Message] = field(factory=list, init=False)

    async def refusal(self, text: str, at: Who) -> Refused | None:
        """Why this prompt is not to be run, or None."""
        heard = False
        with self.interrupt.scope():
            await self._begin(at)
            said = await prompt_submitted(self.hooks, text, at)
            heard = True
        if not heard:
            # Nobody has judged it, so it must not stand in the history of the next prompt either.
            ending = State.ABORTED_STREAMING.value
            words = "Interrupted before the prompt's hooks had answered."
            return Refused(reason=ending, error=ending, words=words)
        reasons = blocked(said)
        if reasons:
            words = f"The prompt was blocked: {'; '.join(reasons)}"
            self.hooks.show(Notice("warning", words))
            return Refused(reason=PROMPT_BLOCKED, error=None, words=words)
        if said.context is not None:
            self._note("UserPromptSubmit", said.context)
        return None

    def taken_notes(self) -> tuple[Message, ...]:
        """What hooks had to tell the model; it goes in front of the prompt."""
        notes, self._notes = tuple(self._notes), []
        return notes

    async def _begin(self, at: Who) -> None:
        source = self.source
        if source is None:
            return
        context = await session_started(self.hooks, source, at)
        self.source, self.begun = None, True
        if context is not None:
            self._note("SessionStart", context)

    def _note(self, event: str, context: str) -> None:
        text = f"<system-reminder>\n{event} hook: {context}\n</system-reminder>"
        self._notes.append(
            Message(id=self.ids.new(), role="user", kind=Kind.NOTE, content=(Text(text),))
        )
