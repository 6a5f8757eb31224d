"""One call, from its turn to its result: hooks, permission, a place, the tool, hooks, the cap.

Tells the call's machine what happened and goes on as it answers. When the turn comes, and what
one call means for another, is the executor's affair.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import anyio
from attrs import evolve, frozen

from interlock.permissions.decision import Decision, Question, Verdict
from interlock.tools.calls import Call, Round
from interlock.tools.contained import contained
from interlock.tools.heartbeat import Heartbeat
from interlock.tools.lifecycle import Began, CallState, Judged
from interlock.tools.paths import BadPath, PathMoved
from interlock.tools.reads import FileReads
from interlock.tools.results import capped, failure, file_name
from interlock.tools.schema import checked
from interlock.tools.seams import After, Before, Permissions, ToolHooks
from interlock.tools.tool import Output, ToolContext, ToolError, keeps_nothing
from phases.world.limits import Limits
from phases.world.messages import Text, ToolResult
from phases.world.ports import Interrupt
from phases.world.updates import Show, ToolProgress, ToolStarted

_BRIEF = 200  # characters of a problem that go into a record


@frozen(kw_only=True)
class ToolSession:
    """What tools keep from run to run of a session."""

    root: Path
    spill: Path  # the folder for outputs too long to be shown
    reads: FileReads
    keep: Callable[[Path, bytes | None, bytes | None], object] = keeps_nothing  # see ToolContext


@frozen(kw_only=True)
class Performer:
    """Does what a call needs done. One per run."""

    permissions: Permissions
    hooks: ToolHooks
    interrupt: Interrupt
    show: Show
    limits: Limits
    session: ToolSession
    places: anyio.Semaphore
    heartbeat: Heartbeat

    def clear(self, round_: Round, call: Call) -> bool:
        """Whether the call is allowed without asking a person or a hook."""
        if call.tool is None or self.hooks.watches(call.use.name):
            return False
        try:
            return self.permissions.decide(
                self._question(call, self._context(round_, call))
            ).allowed
        except Exception:  # it will fail in its turn, and say so in its result
            return False

    async def perform(self, round_: Round, call: Call) -> None:
        """Bring the call, whose turn it is, to an ending and a result."""
        context = call.context = self._context(round_, call)
        before = await self._checked(round_, call, context)
        if call.over:
            return
        output = await self._ran(round_, call, context)
        round_.cwd = context.cwd
        call.said = self.capped(call, output)
        if before.context is not None:
            call.said = evolve(call.said, content=(*call.said.content, Text(before.context)))
        result = await self._told_hooks(round_, call, call.said)
        if not call.over:
            call.returned(result, timed_out=output.timed_out)

    # --- permission --------------------------------------------------------------------------

    async def _checked(self, round_: Round, call: Call, context: ToolContext) -> Before:
        """Ask hooks and permissions; a call that is not permitted is over then."""
        before, result = Before(), None
        try:
            with contained():
                before = await self._asked_hooks(round_, call)
                question = self._question(call, context)
                decision = await self.permissions.settle(question, before.said)
                if decision.allowed and decision.arguments is not None:
                    question, decision = self._changed(call, context, decision)
            context.granted = frozenset((*question.reads, *question.writes))
        except Exception as problem:  # of a tool, a hook or an asker: the call fails, not the run
            output = failure(call.use.name, problem)
            result = self.capped(call, output)
            judged = Judged(allowed=False, reason=_brief(result.text), broke=True)
        else:
            judged = Judged(
                allowed=decision.allowed, reason=_brief(decision.reason), rule=decision.rule
            )
            if not decision.allowed:
                text = f"Permission denied: {_ended(decision.reason)}"
                result = self.capped(call, Output(text, is_error=True))
        await self._unless_stopped(
            round_, call
        )  # an interrupt while a person was asked is no denial
        if not call.over:
            call.tell(judged)
            if result is not None:
                call.answer(result)
        return before

    def _changed(
        self, call: Call, context: ToolContext, decision: Decision
    ) -> tuple[Question, Decision]:
        """The call with the input that whoever was asked has put in its place; only a denial still
        goes before their yes."""
        assert call.tool is not None
        assert decision.arguments is not None
        call.arguments = checked(decision.arguments, call.tool.input_schema)
        question = self._question(call, context)
        judged = self.permissions.decide(question)
        return question, judged if judged.verdict is Verdict.DENY else decision

    async def _unless_stopped(self, round_: Round, call: Call) -> None:
        """Wait for a cancellation that is on its way; a task may wake once more before it."""
        ended = round_.dropped or round_.interrupted or self.interrupt.requested
        if ended or call.aborting is not None:
            await anyio.sleep_forever()

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
            effects=tool.effects(arguments),
            cwd=context.cwd,
            reads=touches.reads,
            writes=touches.writes,
            named=touches.named,
            command=touches.command,
            domain=touches.domain,
            about=touches.about,
            preview=preview,
        )

    def _context(self, round_: Round, call: Call) -> ToolContext:
        def progress(text: str) -> None:
            if not call.over:
                self.show(ToolProgress(call.use.id, text))

        return ToolContext(
            cwd=round_.cwd,
            root=self.session.root,
            limits=self.limits,
            reads=self.session.reads,
            spill=self.session.spill,
            call_id=file_name(call.use.id),
            use_id=call.use.id,
            progress=progress,
            hides=self.permissions.hides,
            keep=self.session.keep,
        )

    # --- the tool ----------------------------------------------------------------------------

    async def _ran(self, round_: Round, call: Call, context: ToolContext) -> Output:
        tool = call.tool
        assert tool is not None
        async with self.places:
            await self._unless_stopped(round_, call)
            call.tell(Began(tool.time_limit))
            self.show(ToolStarted(call.use))
            self.heartbeat.begin(call.use)
            try:
                with anyio.move_on_after(tool.time_limit), contained():
                    return await tool.run(call.arguments, context)
            except Exception as problem:  # whatever a tool raises is its result
                return failure(call.use.name, problem)
            finally:
                self.heartbeat.end(call.use)
        text = f"{tool.name} was ended: it took over {tool.time_limit:g} s."
        return Output(text, is_error=True, timed_out=True)

    def capped(self, call: Call, output: Output) -> ToolResult:
        """What is said about the call, as its result: under the one cap."""
        return capped(call.use, output, cap=self.limits.tool_output_cap, spill=self.session.spill)

    # --- hooks -------------------------------------------------------------------------------

    async def _asked_hooks(self, round_: Round, call: Call) -> Before:
        """What hooks say before the call; they may change its arguments."""
        if not self.hooks.watches(call.use.name):
            return Before()
        before = await self.hooks.before(call.use, round_.context)
        round_.hook_stopped = round_.hook_stopped or before.stop
        if before.arguments is not None and call.tool is not None:
            given = call.tool.named(before.arguments)
            call.arguments = checked(given, call.tool.input_schema)
        return before

    async def _told_hooks(self, round_: Round, call: Call, result: ToolResult) -> ToolResult:
        if call.state is not CallState.RUNNING or not self.hooks.watches(call.use.name):
            return result
        try:
            use = evolve(call.use, input=call.arguments)
            with contained():
                after = await self.hooks.after(use, result, round_.context)
        except Exception as problem:  # the tool has run: its result stands
            after = After(feedback=f"(A hook failed after this call: {problem})")
        round_.hook_stopped = round_.hook_stopped or after.stop
        if after.output is not None:
            shown = self.capped(call, Output(after.output, is_error=result.is_error))
            result = evolve(result, content=shown.content)
        if after.feedback is None:
            return result
        # Into the one result: a second one for the same call would be refused.
        return evolve(result, content=(*result.content, Text(after.feedback)))


def _ended(reason: str) -> str:
    """A reason as the end of a sentence; what a person typed may have its stop already."""
    return reason if reason.endswith((".", "!", "?", ".)")) else f"{reason}."


def _brief(text: str) -> str:
    """One line of it, for the record."""
    line = " ".join(text.split())
    return line if len(line) <= _BRIEF else f"{line[: _BRIEF - 1]}…"
