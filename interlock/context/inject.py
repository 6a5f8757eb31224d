"""Context that travels with every request: about the system at its end, of the user in front.

System context (date, working folder, git) becomes one more block of the system prompt. User
context (memory, project notes) becomes one message in front of the conversation, marked as a
reminder: the model sees it, no transcript holds it, nobody counts it as a prompt. Both are made
once in a session and never change after: the prompt cache lives on equal beginnings. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

# What is loaded at a session's start, in this order: system prompt, memory, environment (all three
# blocks of the system prompt), names of MCP tools, project notes, skills, conversation. These are
# the parts that the user context has of it.
MCP_TOOLS, PROJECT, SKILLS = "mcpTools", "projectNotes", "skills"
USER_CONTEXT_ORDER = (MCP_TOOLS, PROJECT, SKILLS)

_REMINDER = """\
<system-reminder>
As you answer, you can use the following context:
{parts}

It may or may not matter for the task at hand. Do not talk about it unless it does.
</system-reminder>"""


def append_system_context(parts: Sequence[str], context: Mapping[str, str]) -> tuple[str, ...]:
    """The parts of the system prompt with the context as the last one; empty ones dropped."""
    return tuple(part for part in (*parts, system_context(context)) if part.strip())


def system_context(context: Mapping[str, str]) -> str:
    """The context as `key: value` lines; a value of several lines begins below its key."""
    told = (f"{key}: {value}" for key, value in context.items() if value.strip())
    return "\n".join(told).replace(": \n", ":\n")


def user_context(context: Mapping[str, str]) -> str | None:
    """The text of the message in front, what is loaded first first; None: there is nothing."""
    known = [(key, context[key]) for key in USER_CONTEXT_ORDER if key in context]
    others = [(key, text) for key, text in context.items() if key not in USER_CONTEXT_ORDER]
    return _reminder(tuple((key, text) for key, text in (*known, *others) if text.strip()))


@cache
def _reminder(parts: tuple[tuple[str, str], ...]) -> str | None:
    if not parts:
        return None
    return _REMINDER.format(parts="\n\n".join(f"# {key}\n{text.strip()}" for key, text in parts))
