"""Finite state machines as tables: declare one, run it, keep a trace of every decision.

These names are what a running machine needs. The tools that look at one are modules of their own:
`fsm.explain` and `fsm.replay` for a trace, `fsm.draw` for a table, `fsm.cover` for a test run,
`fsm.check` for the laws. Nothing here has ever heard of agents. Start reading at `declare`.
"""

from fsm.declare import (
    Edge,
    Everywhere,
    Guard,
    Machine,
    Node,
    Reducer,
    Way,
    at,
    composite_of,
    everywhere,
    machine,
    name_of,
    to,
    when,
)
from fsm.errors import DeclarationError, FsmError, TraceError, UndeclaredOutcome
from fsm.record import Header, Looked, Record, Trace, digest, header_of, record_of
from fsm.run import LiveMachine, Step, Tried, decide
from fsm.trace import TraceWriter, read_trace

__all__ = [
    "DeclarationError",
    "Edge",
    "Everywhere",
    "FsmError",
    "Guard",
    "Header",
    "LiveMachine",
    "Looked",
    "Machine",
    "Node",
    "Record",
    "Reducer",
    "Step",
    "Trace",
    "TraceError",
    "TraceWriter",
    "Tried",
    "UndeclaredOutcome",
    "Way",
    "at",
    "composite_of",
    "decide",
    "digest",
    "everywhere",
    "header_of",
    "machine",
    "name_of",
    "read_trace",
    "record_of",
    "to",
    "when",
]
