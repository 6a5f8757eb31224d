"""Run a prompt: act, decide, record, repeat; then close, in one place for all endings.

The driver knows neither what a phase does nor where an edge leads. It is the one place that
catches everything: a phase that breaks is an outcome too, and the table says what follows.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from anyio import CancelScope
from attrs import frozen

from fsm import LiveMachine, Step, name_of
from interlock.closing import (
    Terminal,
    failure_of,
    final_history,
    terminal_of,
    unrecorded,
    without_unsaid,
)
from interlock.errors import InterlockError, TranscriptError
from interlock.quiet import Quiet
from interlock.table import LOOP
from phases.abort_check import abort_check
from phases.api_call import api_call
from phases.attachments import attachments
from phases.blocking_check import blocking_check
from phases.continuation import continuation
from phases.preprocess import preprocess
from phases.tools import tools
from phases.world.failures import FailureKind
from phases.world.loop import Loop
from phases.world.messages import Message
from phases.world.outcomes import Outcome, Raised
from phases.world.ports import (
    Attachments,
    Clock,
    Collapse,
    Executor,
    History,
    Ids,
    Interrupt,
    Mender,
    Model,
    Pipeline,
    StopHooks,
    Summariser,
    ToolSummaries,
)
from phases.world.states import State
from phases.world.updates import Ended, Notice, Show
from recovery.backoff import backoff
from recovery.classify import classify
from recovery.collapse_drain import collapse_drain
from recovery.reactive_compact import reactive_compact
from recovery.stop_hooks import stop_hooks
from recovery.token_budget import token_budget

Act = Callable[[Loop, Any], Awaitable[Outcome]]

ACTS: Mapping[State, Act] = {
    State.PREPROCESS: preprocess,
    State.BLOCKING_CHECK: blocking_check,
    State.API_CALL: api_call,
    State.RECOVERY_BACKOFF: backoff,
    State.ABORT_CHECK: abort_check,
    State.RECOVERY_CLASSIFY: classify,
    State.RECOVERY_COLLAPSE_DRAIN: collapse_drain,
    State.RECOVERY_REACTIVE_COMPACT: reactive_compact,
    State.RECOVERY_STOP_HOOKS: stop_hooks,
    State.RECOVERY_TOKEN_BUDGET: token_budget,
    State.TOOLS: tools,
    State.ATTACHMENTS: attachments,
    State.CONTINUATION: continuation,
}


@frozen(kw_only=True)
class Ports:
    """Everything that some phase can do to the world. None: absent by configuration."""

    model: Model
    executor: Executor
    history: History
    interrupt: Interrupt
    clock: Clock
    ids: Ids
    show: Show
    summaries: ToolSummaries
    mender: Mender | None = None
    pipeline: Pipeline | None = None
    collapse: Collapse | None = None
    summariser: Summariser | None = None
    stop_hooks: StopHooks | None = None
    attachments: Attachments | None = None


@frozen(kw_only=True)
class Finished:
    """A run that is over, and the history the session goes on with."""

    terminal: Terminal
    loop: Loop
    messages: tuple[Message, ...]


_log = Quiet("interlock.drive")


async def drive(
    loop: Loop,
    ports: Ports,
    taken: Callable[[Step[Loop]], None],
    closed: Callable[[Finished], None] | None = None,
) -> Finished:
    """Run `loop` to an ending. `taken` is told each step before the next one begins.

    Cancelled from outside, it still closes the history before the cancellation goes on; so
    whoever needs the end of that run too is told it by `closed`.
    """
    machine = LiveMachine(LOOP)
    state = State(machine.state)
    while not machine.ended:
        state = State(machine.state)
        try:
            outcome = await _act(ACTS[state], loop, ports)
        except asyncio.CancelledError:
            outcome = Raised(error="cancelled from outside", aborted=True)
            while not machine.ended:  # `api_call` leaves it to `abort_check` to end the run
                step = machine.tell(loop, outcome)
                taken(step)
                loop = step.after
            with CancelScope(shield=True):
                await _close(State(machine.state), state, loop, ports, closed)
            raise
        step = machine.tell(loop, outcome)
        taken(step)
        loop = step.after
    return await _close(State(machine.state), state, loop, ports, closed)


async def _act(act: Act, loop: Loop, ports: Ports) -> Outcome:
    try:
        return await act(loop, ports)
    except Exception as error:  # what no one foresaw: the table leads it to model_error
        _log.debug("phase broke", phase=name_of(act), exc_info=True)
        kind = FailureKind.STORAGE if isinstance(error, TranscriptError) else FailureKind.UNKNOWN
        return Raised(error=one_line(error), aborted=ports.interrupt.requested, kind=kind)


async def _close(
    ending: State,
    came_from: State,
    loop: Loop,
    ports: Ports,
    closed: Callable[[Finished], None] | None,
) -> Finished:
    answered = ports.executor.drop()
    terminal = terminal_of(ending, loop, came_from)
    messages = final_history(ending, loop, answered)
    try:
        await ports.history.record_mended(messages)
        await ports.history.record(messages)
    except Exception as error:  # a full disk must not hide how the run ended
        lost = error.unwritten if isinstance(error, TranscriptError) else ()
        said = without_unsaid(messages, lost)
        forgotten, messages = said != messages, said
        terminal, line = unrecorded(terminal, one_line(error), lost, forgotten=forgotten)
        if line is not None:
            ports.show(Notice("error", line))
    if terminal.error is not None and ports.stop_hooks is not None:
        ports.stop_hooks.stop_failed(loop, failure_of(terminal, loop))
    finished = Finished(terminal=terminal, loop=loop, messages=messages)
    if closed is not None:
        closed(finished)
    ports.show(Ended(terminal.reason.value, terminal.error, terminal.text))
    return finished


def one_line(error: Exception) -> str:
    """What broke, for a person: an error of ours says it all by itself."""
    words = " ".join(str(error).split())
    return words if isinstance(error, InterlockError) else f"{type(error).__name__}: {words}"
