"""The parts of a session put together: its main agent, and what it takes up of an earlier one."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import field, frozen

from interlock.agents.here import Here
from interlock.agents.nursery import Nursery
from interlock.assembly.basis import Basis
from interlock.assembly.equipment import Equipment
from interlock.assembly.guards import Guards
from interlock.checkpoints import Checkpoints
from interlock.cooldown import CoolDown
from interlock.endings import Ending
from interlock.front import Line
from interlock.kept import OpenTodos
from interlock.planning import ApprovedPlan
from interlock.recorded import recordings_of
from interlock.recording import Recordings
from interlock.running import Shared, Worker
from interlock.session_state import Keeping
from interlock.tools import FileReads, ToolSession
from interlock.tools.bash import Bash


@frozen
class TakenUp:
    """What writes down, beside the transcript, what a later session takes up again; and what of
    an earlier one could not be."""

    keeping: Keeping
    problem: str | None


@frozen(kw_only=True)
class Parts:
    """All there is to one session, before anybody works with it."""

    basis: Basis
    guards: Guards
    equipment: Equipment
    line: Line
    checkpoints: Checkpoints
    endings: Sequence[Ending]
    reads: FileReads = field(factory=FileReads)

    def taken_up(self) -> TakenUp:
        """Give every part what it had in the session that goes on."""
        start, equipment = self.basis.start, self.equipment
        shell = equipment.tools.get("Bash")
        keeping = Keeping(
            path=start.paths.state,
            transcript=start.transcript,
            gate=self.guards.gate,
            todos=equipment.todos,
            reads=self.reads,
            shell=shell if isinstance(shell, Bash) else None,
            loaded=self.line.offer.loaded,
            readable=start.state.readable,
        )
        problem = keeping.take_up(start.state)
        equipment.todos.recall(start.messages)
        equipment.knowledge.recall(start.messages)
        return TakenUp(keeping, problem)

    def worker(self) -> Worker:
        """The main agent's own parts. From now on texts can call what they ask for."""
        basis, equipment, line = self.basis, self.equipment, self.line
        shared = self._shared()
        worker = Worker(
            shared=shared,
            ledger=line.ledger,
            gate=self.guards.gate,
            tools=equipment.tools,
            transcript=basis.transcript,
            recordings=self._recordings(shared),
            tool_session=ToolSession(
                root=basis.cwd,
                spill=basis.paths.tool_results,
                reads=self.reads,
                keep=self.checkpoints.before_change,
            ),
            todos=equipment.todos,
            interrupt=self.guards.interrupt,
            front=line.front,
            offer=line.offer,
            knowledge=equipment.knowledge,
        )
        equipment.knowledge.takes_calls(worker.calling)
        return worker

    def have_children(self, worker: Worker) -> None:
        """From now on this worker can have them, and they their own."""
        equipment = self.equipment
        equipment.crew.parent = worker
        nursery = Nursery(
            paths=self.basis.paths,
            root=self.basis.cwd,
            front=self.line.front,
            adapter=self.line.adapter,
            workshop=equipment.workshop,
            own_tools=equipment.own_tools,
            tree=equipment.tree,
        )
        equipment.tree.spawners[None] = Here(nursery=nursery)

    def _shared(self) -> Shared:
        basis = self.basis
        return Shared(
            options=basis.options,
            settings=basis.settings,
            hooks=self.guards.hooks,
            waiting=self.equipment.waiting,
            cooldown=CoolDown(basis.settings.limits.fallback_cooldown_s, basis.clock),
            ids=basis.ids,
            clock=basis.clock,
            endings=self.endings,
        )

    def _recordings(self, shared: Shared) -> Recordings:
        equipment, paths = self.equipment, self.basis.paths
        todos, plan = OpenTodos(equipment.todos), ApprovedPlan(paths.plan)
        return recordings_of(
            shared,
            self.line,
            gate=self.guards.gate,
            reads=self.reads,
            keepsakes=(todos, plan, *equipment.knowledge.keepsakes),
            paths=paths,
        )
