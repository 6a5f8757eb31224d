"""Rules for thinking blocks: where they stand, whose they are, and that none is lost or bent.

Stricter than life in one point: a trajectory that contains thinking may not go on with thinking
switched off, where the real API sometimes just ignores the blocks.
"""

from __future__ import annotations

from interlock.scripted.rules.walk import Asked, Placed, Problems, Turn, trajectory
from interlock.scripted.signatures import KINDS

_MODIFIED = (
    "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be"
    " modified. These blocks must remain as they were in the original response."
)


def thinking_problems(asked: Asked) -> Problems:
    """All rules about thinking blocks in messages."""
    model = asked.body["model"]
    for turn in asked.turns:
        if turn.role == "assistant" and turn.blocks and turn.blocks[-1].type in KINDS:
            yield (
                f"messages.{turn.index}: The final block in an assistant message cannot be"
                f" `{turn.blocks[-1].type}`."
            )
        for one in turn.blocks:
            if one.type in KINDS and not asked.signatures.knows(model, one.block):
                part = "signature" if one.type == "thinking" else "data"
                yield f"{one.place}: Invalid `{part}` in `{one.type}` block"
    yield from _trajectory_problems(asked, model)


def _trajectory_problems(asked: Asked, model: str) -> Problems:
    going_on = trajectory(asked.turns)
    mode = (asked.body.get("thinking") or {}).get("type", "disabled")
    if mode == "enabled" and going_on:
        yield from _opening(going_on[-1], asked, model)
    for turn in going_on:
        thought = [one for one in turn.blocks if one.type in KINDS]
        if mode == "disabled":
            for one in thought:
                yield (
                    f"{one.place}.type: When `thinking` is disabled, an `assistant` message in"
                    f" the final position cannot contain `{one.type}`. To use thinking blocks,"
                    " enable `thinking` in your request."
                )
        else:
            yield from _bent(turn, thought, asked, model)


def _opening(turn: Turn, asked: Asked, model: str) -> Problems:
    calls = [one for one in turn.blocks if one.type == "tool_use"]
    if not calls or turn.blocks[0].type in KINDS:
        return
    issued = asked.signatures.call(calls[0].block["id"])
    if issued is not None and (issued.model != model or not issued.thinking):
        return  # it was said without thinking, or by a model whose thinking cannot be sent here
    yield (
        f"{turn.blocks[0].place}.type: Expected `thinking` or `redacted_thinking`, but found"
        f" `{turn.blocks[0].type}`. When `thinking` is enabled, a final `assistant` message must"
        " start with a thinking block (preceeding the lastmost set of `tool_use` and"
        " `tool_result` blocks). To avoid this requirement, disable `thinking`."
    )


def _bent(turn: Turn, thought: list[Placed], asked: Asked, model: str) -> Problems:
    left = iter([dict(one.block) for one in thought])
    wanted = None
    for one in turn.blocks:
        issued = asked.signatures.call(one.block["id"]) if one.type == "tool_use" else None
        if issued is None or issued.model != model or issued.thinking is wanted:
            continue
        wanted = issued.thinking  # neighbouring calls of one reply share the very same tuple
        if not all(dict(block) in left for block in wanted):
            yield f"{one.place}: {_MODIFIED}"
