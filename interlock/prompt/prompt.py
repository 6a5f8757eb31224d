"""The system prompt as a typed list of parts: base, appended text, memory, environment.

The order is from what never changes to what changes most, so that the prompt cache holds as much
as it can. Knows neither tools nor messages; who sends the parts decides where the cache breaks.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from attrs import frozen

from interlock.context.inject import append_system_context
from interlock.options import Options

_BASE = Path(__file__).with_name("system.md")
_BYTES_PER_TOKEN = 4  # English prose and code; good enough for a budget, not for a bill


@frozen(kw_only=True)
class Part:
    """A piece of the system prompt under a name that stays the same from run to run."""

    name: str
    text: str

    @property
    def tokens(self) -> int:
        return estimated_tokens(self.text)


@cache
def base_prompt() -> str:
    """Interlock's own system prompt."""
    return _BASE.read_text(encoding="utf-8").strip()


def system_parts(options: Options, environment: str, memory: str = "") -> tuple[Part, ...]:
    """The parts that are not empty, in the order they are sent."""
    # An empty prompt is a choice (agent SDKs make it); only None asks for ours.
    base = base_prompt() if options.system_prompt is None else options.system_prompt
    parts = (
        Part(name="base", text=base),
        Part(name="appended", text=options.append_system_prompt or ""),
        Part(name="memory", text=memory),
        Part(name="environment", text=environment),
    )
    return tuple(part for part in parts if part.text.strip())


def system_blocks(
    options: Options,
    environment: str,
    context: Mapping[str, str] | None = None,
    *,
    memory: str = "",
) -> tuple[str, ...]:
    """The texts of the parts: one system block each, and one for `context`, if there is any."""
    parts = system_parts(options, environment, memory)
    return append_system_context([part.text for part in parts], context or {})


def estimated_tokens(text: str) -> int:
    """About how many tokens a text costs."""
    return len(text.encode()) // _BYTES_PER_TOKEN
