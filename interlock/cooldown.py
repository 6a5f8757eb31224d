"""Which models a prompt begins with: one that was overloaded is left alone for a while.

Within a prompt the fallback stays; the way back is the next prompt, if the time is up.
"""

from __future__ import annotations

from attrs import define, field

from phases.world.ports import Clock


@define
class CoolDown:
    """What one session knows of overloads. `seconds` 0: each prompt begins with the first."""

    seconds: float
    clock: Clock
    _until: dict[str, float] = field(factory=dict)

    def overloaded(self, model: str) -> None:
        """Another model had to take over from this one, just now."""
        self._until[model] = self.clock.time() + self.seconds

    def order(self, models: tuple[str, ...]) -> tuple[str, ...]:
        """The models for a prompt that begins now: those still cooling stand last, so that they
        can still be asked when the others fail."""
        now, models = self.clock.time(), tuple(dict.fromkeys(models))
        # More than the whole time left: the clock was set back, and would keep a model out for it.
        left = {model: self._until.get(model, now) - now for model in models}
        cooling = [model for model in models if 0 < left[model] <= self.seconds]
        return (*(model for model in models if model not in cooling), *cooling)
