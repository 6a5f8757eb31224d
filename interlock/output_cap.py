"""What the user asked a model to write at most, where that is more than it can."""

from __future__ import annotations

from interlock.model.prices import facts
from interlock.settings import Settings


def output_cap_warning(model: str, settings: Settings) -> str | None:
    """Says that less will be asked for, and what set it; the gate holds the requests down."""
    known = facts(model)
    caps = {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": settings.output_cap}
    for name in sorted(settings.own_limits & {"default_output_cap", "escalated_output_cap"}):
        caps[f"INTERLOCK_{name.upper()}"] = getattr(settings.limits, name)
    if known is None:
        return None
    over = [f"{name}={cap:,}" for name, cap in caps.items() if cap and cap > known.most_output]
    if not over:
        return None
    return (
        f"{model} writes at most {known.most_output:,} tokens: no request asks for more"
        f" ({', '.join(over)})"
    )
