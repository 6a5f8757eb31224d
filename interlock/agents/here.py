"""A child in this process, in the folder of its parent or in one that it is given."""

from __future__ import annotations

from time import monotonic

from attrs import evolve, frozen

from interlock.agents.errand import Errand, Report, Seat
from interlock.agents.nursery import Child, Nursery
from interlock.drive import Finished
from interlock.running import Bounds, Worker
from interlock.summing import Summing
from interlock.tally import Tally
from phases.world.messages import Kind, Message, Text

_FORKED = (
    "You are a fork: the conversation up to here is what you and your parent share, and your"
    " parent goes on without you. Do only what stands below, yourself, and end with a report:"
    " your last message is all that is handed back. Whatever else was asked before is not yours."
)


@frozen(kw_only=True)
class Here:
    """Implements `Spawner`."""

    nursery: Nursery

    async def run(self, errand: Errand, seat: Seat) -> Report:
        paths = self.nursery.paths.agent(errand.agent_id)
        ended, began = list[Finished](), monotonic()
        async with self.nursery.born(errand, seat) as child:
            worker = child.worker
            counted = Tally(seat.show, worker.shared.cooldown)
            if errand.inherited is not None:
                # Whoever watches has seen it; but a transcript holds what its model was sent.
                await worker.transcript.record(errand.inherited)
            loop = worker.loop(
                (*(errand.inherited or ()), *await _said(errand, seat, worker)),
                models=errand.models,
                cwd=str(errand.cwd),
                mode=worker.gate.mode.value,
                chain_id=errand.chain_id,
                bounds=Bounds(max_turns=errand.definition.max_turns, budget_usd=errand.budget_usd),
            )
            try:
                await worker.run(loop, paths.trace, counted, worker.inbox(), ended.append)
                left = await child.crew.end()
            except BaseException:  # a cancellation too: what was done is told before it goes on
                if ended:
                    seat.ended(_report(child, errand, ended[0], counted, monotonic() - began))
                raise
            report = _report(child, errand, ended[0], counted, monotonic() - began)
            report = evolve(report, notes=(*report.notes, *left))
            seat.ended(report)  # tidying up can be cancelled, too
        return report


async def _said(errand: Errand, seat: Seat, worker: Worker) -> tuple[Message, ...]:
    """What the child is told first: by hooks, of its place, by skills its type works by, by its
    parent. Raises ToolError for a skill that cannot be used."""
    ids, prompt = seat.parent.shared.ids, errand.prompt
    skills, notes = worker.knowledge.instructing, list[str]()
    if seat.told is not None:
        notes.append(f"SubagentStart hook: {seat.told}")
    if seat.ground is not None:
        notes.append(seat.ground.told)
    for name in errand.definition.skills:
        notes.append(f"Skill {name}:\n\n{await skills.use(name, '', errand.cwd)}")
    if errand.skill is not None:
        prompt = await skills.use(errand.skill.name, errand.skill.arguments, errand.cwd)
    said = [
        Message(id=ids.new(), role="user", kind=Kind.NOTE, content=(Text(_reminder(note)),))
        for note in notes
    ]
    if errand.is_fork:
        prompt = f"{_reminder(_FORKED)}\n\n{prompt}"
    said.append(Message(id=ids.new(), role="user", kind=Kind.PROMPT, content=(Text(prompt),)))
    return tuple(said)


def _reminder(words: str) -> str:
    return f"<system-reminder>\n{words}\n</system-reminder>"


def _report(
    child: Child, errand: Errand, finished: Finished, counted: Tally, seconds: float
) -> Report:
    worker = child.worker
    summing = Summing(
        session_id=worker.transcript.facts.session_id,
        ledger=worker.ledger,
        gate=worker.gate,
        limits=worker.shared.settings.limits,
    )
    summary = summing.of(errand.agent_id, finished, counted, seconds)
    return Report(
        text=summary.text,
        error=summary.error,
        why=summary.error_text,
        turns=summary.turns,
        usage=summary.usage,
        cost=summary.cost,
        seconds=seconds,
    )
