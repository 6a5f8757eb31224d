"""What a session notes of the updates that pass: for the summary of a run, and for cool-downs."""

from __future__ import annotations

from attrs import define, field

from interlock.cooldown import CoolDown
from phases.world.messages import Kind, Message
from phases.world.updates import ModelSwitched, Recorded, Show, Update

# How a reply ends that the next one goes on with, in mid-sentence if need be.
_GOES_ON = ("max_tokens", "pause_turn", "model_context_window_exceeded")


@define
class Tally:
    """Passes updates on, and notes what the summary needs of them."""

    _show: Show
    _cooldown: CoolDown
    user_messages: int = 0
    stop_reason: str | None = None  # of the last reply
    _pieces: list[str] = field(factory=list)
    _goes_on: bool = False
    _last: str | None = None  # the id of the last reply

    def answer(self, last: Message | None) -> str:
        """The text of the reply that was the last to come, and of those that it went on with.

        A reply that says nothing is part of no history, so none was noted.
        """
        nothing_said = last is not None and last.id != self._last and not self._goes_on
        return "" if nothing_said else "".join(self._pieces)

    def unrecorded(self, reply: Message) -> None:
        """It was said, and paid for; that it could not be written down takes nothing from it."""
        if reply.id != self._last:
            self._note(reply)

    def __call__(self, update: Update) -> None:
        if isinstance(update, Recorded):
            self._note(update.message)
        elif isinstance(update, ModelSwitched):
            self._cooldown.overloaded(update.old)
        self._show(update)

    def _note(self, message: Message) -> None:
        if message.replaces is not None:
            return  # what was said stays said, whatever stands for it in the history now
        if message.role == "user":
            self.user_messages += 1
            self._goes_on = self._goes_on and message.kind is not Kind.RESULT
            return
        self._last = message.id
        self._pieces = [*(self._pieces if self._goes_on else ()), message.text]
        self.stop_reason = message.origin.stop_reason if message.origin else None
        self._goes_on = self.stop_reason in _GOES_ON
