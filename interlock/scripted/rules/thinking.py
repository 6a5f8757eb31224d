"""Rules for thinking blocks: where they stand, whose they are, and that none is lost or bent.

Stricter than life in one point: a trajectory that contains thinking may not go on with thinking
switched off, where the real API sometimes just ignores the blocks.
"""

from __future__ import annotations

from interlock.scripted.replies import Block
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
    issued = asked.signatures.calls(calls[0].block["id"])
    if any(each.model != model or not each.thinking for each in issued):
        return  # it was said without thinking, or by a model whose thinking cannot be sent here
    yield (
        f"{turn.blocks[0].place}.type: Expected `thinking` or `redacted_thinking`, but found"
        f" `{turn.blocks[0].type}`. When `thinking` is enabled, a final `assistant` message must"
        " start with a thinking block (preceeding the lastmost set of `tool_use` and"
        " `tool_result` blocks). To avoid this requirement, disable `thinking`."
    )


def _bent(turn: Turn, thought: list[Placed], asked: Asked, model: str) -> Problems:
    left: list[Block] = [dict(one.block) for one in thought]
    wanted: tuple[Block, ...] | None = None
    for one in turn.blocks:
        issued = asked.signatures.calls(one.block["id"]) if one.type == "tool_use" else ()
        # Neighbouring calls of one reply share the very same tuple.
        if not issued or any(each.model != model or each.thinking is wanted for each in issued):
            continue
        for each in issued:
            wanted, rest = each.thinking, _behind(each.thinking, left)
            if rest is not None:
                left = rest
                break
        else:
            yield f"{one.place}: {_MODIFIED}"


def _behind(wanted: tuple[Block, ...], left: list[Block]) -> list[Block] | None:
    """What is left behind the wanted blocks, in their order; None where one is missing."""
    blocks = iter(left)
    return list(blocks) if all(dict(block) in blocks for block in wanted) else None
