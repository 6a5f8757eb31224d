"""Plan mode: the gate's mode put aside, and taken up again when a plan is approved.

The plan that was approved last is kept in a file of the session: a person can read it, a session
that is taken up again finds it, and it is put back beside a summary.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from attrs import define, field, frozen

from interlock.context.keepsakes import Keepsake
from interlock.options import PermissionMode
from interlock.permissions import Gate, Update, UpdateKind
from interlock.regular_files import read_regular
from interlock.sessions.transcript import private_folder

_ON = (
    "Plan mode is on: read, search and ask, but change nothing before the user has approved a"
    " plan. "
)
_PRESENT = "When the plan is complete, present it with ExitPlanMode."
_ANSWER = "Nobody can approve one here: give the whole plan as your answer."


@define
class Planning:
    """What the tools of plan mode may do to the session's permissions (`tools.plan.PlanMode`)."""

    _gate: Gate
    _alone: bool  # nobody can be asked
    file: Path | None = None  # for the plan that is approved
    _before: PermissionMode = field(default=PermissionMode.DEFAULT, init=False)

    @property
    def active(self) -> bool:
        return self._gate.mode is PermissionMode.PLAN

    @property
    def reminder(self) -> str | None:
        """What the model is told with each prompt while plan mode is on."""
        return _ON + (_ANSWER if self._alone else _PRESENT) if self.active else None

    def enter(self) -> str | None:
        if self._alone:
            return (
                "nobody could approve a plan, since this session runs without anyone to ask, and"
                " so nothing could be changed any more. Go on without it."
            )
        self._before = self._gate.mode
        self._set(PermissionMode.PLAN)
        return None

    def leave(self, plan: str) -> str:
        """A session that began in plan mode goes on in the default mode."""
        self._set(self._before)
        where = self._keep(plan)
        kept = f"; the plan is kept in {where}" if where is not None else ""
        return f"the permission mode is {self._before.value} again{kept}"

    def _keep(self, plan: str) -> Path | None:
        if self.file is None:
            return None
        try:
            private_folder(self.file.parent)
            self.file.write_text(plan.strip() + "\n", encoding="utf-8", errors="replace")
        except OSError:
            return None  # the conversation holds it all the same
        return self.file

    def _set(self, mode: PermissionMode) -> None:
        self._gate.apply(Update(kind=UpdateKind.SET_MODE, mode=mode))


@frozen
class ApprovedPlan:
    """The plan that was approved last, put back beside a summary."""

    file: Path

    async def keepsakes(self, budget: int) -> Sequence[Keepsake]:
        try:
            plan = read_regular(self.file).decode(errors="replace")
        except OSError:
            return ()
        return (Keepsake(f"The plan that the user approved ({self.file})", plan),)
