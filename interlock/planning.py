"""Plan mode: the gate's mode put aside, and taken up again when a plan is approved."""

from __future__ import annotations

from attrs import define, field

from interlock.options import PermissionMode
from interlock.permissions import Gate, Update, UpdateKind


@define
class Planning:
    """What the tools of plan mode may do to the session's permissions (`tools.plan.PlanMode`)."""

    _gate: Gate
    _alone: bool  # nobody can be asked
    _before: PermissionMode = field(default=PermissionMode.DEFAULT, init=False)

    @property
    def active(self) -> bool:
        return self._gate.mode is PermissionMode.PLAN

    def enter(self) -> str | None:
        if self._alone:
            return (
                "nobody could approve a plan, since this session runs without anyone to ask, and"
                " so nothing could be changed any more. Go on without it."
            )
        self._before = self._gate.mode
        self._set(PermissionMode.PLAN)
        return None

    def leave(self) -> str:
        """A session that began in plan mode goes on in the default mode."""
        self._set(self._before)
        return self._before.value

    def _set(self, mode: PermissionMode) -> None:
        self._gate.apply(Update(kind=UpdateKind.SET_MODE, mode=mode))
