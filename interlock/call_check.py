"""The model check of one tool call, by the laws that hold for its machine alone.

What holds between calls (order, siblings, one result) is the executor's, and shown by its tests.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from fsm import Edge, Machine, Step
from fsm.check import Law, Verdict, check
from interlock.tools.lifecycle import TOOL_CALL, CallFacts, CallState

STARTS = tuple(
    CallFacts(id="toolu_1", tool="Tool", effects=effects, safe=safe)
    for effects, safe in product((True, False), repeat=2)
)


def verdict_of_calls(machine: Machine[CallFacts] = TOOL_CALL) -> Verdict[CallFacts]:
    """Check `machine` from every kind of call, over everything it can be told."""
    return check(
        machine,
        starts=STARTS,
        specimens=_specimens,
        normal=lambda facts: facts,
        turn_over=_stays,
        laws=(_EARLY, _PERMITTED),
    )


def _specimens(kind: type[Any]) -> tuple[object, ...]:
    said: tuple[object, ...] = kind.specimens()
    return said


def _stays(edge: Edge) -> bool:
    """A call that is offered and cannot start stays; that it is offered once is not its affair."""
    return edge.source is edge.destination


def _harmless(step: Step[CallFacts]) -> bool:
    early = step.after.early and not step.before.early
    return not early or (step.before.safe and not step.before.effects)


def _asked_before(step: Step[CallFacts]) -> bool:
    return step.edge.destination is not CallState.RUNNING or step.before.reason is not None


_EARLY: Law[CallFacts] = Law(
    "law 8", "only a call without effects starts before its reply is whole", _harmless
)
_PERMITTED: Law[CallFacts] = Law(
    "permission", "nothing runs without a decision that is on record", _asked_before
)
