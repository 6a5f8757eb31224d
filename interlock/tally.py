"""What a session notes of the updates that pass: for the summary of a run, and for cool-downs."""

from __future__ import annotations

from attrs import define

from interlock.cooldown import CoolDown
from phases.world.messages import Message
from phases.world.updates import ModelSwitched, Recorded, Show, Update


@define
class Tally:
    """Passes updates on, and notes what the summary needs of them."""

    _show: Show
    _cooldown: CoolDown
    reply: Message | None = None
    user_messages: int = 0

    def __call__(self, update: Update) -> None:
        if isinstance(update, Recorded):
            if update.message.role == "user":
                self.user_messages += 1
            else:
                self.reply = update.message
        elif isinstance(update, ModelSwitched):
            self._cooldown.overloaded(update.old)
        self._show(update)
