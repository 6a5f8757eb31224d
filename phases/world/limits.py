"""Every number of the loop, once, with its reason. Each is a setting.

The environment name of a limit is `INTERLOCK_` and its name in capitals, unless `env` names
another that users already know. Read by `interlock/settings.py`.
"""

from __future__ import annotations

from typing import Any

import attrs
from attrs import frozen


def _limit(
    default: Any,
    reason: str,
    env: str | None = None,
    *,
    zero: bool = True,
    milliseconds: bool = False,
) -> Any:
    """A number; without `zero` it makes no sense as nothing (of tries, nothing means never).

    `milliseconds` is what the name in `env` counts in, as its users know it.
    """
    metadata = {
        "reason": reason,
        "env": env,
        "zero": zero,
        "share": False,
        "milliseconds": milliseconds,
    }
    return attrs.field(default=default, metadata=metadata)


def _share(default: float, reason: str) -> Any:
    """A share, from 0 to 1."""
    metadata = {"reason": reason, "env": None, "zero": True, "share": True, "milliseconds": False}
    return attrs.field(default=default, metadata=metadata)


@frozen(kw_only=True)
class Limits:
    """Times in seconds, sizes in tokens unless the name or the reason says otherwise."""

    context_window: int = _limit(200_000, "tokens; the window of today's models", zero=False)
    window_reserve: int = _limit(
        3_000, "tokens kept free below the window: the size of a view is an estimate"
    )
    default_output_cap: int = _limit(
        8_000,
        "tokens; a low cap holds reservations down, escalation lifts it when needed",
        zero=False,
    )
    escalated_output_cap: int = _limit(
        64_000, "tokens; one retry of a truncated answer", zero=False
    )
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
    budget_mark: float = _share(0.9, "share of a token budget at which nudging stops")
    small_gain: int = _limit(500, "tokens; two nudges in a row that gained less: stop")
    first_event_s: float = _limit(
        120.0, "from request to the first event of the stream", zero=False
    )
    stream_idle_s: float = _limit(
        90.0, "between events that carry content; pings do not count", zero=False
    )
    request_timeout_s: float = _limit(600.0, "one request as a whole", zero=False)
    tool_output_cap: int = _limit(30_000, "characters of a result the model is given", zero=False)
    max_concurrent_tools: int = _limit(10, "calls of one reply that run at once", zero=False)
    tool_heartbeat_s: float = _limit(
        5.0, "between two signs of life of a call that runs long", zero=False
    )
    turn_output_cap: int = _limit(
        100_000, "characters of all results of one reply; what is over goes into files", zero=False
    )
    max_concurrent_requests: int = _limit(
        8,
        "requests of a session to models under way at once, all its agents together",
        zero=False,
    )
    max_agent_depth: int = _limit(
        4, "generations of agents below the main one; work that is handed on further gets lost"
    )
    max_agents_running: int = _limit(64, "agents of a session that are at work at once")
    max_agents_started: int = _limit(
        200,
        "agents started in one prompt, at whatever depth: more is a model that runs in circles",
    )
    snip_keep_turns: int = _limit(200, "model calls that a history snip leaves at least")
    microcompact_keep_turns: int = _limit(10, "model calls whose results are never cleared")
    microcompact_least_turns: int = _limit(
        20, "model calls whose results are cleared at once: fewer are not worth the cached prefix"
    )
    microcompact_share: float = _share(
        0.5, "share of the window from which old results are cleared"
    )
    microcompact_growth: float = _share(
        0.2, "share of the window between two clearings: each makes the cached prefix void"
    )
    cache_lifetime_s: float = _limit(
        300.0, "after a longer pause the prompt cache is gone, and clearing costs nothing"
    )
    collapse_keep_turns: int = _limit(10, "model calls whose rounds are never collapsed")
    collapse_stage_share: float = _share(
        0.6, "share of the window from which collapses of old rounds are prepared"
    )
    collapse_worth: float = _limit(
        2.0, "times what is left of the conversation: so much must go, or a summary is cheaper"
    )
    collapse_commit_share: float = _share(
        0.7, "share of the window from which they are put in place; autocompact comes later"
    )
    fallback_cooldown_s: float = _limit(
        300.0, "after an overload; until then prompts begin with the model that took over"
    )
    max_sleep_s: float = _limit(3_600.0, "of one call of the Sleep tool")
    mcp_timeout_s: float = _limit(
        30.0,
        "from the start of an MCP server to its tools; npx and its like fetch things first",
        env="MCP_TIMEOUT",
        zero=False,
        milliseconds=True,
    )
    mcp_tool_timeout_s: float = _limit(
        600.0,
        "one call of a tool of an MCP server, the time a person is asked left out",
        env="MCP_TOOL_TIMEOUT",
        zero=False,
        milliseconds=True,
    )
    mcp_grace_s: float = _limit(
        3.0, "that a session's first request waits for MCP servers; later ones join behind it"
    )
    mcp_max_restarts: int = _limit(3, "of an MCP server that was there and was lost")
    mcp_defer_share: float = _share(
        0.1, "share of the window from which schemas of MCP tools are loaded on demand only"
    )

    compact_threshold: float = _share(
        0.9, "share of the window, less the room for a summary, from which history is summarised"
    )
    warning_threshold: float = _share(
        0.8, "share of the same from which the user is told that this will come"
    )
    summary_reserve: int = _limit(
        20_000, "tokens kept free for writing a summary; an eighth of a window that is small"
    )
    max_summary_tries: int = _limit(
        4,
        "requests for one summary, each smaller than the one before; then a cut without a model",
        zero=False,
    )
    max_summary_retries: int = _limit(2, "attempts after the first of each such request")
    max_compact_failures: int = _limit(
        3, "summaries that failed in a row; then autocompact waits for a manual compact"
    )
    max_fruitless_compactions: int = _limit(
        2, "in a row after which the window was full again at once; then compaction stops"
    )
    keepsake_budget: int = _limit(
        20_000, "tokens of recently read files and the like that stand beside a summary"
    )
    skill_listing_budget: int = _limit(
        2_000, "tokens of the list of skills in front of each request; their text comes on demand"
    )
    keepsake_files: int = _limit(5, "recently read files among them")

    @property
    def hard_limit(self) -> int:
        """The largest view, in tokens, that is worth sending."""
        return self.context_window - self.window_reserve

    @property
    def summary_room(self) -> int:
        """Tokens that a summary may take; with them free, one can be asked for in time."""
        return min(self.summary_reserve, self.context_window // 8)

    @property
    def compact_at(self) -> int:
        """The size from which the history is summarised."""
        return self._share(self.compact_threshold)

    @property
    def warn_at(self) -> int:
        """The size from which the user is told that the window fills up."""
        return self._share(self.warning_threshold)

    def _share(self, share: float) -> int:
        # A window that is all reserve still has a limit, and nothing starts later than there.
        return min(int((self.context_window - self.summary_room) * share), self.hard_limit)
