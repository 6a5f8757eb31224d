"""Which model a child is asked with: the call's, else its definition's, else its parent's."""

from __future__ import annotations

from collections.abc import Mapping

from interlock.agents.definition import INHERIT

# The newest of each family; the names users know (ANTHROPIC_DEFAULT_SONNET_MODEL) go before them.
NEWEST = {
    "fable": "claude-fable-5-1",
    "opus": "claude-opus-5-5",
    "sonnet": "claude-sonnet-5-5",
    "haiku": "claude-haiku-5-5",
}


def model_of(
    asked: str | None, defined: str, parent: str, families: Mapping[str, str], every: str | None
) -> str:
    """The model's name. `every` is what the user has set for all agents."""
    wanted = every or (asked or "").strip() or defined
    if wanted == INHERIT:
        return parent
    family = wanted.lower()
    if family not in NEWEST:
        return wanted
    # Of the parent's own family its parent's is meant: one session, one version.
    return parent if f"-{family}" in parent else families.get(family) or NEWEST[family]
