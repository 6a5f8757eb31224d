"""Mend a whole history, pass by pass: blocks, pairs, media, thinking, its beginning.

Each pass changes drafts and says what it did. No message is taken out or moved (but for one that
stands there twice), so that the transcript can tell each change as "this one stands for that".
Whether there is anything to mend is asked in `sound.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from attrs import evolve

from interlock.model.drafts import Draft, inserted, turns_of
from interlock.model.looks import Looks, left_out
from interlock.model.pairing import TOLD_ELSEWHERE, pair
from interlock.model.sound import (
    MANY_PICTURES,
    MANY_SIDE,
    MOST_MEDIA,
    MOST_PICTURES,
    THOUGHT,
    Foreign,
    ends_thinking,
    fits,
    names_of,
    opens_badly,
    said_blocks,
    unsigned,
)
from phases.world.messages import (
    Block,
    Kind,
    Media,
    Message,
    Opaque,
    Text,
    ToolResult,
    ToolUse,
    is_blank,
)
from phases.world.ports import Mend

# What is over a limit is brought well below it: else each new picture would mend the history,
# and make its cached prefix void, once more.
_ROOM = 0.8
_NOT_IN_A_NAME = re.compile(r"[^a-zA-Z0-9_-]")
BEGINNING = "[The beginning of this conversation is missing.]"
NOTHING_SAID = "[The user sent an empty message.]"
TWICE = "a message that stood there twice was left out"
MISPLACED = "a block that does not belong there was left out"
RENAMED_TOOL = "a tool's name was made one the API takes"
MEDIA = "an image or document was replaced by a note"
RELABELLED = "an image or document was given its true type"
THINKING = "thinking that cannot be verified was left out"
EMPTY = "a note took the place of an empty message"
TRAILING = "thinking that nothing followed was left out"

_Spot = tuple[Draft, int, int | None, Media]  # draft, block, part of a result


def mend_all(
    messages: tuple[Message, ...], looks: Looks, foreign: Foreign
) -> tuple[tuple[Message, ...], tuple[Mend, ...]]:
    """The history mended, and what was done to it."""
    drafts, mends = [], list[Mend]()  # type: list[Draft], list[Mend]
    seen: set[str] = set()
    for message in messages:
        if seen.isdisjoint(names_of(message)):
            drafts.append(Draft.of(message))
        else:
            mends.append(Mend(message_id=message.id, what=TWICE))
        seen.update(names_of(message))
    for draft in drafts:
        _blocks(draft)
    pair(drafts)
    _media(drafts, looks)
    _thinking(drafts, foreign)
    _ends(drafts)
    done = tuple(draft.finished() for draft in drafts)
    mends += [
        Mend(message_id=message.id, what=what)
        for draft, message in zip(drafts, done, strict=True)
        for what in dict.fromkeys(draft.did)
        if what != TOLD_ELSEWHERE
    ]
    return done, tuple(mends)


# --- blocks ----------------------------------------------------------------------------------


def _blocks(draft: Draft) -> None:
    """What the API does not take from this role, or at all."""
    if all(fits(block, draft.role) for block in draft.content):
        return
    draft.content[:] = [new for block in draft.content if (new := _fitting(block, draft))]


def _fitting(block: Block, draft: Draft) -> Block | None:
    if fits(block, draft.role):
        return block
    match block:
        case ToolUse() if draft.role == "assistant":
            draft.did.append(RENAMED_TOOL)
            name = _NOT_IN_A_NAME.sub("_", block.name)[:128] or "unnamed"
            return evolve(block, name=name)
        case Opaque(raw) if "cache_control" in raw:
            # A mark of whoever wrote the history; four are allowed, and ours are made anew.
            bare = Opaque({key: value for key, value in raw.items() if key != "cache_control"})
            again = _fitting(bare, draft)
            if again is bare:
                draft.did.append(MISPLACED)
            return again
        case Media():
            draft.did.append(MEDIA)
            return left_out(block, "it stood in a reply")
    draft.did.append(MISPLACED)
    return None


# --- media -----------------------------------------------------------------------------------


def _media(drafts: list[Draft], looks: Looks) -> None:
    """Each by itself, then all together."""
    for spot in list(_spots(drafts)):
        sent = looks.of(spot[3]).sent
        if sent is not spot[3]:
            _set(spot, sent)
    pictures = [spot for spot in _spots(drafts) if looks.of(spot[3]).is_picture]
    large = [spot for spot in pictures if looks.of(spot[3]).widest > MANY_SIDE]
    if large and len(pictures) > MANY_PICTURES:
        why = f"with more than {MANY_PICTURES} images in a conversation, each may have at most"
        old = pictures[: len(pictures) - int(MANY_PICTURES * _ROOM)]
        # The large ones, or the oldest ones until there are few: whichever takes less away.
        for spot in min(large, old, key=len):
            _set(spot, left_out(spot[3], f"{why} {MANY_SIDE} pixels a side"))
    pictures = [spot for spot in _spots(drafts) if looks.of(spot[3]).is_picture]
    if len(pictures) > MOST_PICTURES:
        for spot in pictures[: len(pictures) - int(MOST_PICTURES * _ROOM)]:
            _set(spot, left_out(spot[3], f"more than {MOST_PICTURES} are too many"))
    spots = list(_spots(drafts))
    size = sum(len(spot[3].data) for spot in spots)
    if size > MOST_MEDIA:
        for spot in spots:
            if size <= MOST_MEDIA * _ROOM:
                break
            size -= len(spot[3].data)
            _set(spot, left_out(spot[3], "the conversation had become too large to be sent"))


def _spots(drafts: list[Draft]) -> Iterator[_Spot]:
    for draft in drafts:
        for index, block in enumerate(draft.content):
            if isinstance(block, Media):
                yield draft, index, None, block
            elif isinstance(block, ToolResult) and not block.is_error:
                for part, one in enumerate(block.content):
                    if isinstance(one, Media):
                        yield draft, index, part, one


def _set(spot: _Spot, now: Media | Text) -> None:
    draft, index, part, _ = spot
    draft.did.append(RELABELLED if isinstance(now, Media) else MEDIA)
    if part is None:
        draft.content[index] = now
        return
    block = draft.content[index]
    assert isinstance(block, ToolResult)
    content = (*block.content[:part], now, *block.content[part + 1 :])
    draft.content[index] = evolve(block, content=content)


# --- thinking --------------------------------------------------------------------------------


def _thinking(drafts: list[Draft], foreign: Foreign) -> None:
    """Whole blocks only, and all of a tool trajectory where one of them cannot be sent.

    With a part of it the API would miss the thinking that a turn must open with; with none,
    the gate switches thinking off until the user has spoken again.
    """
    for draft in drafts:
        while draft.says_something and ends_thinking(draft.content):
            last = max(n for n, block in enumerate(draft.content) if not is_blank(block))
            del draft.content[last]
            draft.did.append(TRAILING)
    for trajectory in _trajectories(drafts):
        if any(_bad(turn, foreign) for turn in trajectory):
            for draft in (draft for turn in trajectory for draft in turn):
                if any(isinstance(block, THOUGHT) for block in draft.content):
                    draft.content[:] = [b for b in draft.content if not isinstance(b, THOUGHT)]
                    draft.did.append(THINKING)


def _trajectories(drafts: list[Draft]) -> Iterator[list[list[Draft]]]:
    """The assistant turns that hang together by calls and results."""
    found: list[list[Draft]] = []
    for turn in turns_of(drafts):
        if turn[0].role == "assistant":
            found.append(turn)
        elif found and not any(isinstance(b, ToolResult) for draft in turn for b in draft.content):
            yield found
            found = []
    if found:
        yield found


def _bad(turn: list[Draft], foreign: Foreign) -> bool:
    thought = [draft for draft in turn if any(isinstance(b, THOUGHT) for b in draft.content)]
    if any(foreign(draft.message) or any(map(unsigned, draft.content)) for draft in thought):
        return True
    return opens_badly(said_blocks(block for draft in turn for block in draft.content))


# --- beginning and end -----------------------------------------------------------------------


def _ends(drafts: list[Draft]) -> None:
    """The user speaks first, and says something last where it is the user's turn."""
    speaking = [draft for draft in drafts if draft.says_something]
    if not speaking and drafts:
        drafts.append(_note(drafts[-1], NOTHING_SAID, EMPTY))
    elif speaking and speaking[0].role == "assistant":
        drafts.insert(0, _note(drafts[0], BEGINNING, "a note was put before the first reply"))
    if speaking and speaking[-1].role == "assistant" and drafts[-1].role == "user":
        drafts.append(_note(drafts[-1], NOTHING_SAID, EMPTY))


def _note(beside: Draft, words: str, did: str) -> Draft:
    tag = "beginning" if words is BEGINNING else "nothing said"
    return inserted(beside.message, tag, Kind.NOTE, [Text(words)], did)
