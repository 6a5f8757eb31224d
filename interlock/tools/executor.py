"""The executor: runs the calls of a reply, each once, in an order that cannot hurt.

Calls without effects that are safe beside others and need no approval start while the reply
still streams; the rest when it is whole. Knows the order rule (calls.py) and the interrupt; what
one call goes through is in perform.py, what may become of it in lifecycle.py.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import anyio
from anyio.abc import TaskGroup
from attrs import evolve

from interlock.quiet import Quiet
from interlock.tools.calls import (
    CUT,
    NOT_IN_THE_REPLY,
    Call,
    Round,
    Taken,
    prepared,
    unwatched,
)
from interlock.tools.heartbeat import Heartbeat
from interlock.tools.lifecycle import CallState, Offered, TurnCame
from interlock.tools.perform import Performer, ToolSession
from interlock.tools.seams import NoHooks, Permissions, ToolHooks
from interlock.tools.tool import Output, Tool
from phases.world.limits import Limits
from phases.world.loop import Reply, ToolUseContext
from phases.world.messages import Kind, Message, ToolUse
from phases.world.ports import Ids, Interrupt, Ran
from phases.world.updates import Show

Record = Callable[[tuple[Message, ...]], Awaitable[None]]

_log = Quiet(__name__)
_FAILED = (CallState.FAILED, CallState.TIMED_OUT)


class ToolExecutor:
    """One per run. `tasks` is the run's group: the calls live in it, and end with it.

    `taken` is told each step of each call's machine before the call goes on.
    """

    def __init__(
        self,
        *,
        tools: Mapping[str, Tool],
        permissions: Permissions,
        interrupt: Interrupt,
        show: Show,
        limits: Limits,
        tasks: TaskGroup,
        ids: Ids,
        record: Record,
        session: ToolSession,
        hooks: ToolHooks | None = None,
        taken: Taken = unwatched,
    ) -> None:
        self._tools = tools
        self._interrupt = interrupt
        self._tasks = tasks
        self._ids = ids
        self._record = record
        self._taken = taken
        self._performer = Performer(
            permissions=permissions,
            hooks=hooks or NoHooks(),
            interrupt=interrupt,
            show=show,
            limits=limits,
            session=session,
            places=anyio.Semaphore(limits.max_concurrent_tools),
            heartbeat=Heartbeat(limits.tool_heartbeat_s, show, tasks),
        )
        self._round: Round | None = None

    # --- the port ----------------------------------------------------------------------------

    def begin(self, context: ToolUseContext) -> None:
        self.drop()
        self._round = Round(context, Path(context.cwd))

    def offer(self, call: ToolUse) -> None:
        round_ = self._round
        if round_ is None or round_.find(call) is not None:
            return
        offered = prepared(call, self._tools, self._taken)
        round_.calls.append(offered)
        if self._interrupt.requested:
            return
        before = len(round_.before(offered))
        clear = self._performer.clear(round_, offered)
        if offered.tell(Offered(waits_for=before, clear=clear)) is CallState.CHECKING:
            self._start(round_, offered)

    async def run(self, reply: Reply, context: ToolUseContext) -> Ran:
        round_ = self._whole(reply, context)
        try:
            with self._interrupt.scope():
                for call in round_.calls:
                    if not call.begun and not call.over:
                        self._take_turn(round_, call)
                await self._recorded(round_, reply)
            if self._unrecorded(round_):
                await self._end_open(round_, reply)
        except anyio.get_cancelled_exc_class():
            # Not an interrupt, but the history must hold the same truths.
            await self._end_open(round_, reply)
            raise
        except BaseException:  # a bug, or the end of the process: no call goes on alone
            round_.drop()
            raise
        return Ran(
            results=round_.messages,
            context=evolve(context, cwd=str(round_.cwd)),
            hook_stopped=round_.hook_stopped,
        )

    def drop(self) -> tuple[Message, ...]:
        round_, self._round = self._round, None
        if round_ is None:
            return ()
        round_.drop()
        return round_.messages

    # --- the order ---------------------------------------------------------------------------

    def _whole(self, reply: Reply, context: ToolUseContext) -> Round:
        """The round with exactly the calls of the reply, each id once."""
        old = self._round or Round(context, Path(context.cwd))
        round_ = self._round = old
        round_.context = context
        found: dict[str, Call] = {}
        for use in reply.message.calls:
            if use.id not in found:
                found[use.id] = round_.find(use) or prepared(use, self._tools, self._taken)
            if use.id in reply.cut_calls and not found[use.id].begun:
                found[use.id].refusal = CUT
        for call in round_.calls:
            if found.get(call.use.id) is not call:
                round_.forget(call, NOT_IN_THE_REPLY)
        round_.calls = list(found.values())
        return round_

    def _take_turn(self, round_: Round, call: Call) -> None:
        if call.refusal is None:
            self._start(round_, call)
            return
        call.tell(TurnCame(call.refusal.brief))
        call.answer(self._performer.capped(call, Output(call.refusal.text, is_error=True)))

    def _start(self, round_: Round, call: Call) -> None:
        call.begun = True
        self._tasks.start_soon(self._perform, round_, call)

    async def _perform(self, round_: Round, call: Call) -> None:
        try:
            with call.scope:
                for earlier in round_.before(call):
                    await earlier.answered.wait()
                if call.state is CallState.QUEUED:
                    call.tell(TurnCame())
                await self._performer.perform(round_, call)
                self._fell(round_, call)
        except Exception as problem:  # a fault of ours: it must reach who waits for the results
            _log.debug("call broke", tool=call.use.name, exc_info=problem)
            round_.broken = problem
        finally:
            self._conclude(round_, call)
            call.ended.set()
            round_.news.set()

    @staticmethod
    def _conclude(round_: Round, call: Call) -> None:
        """Answer a call that was cancelled, by a sibling or with all our tasks: nobody may wait
        for it in vain. After an interrupt it is `_end_open` that answers."""
        if call.over or round_.interrupted or round_.dropped or round_.broken is not None:
            return
        try:
            call.interrupted()
        except Exception as problem:  # a fault of ours: it must reach who waits for the results
            round_.broken = problem

    def _fell(self, round_: Round, call: Call) -> None:
        """One that failed takes those with it that stand and fall together."""
        tool = call.tool
        if tool is None or not tool.falls_with_siblings or call.state not in _FAILED:
            return
        if call.said is None:  # it did not even begin
            return
        for sibling in round_.beside(call):
            sibling.aborting = f"the {tool.name} call {call.use.id} beside it failed"
            sibling.scope.cancel()

    # --- results -----------------------------------------------------------------------------

    async def _recorded(self, round_: Round, reply: Reply) -> None:
        """Write each result as it is ready; return when every call has one."""
        while True:
            round_.news = anyio.Event()
            for call in round_.calls:
                if call.message is None and call.result is not None:
                    message = Message(
                        id=self._ids.new(),
                        role="user",
                        kind=Kind.RESULT,
                        content=(call.result,),
                        source=reply.message.id,
                    )
                    # Whole or not at all, and known as written if it was.
                    with anyio.CancelScope(shield=True):
                        await self._record((message,))
                        call.message = message
            if round_.broken is not None:
                raise round_.broken
            if not self._unrecorded(round_):
                return
            await round_.news.wait()

    @staticmethod
    def _unrecorded(round_: Round) -> bool:
        return any(call.message is None for call in round_.calls)

    async def _end_open(self, round_: Round, reply: Reply) -> None:
        """After an interrupt: end what runs, answer what is open. Nothing cuts this short."""
        with anyio.CancelScope(shield=True):
            round_.interrupted = True
            for call in round_.calls:
                call.scope.cancel()
            try:
                for call in round_.calls:
                    if call.begun:
                        await call.ended.wait()
            finally:  # a task that is cancelled a second time waits no more, but still answers
                for call in round_.calls:
                    if call.result is None:
                        call.interrupted()
                await self._recorded(round_, reply)
