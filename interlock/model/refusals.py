"""From a server's words to the blocks of the history that they are about.

A place that is named leads to its block, and to what must go with it: a call to its result,
thinking to the whole trajectory it belongs to (law 6). Where none is named, what was refused
before and never accepted since is doubted. What the 400 says about other parameters of the
request leads nowhere: no block is at fault. The user context and the deferring of tools, which
are in no history, are named like a message of it; the adapter leaves them out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import evolve, frozen

from interlock.model.layout import Place, ordered, runs
from interlock.model.request import CONTEXT_ID, DEFERRAL_ID, Outgoing
from interlock.model.sound import THOUGHT
from phases.world.failures import Failure, RefusedBlock
from phases.world.messages import (
    Block,
    Kind,
    Media,
    Message,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from phases.world.taking_out import is_note, newest_prompt

_TEXTS = {
    Kind.PROMPT: "words of the user",
    Kind.REPLY: "words of the model",
    Kind.RESULT: "words beside a result",
    Kind.SUMMARY: "the summary",
}
_NAMED = re.compile(r"\bmessages[.\[](\d+)\]?(?:\.content[.\[](\d+)\b)?")
_ABOUT_PAIRS = re.compile(r"\btool_use(_id)?s?\b.*\b(ids?|result)\b|tool_use_id", re.I)
_ABOUT_THINKING = re.compile(r"\bthinking\b|\bsignature\b", re.I)
_THINKING_BLOCKS = re.compile(r"thinking`?\W+blocks?\b", re.I)
# Parameters of the request that are no part of the history.
_ELSEWHERE = re.compile(
    r"^\W*(max_tokens|model|system|tools|tool_choice|thinking|temperature|top_[pk]|stream|metadata"
    r"|stop_sequences|context_management|output_config|betas?|anthropic-|x-api-key)",
    re.I,
)
_ABOUT_DEFERRAL = re.compile(r"defer_loading|tool_reference|tool[ _-]search", re.I)
# What gateways say of a field that they do not know, where they name no more than its place.
_STRANGE_FIELD = re.compile(
    r"\W*tools\b.*(extra inputs|additional propert|(unknown|unrecognized|unexpected|unsupported)"
    r" (field|key|param|prop|arg|input))",
    re.I,
)
_OUR_MARKS = re.compile(r"cache_control")
_UNREADABLE = re.compile(
    r"could not process|not valid|invalid|unsupported|does not match|corrupt", re.I
)
ABOUT_MEDIA = re.compile(r"image|pdf|document|media", re.I)
TOO_LARGE = re.compile(r"exceed|too (large|big|many|much)|max allowed|maximum of|\bpixels\b", re.I)


@frozen
class _Spot:
    """A block as it was sent."""

    turn: int  # which API message
    place: Place
    told: bool = False  # its words may stay

    @property
    def block(self) -> Block:
        return self.place.block


_Turns = list[list[_Spot]]


def refused_blocks(outgoing: Outgoing, detail: str, *, unheard: bool) -> tuple[RefusedBlock, ...]:
    """What to take out of the history, in its order; nothing where nothing can be.

    `unheard` says that the request was refused before any answer had begun.
    """
    if outgoing.defers and (_ABOUT_DEFERRAL.search(detail) or _STRANGE_FIELD.match(detail)):
        return _deferral(outgoing)
    turns = _turns(outgoing)
    found = _about(turns, detail, outgoing.messages)
    if found is None and unheard:
        found = _doubted(turns, outgoing)
    places = {(spot.place.message.id, spot.place.index): spot for spot in found or ()}
    blocks = [spot.block for turn in turns for spot in turn]
    calls = {block.id: block.name for block in blocks if isinstance(block, ToolUse)}
    return tuple(
        _refused(places[spot.place.message.id, spot.place.index], calls, outgoing)
        for turn in turns
        for spot in turn
        if (spot.place.message.id, spot.place.index) in places
    )


def names_context(failure: Failure) -> bool:
    """Whether the user context is (part of) what was refused."""
    return any(one.message_id == CONTEXT_ID for one in failure.to_take_out)


def names_deferral(failure: Failure) -> bool:
    """Whether tools that are loaded later are (part of) what was refused."""
    return any(one.message_id == DEFERRAL_ID for one in failure.to_take_out)


def _deferral(outgoing: Outgoing) -> tuple[RefusedBlock, ...]:
    """The deferring itself, and every result that refers to a tool."""
    what = "the deferring of tools by references (for the rest of the session)"
    references = [
        RefusedBlock(message_id=message.id, block=at, what="what loaded them")
        for message in outgoing.messages
        for at, block in enumerate(message.content)
        if isinstance(block, ToolResult) and block.loads and not block.is_error
    ]
    return (RefusedBlock(message_id=DEFERRAL_ID, block=0, what=what), *references)


def _about(turns: _Turns, detail: str, messages: tuple[Message, ...]) -> list[_Spot] | None:
    """What the words are about; nothing where no block is at fault, None where they are silent."""
    if _OUR_MARKS.search(detail):
        return []
    place = _NAMED.search(detail)
    if place is not None:
        block = None if place[2] is None else int(place[2])
        named = _named(turns, int(place[1]), block, detail)
        return _context_last(named, messages) or None
    if _THINKING_BLOCKS.search(detail) and len(turns) > 1:
        return _trajectory(turns, len(turns) // 2 * 2 - 1)  # the newest reply's
    if _ELSEWHERE.search(detail):
        return []
    if ABOUT_MEDIA.search(detail) and TOO_LARGE.search(detail):
        return []  # which one is not told; a compaction leaves them all out
    if ABOUT_MEDIA.search(detail) and _UNREADABLE.search(detail):
        # "Could not process image" names no place. The requests before this one went through,
        # so the newest picture is it; were it another one, the next try would take that out.
        return _newest_media(turns) or None
    return None


def _turns(outgoing: Outgoing) -> _Turns:
    """The blocks of each API message, as they were sent; from scratch, for an error only."""
    asked: tuple[str, ...] = ()
    turns: _Turns = []
    for _, _, members in runs(outgoing.messages):
        places = ordered(members, asked, thinking=outgoing.thinking)
        turns.append([_Spot(len(turns), place) for place in places])
        asked = tuple(call.id for message in members for call in message.calls)
    return turns


# --- what is named ---------------------------------------------------------------------------


def _named(turns: _Turns, number: int, block: int | None, detail: str) -> list[_Spot]:
    if number >= len(turns):
        return []
    turn = turns[number]
    if block is not None and block >= len(turn):
        block = None  # counted otherwise than by us; the message is the right one
    if _ABOUT_THINKING.search(detail) and number % 2:
        return _trajectory(turns, number)
    if block is not None and isinstance(turn[block].block, THOUGHT):
        return _trajectory(turns, number)
    if block is None or is_note(turn[block].block):
        # The whole message; also where a note in place of the one block did not help.
        left = [spot for spot in turn if not is_note(spot.block) or _is_result(spot)]
        return _with_partners(turns, left)
    if _is_result(turn[block]) and not _ABOUT_PAIRS.search(detail):
        return [turn[block]]  # it is what the tool said that was refused
    return _with_partners(turns, [turn[block]])


def _with_partners(turns: _Turns, spots: list[_Spot]) -> list[_Spot]:
    """Calls with their results and results with their calls: one of them alone is refused."""
    ids = {name for spot in spots if (name := _call_of(spot)) is not None}
    beside = [spot for turn in turns for spot in turn if _call_of(spot) in ids]
    return [*spots, *beside]


def _trajectory(turns: _Turns, number: int) -> list[_Spot]:
    """The thinking of the whole trajectory, never a part of it.

    One that still goes on would be refused without its thinking too. So it ends here: its calls
    and results become words, and nothing that was learnt is lost.
    """
    first = last = number
    while first >= 2 and any(map(_is_result, turns[first - 1])):
        first -= 2
    while last + 2 < len(turns) and any(map(_is_result, turns[last + 1])):
        last += 2
    thoughts = [
        spot
        for turn in turns[first : last + 1]
        for spot in turn
        if isinstance(spot.block, THOUGHT)
    ]
    closed = last + 1 < len(turns) and not any(map(_is_result, turns[last + 1]))
    if thoughts and closed:
        return thoughts
    paired = [
        evolve(spot, told=True)
        for turn in turns[first : last + 2]
        for spot in turn
        if _call_of(spot) is not None
    ]
    return [*thoughts, *paired]


def _newest_media(turns: _Turns) -> list[_Spot]:
    spots = (spot for turn in reversed(turns) for spot in reversed(turn))
    return [spot for spot in spots if _holds_media(spot.block)][:1]


# --- what is doubted -------------------------------------------------------------------------


def _doubted(turns: _Turns, outgoing: Outgoing) -> list[_Spot]:
    """What was refused at an earlier prompt too and has not been accepted since.

    A reply proves what stands before it. Of the rest the words of the user go first, then the
    reply with its results. The newest prompt is the last to go.
    """
    messages = outgoing.messages
    replies = [at for at, message in enumerate(messages) if message.kind is Kind.REPLY]
    unproven = {message.id for message in messages[replies[-1] if replies else 0 :]}
    doubted = [
        spot
        for turn in turns
        for spot in turn
        if spot.place.message.id in unproven & outgoing.doubts
        and (_is_result(spot) or not is_note(spot.block))
    ]
    newest = newest_prompt(messages)
    older = [spot for spot in doubted if spot.place.message is not newest]
    words = [spot for spot in older if spot.turn % 2 == 0 and not _is_result(spot)]
    return _with_partners(turns, _context_last(words or older or doubted, messages))


def _context_last(spots: list[_Spot], messages: tuple[Message, ...]) -> list[_Spot]:
    """Of what may be at fault, what is to go first.

    The user context is missed for the rest of the session, the newest prompt leaves nothing to
    answer: so it stays as long as an older block may be the one, and goes before that prompt.
    """
    if not any(map(_is_context, spots)):
        return spots
    newest = newest_prompt(messages)
    older = [s for s in spots if not _is_context(s) and s.place.message is not newest]
    return older or list(filter(_is_context, spots))


# --- one block -------------------------------------------------------------------------------


def _refused(spot: _Spot, calls: Mapping[str, str], outgoing: Outgoing) -> RefusedBlock:
    message = spot.place.message
    what = _what(spot.block, message.kind, calls)
    if _is_context(spot):
        what = f"{outgoing.context_name} (for the rest of the session)"
    return RefusedBlock(message_id=message.id, block=spot.place.index, what=what, told=spot.told)


def _what(block: Block, kind: Kind, calls: Mapping[str, str]) -> str:
    match block:
        case Text():
            return _TEXTS.get(kind, "a note")
        case Media():
            return f"an {block.kind}" if block.kind == "image" else f"a {block.kind}"
        case ToolUse():
            return f"a call of {block.name}"
        case ToolResult():
            return f"a result of {calls.get(block.tool_use_id, 'a tool')}"
        case Thinking() | RedactedThinking():
            return "thinking"
    return "a block"


def _is_context(spot: _Spot) -> bool:
    return spot.place.message.id == CONTEXT_ID


def _is_result(spot: _Spot) -> bool:
    return isinstance(spot.block, ToolResult)


def _call_of(spot: _Spot) -> str | None:
    match spot.block:
        case ToolUse(id=name) | ToolResult(tool_use_id=name):
            return name
    return None


def _holds_media(block: Block) -> bool:
    if isinstance(block, ToolResult):
        return any(isinstance(part, Media) for part in block.content)
    return isinstance(block, Media)
