"""What stands between the agent and the world: permissions, hooks, the interrupt."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Self

import anyio
from attrs import evolve, frozen

from interlock.admission import Admission
from interlock.assembly.basis import Basis
from interlock.hooks import (
    HookedRequests,
    HookMatcher,
    NotifyingAsker,
    SessionFacts,
    SessionHooks,
    Trees,
    registered,
    session_ended,
)
from interlock.interrupt import InterruptSignal
from interlock.permissions import Asker, Gate, NobodyAsks
from interlock.permissions.explain import judge_of
from interlock.tools import processes


@frozen(kw_only=True)
class Guards:
    """One session's."""

    gate: Gate
    hooks: SessionHooks
    admission: Admission
    interrupt: InterruptSignal

    @classmethod
    def of(cls, basis: Basis, asker: Asker, functions: Sequence[HookMatcher]) -> Self:
        """`functions` come behind the hooks of settings files. Raises SettingsError."""
        interrupt = InterruptSignal()
        hooks = _hooks(basis, functions, interrupt)
        return cls(
            gate=_gate(basis, asker, hooks),
            hooks=hooks,
            admission=Admission(
                hooks=hooks,
                interrupt=interrupt,
                ids=basis.ids,
                source="resume" if basis.start.resumed else "startup",
            ),
            interrupt=interrupt,
        )

    @asynccontextmanager
    async def on_duty(self) -> AsyncIterator[None]:
        """Leaving tells SessionEnd hooks, and then ends what hooks have left running."""
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self.hooks.aclose)
            stack.push_async_callback(self._end)
            yield

    async def _end(self) -> None:
        """Whoever cancels: each hook has a limit of its own."""
        if self.admission.begun:
            with anyio.CancelScope(shield=True):
                await session_ended(self.hooks, self.admission.end_reason)


def _hooks(
    basis: Basis, functions: Sequence[HookMatcher], interrupt: InterruptSignal
) -> SessionHooks:
    options, paths = basis.options, basis.paths
    if basis.structured is not None:
        functions = (*functions, *basis.structured.hooks)
    return SessionHooks(
        hooks=(*options.hooks, *registered(functions)),
        facts=SessionFacts(
            paths.session_id, transcript=paths.transcript, root=basis.cwd, model=basis.model
        ),
        trees=Trees(variable=processes.MARK, end=processes.end),
        ids=basis.ids,
        interrupt=interrupt,
        permission_mode=options.permission_mode.value,
        stop=interrupt.request,
    )


def _gate(basis: Basis, asker: Asker, hooks: SessionHooks) -> Gate:
    # What was too long to be shown lies in a file: the model may page through it unasked.
    spilled = (basis.paths.tool_results, *map(Path, basis.start.state.readable))
    judge = evolve(judge_of(basis.options), readable=tuple(each.resolve() for each in spilled))
    if not isinstance(asker, NobodyAsks):  # else no person is ever about to be asked
        asker = NotifyingAsker(asker, hooks)
    return Gate(judge, asker, hooks=HookedRequests(hooks))
