"""Hooks: commands and functions of the user's that are heard at set moments of a session.

`events` is the table of what each can do, `registering` reads them, `session` runs them, `ports`
stands where the agent hears them. docs/hooks.md is for those who write them.
"""

from interlock.hooks.command import Trees
from interlock.hooks.events import Event, OnFailure
from interlock.hooks.hook import Hook, HookFunction, HookMatcher, with_environment
from interlock.hooks.idle import idle
from interlock.hooks.ports import (
    HookedRequests,
    HookedStop,
    HookedTools,
    NotifyingAsker,
    PreCompact,
    blocked,
    notified,
    prompt_submitted,
    session_ended,
    session_started,
    subagent_started,
)
from interlock.hooks.registering import parse, registered
from interlock.hooks.session import SessionFacts, SessionHooks, Who

__all__ = [
    "Event",
    "Hook",
    "HookFunction",
    "HookMatcher",
    "HookedRequests",
    "HookedStop",
    "HookedTools",
    "NotifyingAsker",
    "OnFailure",
    "PreCompact",
    "SessionFacts",
    "SessionHooks",
    "Trees",
    "Who",
    "blocked",
    "idle",
    "notified",
    "parse",
    "prompt_submitted",
    "registered",
    "session_ended",
    "session_started",
    "subagent_started",
    "with_environment",
]
