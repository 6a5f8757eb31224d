"""The events a hook can be registered for, and what each can do: one table (docs/hooks.md).

A hook that breaks is one that did not say what it had to say: it could not be started, took too
long, failed, or printed something that cannot be read. Where an event guards something, such a
hook does not let it through.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from attrs import frozen


class Event(StrEnum):
    PRE_TOOL_USE = "PreToolUse"
    POST_TOOL_USE = "PostToolUse"
    POST_TOOL_USE_FAILURE = "PostToolUseFailure"
    PERMISSION_REQUEST = "PermissionRequest"
    USER_PROMPT_SUBMIT = "UserPromptSubmit"
    STOP = "Stop"
    STOP_FAILURE = "StopFailure"
    SUBAGENT_START = "SubagentStart"
    SUBAGENT_STOP = "SubagentStop"
    SESSION_START = "SessionStart"
    SESSION_END = "SessionEnd"
    PRE_COMPACT = "PreCompact"
    NOTIFICATION = "Notification"


class Effect(StrEnum):
    """What one hook brings about; from the mildest to the strictest."""

    PASS = "passes"  # nothing; things go on as without the hook
    CONTEXT = "context"  # the model reads what the hook printed
    TOLD = "told"  # a person is told; things go on
    ALLOW = "allows"  # the call runs without a question; deny and ask rules still bind
    ASK = "asks"  # a person decides; where nobody can be asked, it is denied
    FEEDBACK = "feedback"  # the model reads it beside the result
    BLOCK = "blocks"  # not now, and why: the prompt, the compaction, the end of the run
    DENY = "denies"  # the call does not run, and the model is told why
    STOP = "stops"  # the run ends


class OnFailure(StrEnum):
    """What follows where a hook breaks: its setting `onFailure`."""

    ASK = "ask"
    BLOCK = "block"
    CONTINUE = "continue"


@frozen(kw_only=True)
class Facts:
    """What an event can do. The first of `broken` is the default."""

    about: str | None  # what a matcher is held against; None: there is nothing, a matcher is idle
    block: Effect  # exit code 2, and `decision: block`
    stop: Effect  # `continue: false`
    broken: Mapping[OnFailure, Effect]
    plain: Effect = Effect.PASS  # text on stdout that is no JSON, at exit 0
    context: Effect = Effect.PASS  # `additionalContext`
    timeout_s: float = 600.0  # test suites run in hooks
    most_s: float = 86_400.0
    aside: bool = False  # nobody waits for these, and nothing they say is heard

    @property
    def guards(self) -> bool:
        """Whether something is to be held back where the hook breaks."""
        return next(iter(self.broken)) is not OnFailure.CONTINUE


_CONTINUE, _ASK, _BLOCK = OnFailure.CONTINUE, OnFailure.ASK, OnFailure.BLOCK
_TOLD_ONLY = {_CONTINUE: Effect.TOLD}
_TOOL_HAS_RUN = Facts(
    about="tool_name",
    context=Effect.CONTEXT,
    block=Effect.FEEDBACK,
    stop=Effect.STOP,
    broken={_CONTINUE: Effect.TOLD, _BLOCK: Effect.FEEDBACK},
)


def _end(about: str | None) -> Facts:
    # Sent back to work, the model could not mend a hook, and would pay for trying eight times.
    return Facts(
        about=about,
        block=Effect.BLOCK,
        context=Effect.BLOCK,  # the model can read it only if it goes on
        stop=Effect.STOP,
        broken={_BLOCK: Effect.STOP, _CONTINUE: Effect.TOLD},
    )


def _news(about: str, plain: Effect = Effect.PASS) -> Facts:
    return Facts(
        about=about,
        block=Effect.TOLD,
        stop=Effect.TOLD,
        broken=_TOLD_ONLY,
        plain=plain,
        context=Effect.CONTEXT,
    )


def _aside(about: str, timeout_s: float, most_s: float) -> Facts:
    return Facts(
        about=about,
        block=Effect.PASS,
        stop=Effect.PASS,
        broken={_CONTINUE: Effect.PASS},
        timeout_s=timeout_s,
        most_s=most_s,
        aside=True,
    )


FACTS: Mapping[Event, Facts] = {
    Event.PRE_TOOL_USE: Facts(
        about="tool_name",
        block=Effect.DENY,
        context=Effect.CONTEXT,
        stop=Effect.STOP,
        broken={_ASK: Effect.ASK, _BLOCK: Effect.DENY, _CONTINUE: Effect.TOLD},
    ),
    Event.PERMISSION_REQUEST: Facts(
        about="tool_name",
        block=Effect.DENY,
        stop=Effect.DENY,
        # It answers in a person's place. Where it has no answer, the person is asked.
        broken={_ASK: Effect.ASK, _BLOCK: Effect.DENY, _CONTINUE: Effect.ASK},
    ),
    Event.USER_PROMPT_SUBMIT: Facts(
        about=None,
        block=Effect.BLOCK,
        stop=Effect.BLOCK,
        broken={_BLOCK: Effect.BLOCK, _CONTINUE: Effect.TOLD},
        plain=Effect.CONTEXT,
        context=Effect.CONTEXT,
        timeout_s=30.0,  # a person waits for the first word
    ),
    Event.STOP: _end(None),
    Event.SUBAGENT_STOP: _end("agent_type"),
    Event.POST_TOOL_USE: _TOOL_HAS_RUN,
    Event.POST_TOOL_USE_FAILURE: _TOOL_HAS_RUN,
    Event.PRE_COMPACT: Facts(
        about="trigger",
        block=Effect.BLOCK,
        stop=Effect.TOLD,
        # No guard: a window that stays full would be the end of the session.
        broken={_CONTINUE: Effect.TOLD, _BLOCK: Effect.BLOCK},
    ),
    Event.SESSION_START: _news("source", plain=Effect.CONTEXT),
    Event.SUBAGENT_START: _news("agent_type"),
    Event.NOTIFICATION: _aside("notification_type", timeout_s=60.0, most_s=86_400.0),
    # Somebody waits for the prompt to come back, or for the program to leave.
    Event.STOP_FAILURE: _aside("error", timeout_s=5.0, most_s=60.0),
    Event.SESSION_END: _aside("reason", timeout_s=5.0, most_s=60.0),
}
