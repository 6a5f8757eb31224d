"""The session's hooks at the places of the agent where they are heard.

Each class here implements a seam of somebody else: the executor's, the loop's, the gate's, the
summariser's. None of them decides: it asks the hooks, and puts what they say into that seam's
words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import frozen

from interlock.hooks.events import Effect, Event
from interlock.hooks.outcome import Said
from interlock.hooks.session import SessionHooks, Who
from interlock.permissions.ask import Answer, Asker
from interlock.permissions.decision import Decision, Question, Verdict
from interlock.tools.seams import After, Before
from phases.world.failures import Failure
from phases.world.loop import Loop, ToolUseContext
from phases.world.messages import Json, ToolResult, ToolUse
from phases.world.ports import Interrupt, Spoken

_RAN = (Event.PRE_TOOL_USE, Event.POST_TOOL_USE, Event.POST_TOOL_USE_FAILURE)


def who(context: ToolUseContext, agent_type: str | None = None) -> Who:
    return Who(
        cwd=context.cwd,
        permission_mode=context.permission_mode,
        agent_id=context.agent_id,
        agent_type=agent_type,
    )


@frozen
class HookedTools:
    """Implements `interlock.tools.seams.ToolHooks`."""

    hooks: SessionHooks
    agent_type: str | None = None

    def watches(self, tool: str) -> bool:
        return any(self.hooks.watches(event, tool) for event in _RAN)

    async def before(self, call: ToolUse, context: ToolUseContext) -> Before:
        said = await self.hooks.ask(
            Event.PRE_TOOL_USE, call.name, _of(call), who(context, self.agent_type)
        )
        return Before(
            said=said.decision,
            arguments=said.arguments,
            context=said.context,
            stop=said.stop,
        )

    async def after(self, call: ToolUse, result: ToolResult, context: ToolUseContext) -> After:
        event = Event.POST_TOOL_USE_FAILURE if result.is_error else Event.POST_TOOL_USE
        told: dict[str, Json] = {"error": result.text} if result.is_error else {}
        response = {"content": result.text, "is_error": result.is_error}
        said = await self.hooks.ask(
            event,
            call.name,
            {**_of(call), "tool_response": response, **told},
            who(context, self.agent_type),
        )
        feedback = [*said.reasons(Effect.FEEDBACK), *([said.context] if said.context else [])]
        return After(feedback="\n\n".join(feedback) or None, stop=said.stop, output=said.output)


@frozen
class HookedStop:
    """Implements `phases.world.ports.StopHooks`; of a sub-agent they are its SubagentStop."""

    hooks: SessionHooks
    agent_type: str | None = None
    transcript: Path | None = None  # the sub-agent's
    interrupt: Interrupt | None = None  # the sub-agent's

    async def stop(self, loop: Loop) -> Spoken:
        context = loop.state.tool_use_context
        main = context.agent_id is None
        told = {} if self.transcript is None else {"agent_transcript_path": str(self.transcript)}
        reply = loop.now.reply
        said = await self.hooks.ask(
            Event.STOP if main else Event.SUBAGENT_STOP,
            None if main else self.agent_type or "",
            {
                "stop_hook_active": loop.state.stop_hook_active,
                "last_assistant_message": reply.message.text if reply is not None else "",
                **told,
            },
            who(context, self.agent_type),
        )
        return Spoken(prevented=said.stop, blocking_errors=said.reasons(Effect.BLOCK))

    def stop_failed(self, loop: Loop, failure: Failure) -> None:
        if (self.interrupt or self.hooks.interrupt).requested:
            return  # the user's own stop is no failure
        reply = loop.now.reply
        self.hooks.start(
            Event.STOP_FAILURE,
            failure.kind.value,
            {
                "error": failure.kind.value,
                "error_details": failure.message,
                "last_assistant_message": reply.message.text if reply is not None else "",
            },
            who(loop.state.tool_use_context, self.agent_type),
        )


@frozen
class HookedRequests:
    """Implements the gate's `RequestHooks`: an answer in a person's place, or None."""

    hooks: SessionHooks

    async def requested(self, question: Question, decision: Decision) -> Answer | None:
        said = await self.hooks.ask(
            Event.PERMISSION_REQUEST,
            question.tool,
            {
                "tool_name": question.tool,
                "tool_input": dict(question.arguments),
                "tool_use_id": question.tool_use_id,
                "reason": decision.reason,
            },
            Who(
                cwd=str(question.cwd),
                agent_id=question.agent_id,
                agent_type=question.agent_type,
            ),
        )
        found = said.decision
        if found is None or found.verdict is Verdict.ASK:
            return None
        if said.interrupt:
            self.hooks.stop()
        return Answer(allowed=found.allowed, reason=found.reason)


@frozen
class NotifyingAsker:
    """Tells hooks that a person is about to be asked; they run beside the question."""

    asker: Asker
    hooks: SessionHooks

    async def ask(self, question: Question, decision: Decision) -> Answer:
        kind = "permission_prompt"
        told = {
            "message": f"Interlock needs your permission to use {question.tool}",
            "title": "Permission needed",
            "notification_type": kind,
        }
        self.hooks.start(Event.NOTIFICATION, kind, told, Who(cwd=str(question.cwd)))
        return await self.asker.ask(question, decision)


@frozen
class PreCompact:
    """Asks PreCompact hooks. What the API has refused for its size is compacted whatever they
    say: the only other way is the end of the session."""

    hooks: SessionHooks

    async def refusal(
        self, context: ToolUseContext, trigger: str, focus: str | None
    ) -> str | None:
        """Why there is to be no compaction, or None."""
        name = "manual" if trigger == "manual" else "auto"
        told = {"trigger": name, "custom_instructions": focus}
        said = await self.hooks.ask(Event.PRE_COMPACT, name, told, who(context))
        reasons = said.reasons(Effect.BLOCK)
        if not reasons or trigger == "reactive":
            return None
        return f"a PreCompact hook blocks it: {'; '.join(reasons)}"


def _of(call: ToolUse) -> Mapping[str, Json]:
    return {"tool_name": call.name, "tool_input": dict(call.input), "tool_use_id": call.id}


async def prompt_submitted(hooks: SessionHooks, text: str, at: Who) -> Said:
    """What hooks say to a prompt before it becomes part of the history."""
    return await hooks.ask(Event.USER_PROMPT_SUBMIT, None, {"prompt": text}, at)


async def session_started(hooks: SessionHooks, source: str, at: Who) -> str | None:
    """What hooks have to say to the model as a session begins; `source` is startup, resume,
    clear or compact."""
    told = {"source": source, "model": hooks.facts.model}
    return (await hooks.ask(Event.SESSION_START, source, told, at)).context


async def session_ended(hooks: SessionHooks, reason: str) -> None:
    """`reason` is clear, logout, prompt_input_exit or other."""
    await hooks.ask(Event.SESSION_END, reason, {"reason": reason})


async def notified(hooks: SessionHooks, kind: str, message: str) -> None:
    """Something a person should know of, as `idle_prompt`."""
    told = {"message": message, "notification_type": kind}
    await hooks.ask(Event.NOTIFICATION, kind, told)


async def subagent_started(hooks: SessionHooks, agent_id: str, agent_type: str) -> str | None:
    """What hooks have to say to a sub-agent that begins."""
    told = {"agent_id": agent_id, "agent_type": agent_type}
    return (await hooks.ask(Event.SUBAGENT_START, agent_type, told)).context


def blocked(said: Said) -> Sequence[str]:
    """Why hooks do not let a prompt through; empty where they do."""
    return said.reasons(Effect.BLOCK)
