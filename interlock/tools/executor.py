"""The executor: runs the calls of a reply, each once, in an order that cannot hurt.

Calls without effects that are safe beside others and need no approval start while the reply
still streams; the rest when it is whole. Knows the order rule (calls.py), permissions and the
interrupt; what a tool does is its own affair.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import anyio
import structlog
from anyio.abc import TaskGroup
from attrs import evolve, frozen

from interlock.permissions.decision import Question
from interlock.tools.calls import CUT, Call, CallState, Round, error, prepared
from interlock.tools.excerpt import shortened
from interlock.tools.paths import BadPath, PathMoved
from interlock.tools.reads import FileReads
from interlock.tools.schema import BadInput, checked
from interlock.tools.seams import After, Before, NoHooks, Permissions, ToolHooks
from interlock.tools.tool import Output, Tool, ToolContext, ToolError
from phases.world.limits import Limits
from phases.world.loop import Reply, ToolUseContext
from phases.world.messages import Kind, Media, Message, Text, ToolResult, ToolUse
from phases.world.ports import Ids, Interrupt, Ran
from phases.world.updates import Show, ToolProgress, ToolStarted

Record = Callable[[tuple[Message, ...]], Awaitable[None]]

_log = structlog.get_logger(__name__)
_ROOM_FOR_NOTE = 400  # characters of the note that says what was left out
_SURROGATES = re.compile("[\ud800-\udfff]")


@frozen(kw_only=True)
class ToolSession:
    """What tools keep from run to run of a session."""

    root: Path
    spill: Path  # the folder for outputs too long to be shown
    reads: FileReads


class ToolExecutor:
    """One per run. `tasks` is the run's group: the calls live in it, and end with it."""

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
    ) -> None:
        self._tools = tools
        self._permissions = permissions
        self._interrupt = interrupt
        self._show = show
        self._limits = limits
        self._tasks = tasks
        self._ids = ids
        self._record = record
        self._session = session
        self._hooks = hooks or NoHooks()
        self._at_once = anyio.Semaphore(limits.max_concurrent_tools)
        self._round: Round | None = None

    # --- the port ----------------------------------------------------------------------------

    def begin(self, context: ToolUseContext) -> None:
        self.drop()
        self._round = Round(context, Path(context.cwd))

    def offer(self, call: ToolUse) -> None:
        round_ = self._round
        if round_ is None or round_.find(call) is not None:
            return
        offered = prepared(call, self._tools)
        round_.calls.append(offered)
        if self._may_start_early(round_, offered):
            self._start(round_, offered)

    async def run(self, reply: Reply, context: ToolUseContext) -> Ran:
        round_ = self._whole(reply, context)
        try:
            with self._interrupt.scope():
                for call in round_.calls:
                    if call.refusal is not None:
                        call.refuse(call.refusal)
                    elif not call.started:
                        self._start(round_, call)
                await self._recorded(round_, reply)
            if self._unrecorded(round_):
                await self._end_open(round_, reply)
        except anyio.get_cancelled_exc_class():
            # Not an interrupt, but the history must hold the same truths.
            await self._end_open(round_, reply)
            raise
        except BaseException:
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

    def _may_start_early(self, round_: Round, call: Call) -> bool:
        if call.refusal is not None or call.effects or not call.safe or round_.before(call):
            return False
        if self._hooks.watches(call.use.name) or self._interrupt.requested:
            return False
        context = self._context(round_, call)
        try:
            return self._permissions.decide(self._question(call, context)).allowed
        except (ToolError, BadPath):
            return False  # it will fail in its turn, and say so

    def _whole(self, reply: Reply, context: ToolUseContext) -> Round:
        """The round with exactly the calls of the reply, each id once."""
        old = self._round or Round(context, Path(context.cwd))
        round_ = self._round = old
        round_.context = context
        found: dict[str, Call] = {}
        for use in reply.message.calls:
            if use.id not in found:
                found[use.id] = round_.find(use) or prepared(use, self._tools)
            if use.id in reply.cut_calls and not found[use.id].started:
                found[use.id].refusal = CUT
        for call in round_.calls:
            if found.get(call.use.id) is not call:
                call.scope.cancel()  # offered, and then not in the reply
        round_.calls = list(found.values())
        return round_

    def _start(self, round_: Round, call: Call) -> None:
        call.started = True
        self._tasks.start_soon(self._perform, round_, call)

    async def _perform(self, round_: Round, call: Call) -> None:
        try:
            with call.scope:
                for earlier in round_.before(call):
                    await earlier.answered.wait()
                result = await self._settled(round_, call)
                # An interrupt while a person was asked is no denial: it never started.
                stopped = call.state is CallState.QUEUED and round_.interrupted
                if not round_.dropped and not stopped and call.result is None:
                    call.answer(result)
        finally:
            if call.result is None and not round_.dropped and not round_.interrupted:
                call.interrupted()  # our tasks are being cancelled: nobody may wait for it
            call.ended.set()
            round_.news.set()

    # --- one call ----------------------------------------------------------------------------

    async def _settled(self, round_: Round, call: Call) -> ToolResult:
        """Hooks, permission, the tool itself, hooks, cap."""
        context = call.context = self._context(round_, call)
        before = Before()
        try:
            before = await self._asked_hooks(round_, call)
            question = self._question(call, context)
            decision = await self._permissions.settle(question, before.said)
            if not decision.allowed:
                return error(call.use, f"Permission denied: {_ended(decision.reason)}")
            context.granted = frozenset((*question.reads, *question.writes))
            async with self._at_once:
                if round_.dropped or round_.interrupted:
                    await anyio.sleep_forever()  # the cancellation is on its way
                call.state = CallState.RUNNING
                self._show(ToolStarted(call.use))
                output = await _ran(call, context)
        except Exception as problem:
            output = _failure(call.use.name, problem)
        round_.cwd = context.cwd
        result = self._capped(call.use, output)
        if before.context is not None:
            result = evolve(result, content=(*result.content, Text(before.context)))
        return await self._told_hooks(round_, call, result)

    def _context(self, round_: Round, call: Call) -> ToolContext:
        def progress(text: str) -> None:
            if not round_.dropped and call.result is None:
                self._show(ToolProgress(call.use.id, text))

        return ToolContext(
            cwd=round_.cwd,
            root=self._session.root,
            limits=self._limits,
            reads=self._session.reads,
            spill=self._session.spill,
            call_id=_file_name(call.use.id),
            progress=progress,
            hides=self._permissions.hides,
        )

    def _question(self, call: Call, context: ToolContext) -> Question:
        tool, arguments = call.tool, call.arguments
        assert tool is not None
        touches = tool.touches(arguments, context.cwd)

        async def preview() -> str | None:
            try:
                return await tool.preview(arguments, context)
            except (ToolError, BadPath, PathMoved, OSError) as problem:
                return f"(this call will fail: {problem})"

        return Question(
            tool=tool.name,
            tool_use_id=call.use.id,
            arguments=arguments,
            effects=call.effects,
            cwd=context.cwd,
            reads=touches.reads,
            writes=touches.writes,
            named=touches.named,
            command=touches.command,
            preview=preview,
        )

    async def _asked_hooks(self, round_: Round, call: Call) -> Before:
        """What hooks say before the call; they may change its arguments."""
        if not self._hooks.watches(call.use.name):
            return Before()
        before = await self._hooks.before(call.use, round_.context)
        round_.hook_stopped = round_.hook_stopped or before.stop
        if before.arguments is not None and call.tool is not None:
            call.arguments = checked(before.arguments, call.tool.input_schema)
        return before

    async def _told_hooks(self, round_: Round, call: Call, result: ToolResult) -> ToolResult:
        if call.state is not CallState.RUNNING or not self._hooks.watches(call.use.name):
            return result
        try:
            use = evolve(call.use, input=call.arguments)
            after = await self._hooks.after(use, result, round_.context)
        except Exception as problem:  # the tool has run: its result stands
            after = After(feedback=f"(A hook failed after this call: {problem})")
        round_.hook_stopped = round_.hook_stopped or after.stop
        if after.feedback is None:
            return result
        # Into the one result: a second one for the same call would be refused.
        return evolve(result, content=(*result.content, Text(after.feedback)))

    def _capped(self, use: ToolUse, output: Output) -> ToolResult:
        """The one cap every result passes, whichever tool it comes from."""
        parts = (Text(output.content),) if isinstance(output.content, str) else output.content
        left = self._limits.tool_output_cap
        content: list[Text | Media] = []
        for part in parts:
            if isinstance(part, Text):
                text = _SURROGATES.sub("\ufffd", part.text)
                if len(text) > left:
                    save_as = self._session.spill / f"{_file_name(use.id)}-{len(content)}.txt"
                    text = shortened(text, max(left - _ROOM_FOR_NOTE, left // 2), save_as)
                left = max(0, left - len(text))
                part = Text(text)
            content.append(part)
        kept = tuple(part for part in content if not isinstance(part, Text) or part.text)
        return ToolResult(tool_use_id=use.id, content=kept, is_error=output.is_error)

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
                    if call.started:
                        await call.ended.wait()
            finally:  # a task that is cancelled a second time waits no more, but still answers
                for call in round_.calls:
                    if call.result is None:
                        call.interrupted()
                await self._recorded(round_, reply)


async def _ran(call: Call, context: ToolContext) -> Output:
    tool = call.tool
    assert tool is not None
    with anyio.move_on_after(tool.time_limit):
        return await tool.run(call.arguments, context)
    return Output(f"{tool.name} was ended: it took over {tool.time_limit:g} s.", is_error=True)


def _ended(reason: str) -> str:
    """A reason as the end of a sentence; what a person typed may have its stop already."""
    return reason if reason.endswith((".", "!", "?", ".)")) else f"{reason}."


def _failure(name: str, problem: Exception) -> Output:
    """An error the model can read. A fault of a tool or a hook must not end the run, nor be
    hidden from whoever maintains it."""
    while isinstance(problem, ExceptionGroup) and len(problem.exceptions) == 1:
        problem = problem.exceptions[0]
    if isinstance(problem, ToolError | BadPath | PathMoved | BadInput):
        return Output(str(problem), is_error=True)
    if isinstance(problem, OSError):
        return Output(f"{name} failed: {problem}.", is_error=True)
    _log.warning("tool failed", tool=name, exc_info=problem)
    return Output(f"{name} failed: {type(problem).__name__}: {problem}", is_error=True)


def _file_name(call_id: str) -> str:
    return re.sub(r"[^\w-]", "_", call_id)[:80] or "call"
