"""The other half of the gate: what the API would refuse is mended before the gate sees it.

A history can be broken by a foreign transcript, a kill, a bug. Mended once, and written down as
mended, it is part of the history: the next request finds nothing to do, and asks only about what
is new (`sound.py`). The mending itself is `mending.py`. What the gate still refuses is a bug.
"""

from __future__ import annotations

import re

from interlock.model.looks import Looks
from interlock.model.mending import mend_all
from interlock.model.sound import Sound
from phases.world.messages import Kind, Message
from phases.world.ports import Mended

# What may stand behind a model's name without making it another model.
_SUFFIX = re.compile(r"(-0)?(-latest|[-@]\d{8})?(-v\d+(:\d+)?)?\Z")


class Mender:
    """Implements `phases.world.ports.Mender` for one loop."""

    def __init__(self) -> None:
        self._looks = Looks()
        self._sound = Sound(self._looks)
        self._model: str | None = None
        self._names: dict[str, set[str]] = {}  # a model, and what it calls itself here

    def mend(self, messages: tuple[Message, ...], *, model: str) -> Mended:
        """The history as `model` can be sent it; the very same where nothing is amiss."""
        if not messages:
            return Mended(messages=messages)
        same = self._sound.shared(messages)
        goes_on = same == len(self._sound.messages) and model == self._model
        if goes_on:
            self._learn(messages[same:], model)
        else:
            self._looks.keep_only(messages)
        if model != self._model:
            self._model, self._sound = model, Sound(self._looks)
        if self._sound.covers(messages, self._foreign):
            return Mended(messages=messages)
        mended, mends = mend_all(messages, self._looks, self._foreign)
        self._looks.keep_only(mended)
        self._sound.covers(mended, self._foreign)
        return Mended(messages=mended if mends else messages, mends=mends)

    def _foreign(self, message: Message) -> bool:
        """Whether another model said this: its thinking cannot be verified by ours."""
        if message.origin is None or self._model is None:
            return False
        told, names = message.origin.model, self._names.get(self._model, set())
        return _bare(told) != _bare(self._model) and told not in names

    def _learn(self, new: tuple[Message, ...], model: str) -> None:
        """A gateway may give models names of its own: the reply to a request tells.

        Within one prompt a model that was left is not come back to, so what came between two
        requests of the same model is its own.
        """
        if any(message.kind is Kind.PROMPT for message in new):
            return
        told = {message.origin.model for message in new if message.origin is not None}
        self._names.setdefault(model, set()).update(told)


def _bare(model: str) -> str:
    """A model's name without region, maker and date."""
    name = model.lower().rpartition("anthropic.")[2].rpartition("/")[2]
    return _SUFFIX.sub("", name)
