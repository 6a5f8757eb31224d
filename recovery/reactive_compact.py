"""Summarise the whole history in one model call, so that the run can go on.

The request is the session's own (same system prompt, tools and model, so the same cached
prefix) with one instruction at its end. The user's own words survive verbatim beside the
summary: what was asked for must not depend on how well it was retold.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import Protocol

from phases.world.loop import Loop
from phases.world.messages import Kind, Message, Text, note
from phases.world.outcomes import Compacted
from phases.world.ports import Failed, Ids, Interrupt, Model, Replied, Request
from phases.world.size import estimate
from phases.world.updates import Compaction, Notice, Show

INSTRUCTION = """\
The conversation has become too long for the context window. Write a summary that will take its \
place: whoever goes on will know nothing but this summary and the user's own messages. Call no \
tool. Write plainly, under these heads:
1. Goal: what the user wants, with every constraint and preference that was stated.
2. Done: what was changed, file by file, and what was learnt. Quote the code, names, commands and \
errors that matter exactly.
3. State: what works, what does not, what was running or half finished.
4. Next: the steps that remain, in order, and the one under way."""

PREFACE = """\
This session goes on from an earlier conversation that no longer fits the context window. \
The user's messages of that time, oldest first:

{requests}

Summary of what happened since:

{summary}

Go on with the task where the summary ends. Do not mention the summary."""

SUMMARY_CAP = 16_000  # tokens; a summary longer than this would defeat its purpose
REQUESTS_CAP = 40_000  # characters of the user's own words; the newest count most


class ReactiveCompactPorts(Protocol):
    @property
    def interrupt(self) -> Interrupt: ...
    @property
    def model(self) -> Model: ...
    @property
    def ids(self) -> Ids: ...
    @property
    def show(self) -> Show: ...


async def reactive_compact(loop: Loop, ports: ReactiveCompactPorts) -> Compacted:
    """Ask for a summary, once. The view it makes, or why there is none."""
    view = loop.now.view
    answer: Replied | Failed | None = None
    with ports.interrupt.scope():
        answer = await _ask(loop, ports)
    if answer is None or ports.interrupt.requested:
        return Compacted(aborted=True)
    cost, tokens = answer.cost, answer.usage.output_tokens
    problem = _problem_with(answer)
    if isinstance(answer, Failed) or problem is not None:
        ports.show(Notice("warning", f"The conversation could not be summarised: {problem}"))
        return Compacted(problem=problem, cost=cost, tokens=tokens)
    summary = PREFACE.format(requests=_requests(view), summary=answer.reply.message.text.strip())
    message = Message(id=ports.ids.new(), role="user", kind=Kind.SUMMARY, content=(Text(summary),))
    ports.show(Compaction("auto", loop.now.size, loop.run.fixed_tokens + estimate(message)))
    return Compacted(view=(message,), cost=cost, tokens=tokens)


async def _ask(loop: Loop, ports: ReactiveCompactPorts) -> Replied | Failed:
    view = loop.now.view
    request = Request(
        model=loop.state.tool_use_context.model,
        messages=(*view, note(view[-1].id, "summarise", INSTRUCTION)),
        max_tokens=SUMMARY_CAP,
        purpose="compact",
    )
    async with aclosing(ports.model.ask(request)) as events:
        async for event in events:
            if isinstance(event, Replied | Failed):
                return event
    raise RuntimeError("the model port ended without a reply and without a failure")


def _problem_with(answer: Replied | Failed) -> str | None:
    if isinstance(answer, Failed):
        return answer.failure.message
    if not answer.reply.message.text.strip():
        return "the model wrote no summary"
    if answer.reply.stop_reason not in ("end_turn", "stop_sequence"):
        return f"the summary is not whole (stop_reason {answer.reply.stop_reason})"
    return None


def _requests(view: tuple[Message, ...]) -> str:
    """The user's prompts verbatim, oldest first; the oldest go if they are too many."""
    kept: list[str] = []
    room = REQUESTS_CAP
    for message in reversed(view):
        if message.kind is not Kind.PROMPT:
            continue
        text = message.text.strip()
        if len(text) > room:
            kept.append(f"- {text[:room]} [cut]" if room > 0 else "- [older messages left out]")
            break
        kept.append(f"- {text}")
        room -= len(text)
    return "\n".join(reversed(kept)) or "(none)"
