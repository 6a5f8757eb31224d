"""Every number of the loop, once, with its reason. Each is a setting.

The environment name of a limit is `INTERLOCK_` and its name in capitals, unless `env` names
another that users already know. Read by `interlock/settings.py`.
"""

from __future__ import annotations

from typing import Any

import attrs
from attrs import frozen


def _limit(default: Any, reason: str, env: str | None = None) -> Any:
    return attrs.field(default=default, metadata={"reason": reason, "env": env})


@frozen(kw_only=True)
class Limits:
    """Times in seconds, sizes in tokens unless the name or the reason says otherwise."""

    context_window: int = _limit(200_000, "tokens; the window of today's models")
    window_reserve: int = _limit(
        3_000, "tokens kept free below the window: the size of a view is an estimate"
    )
    default_output_cap: int = _limit(
        8_000, "tokens; a low cap holds reservations down, escalation lifts it when needed"
    )
    escalated_output_cap: int = _limit(64_000, "tokens; one retry of a truncated answer")
    max_retries: int = _limit(
        8, "attempts after the first, per model; with the delays below some two minutes"
    )
    backoff_first_s: float = _limit(0.5, "doubles with each attempt")
    backoff_cap_s: float = _limit(32.0, "the longest wait of our own choosing")
    retry_after_cap_s: float = _limit(
        120.0, "a server that asks for more is told to the user instead of waited for"
    )
    max_mends: int = _limit(3, "refused blocks taken out of a request in one turn")
    max_recoveries: int = _limit(3, "continuations of a truncated answer")
    max_pauses: int = _limit(5, "pause_turn replies sent back in one turn")
    max_stop_blocks: int = _limit(
        8,
        "times stop hooks may send the model back to work in one prompt",
        env="CLAUDE_CODE_STOP_HOOK_BLOCK_CAP",
    )
    max_nudges: int = _limit(12, "nudges to use up a token budget in one prompt")
    budget_mark: float = _limit(0.9, "share of a token budget at which nudging stops")
    small_gain: int = _limit(500, "tokens; two nudges in a row that gained less: stop")
    first_event_s: float = _limit(120.0, "from request to the first event of the stream")
    stream_idle_s: float = _limit(90.0, "between events that carry content; pings do not count")
    request_timeout_s: float = _limit(600.0, "one request as a whole")
    tool_output_cap: int = _limit(30_000, "characters of a result the model is given")
    max_concurrent_tools: int = _limit(10, "calls of one reply that run at once")

    @property
    def hard_limit(self) -> int:
        """The largest view, in tokens, that is worth sending."""
        return self.context_window - self.window_reserve
