"""Give each call exactly one result, in the next user turn, under an id that is its alone.

Results are never made up: a call whose result is not to be found is answered with an error that
says so. Nothing is known here of messages that say nothing: they are in no turn.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator

from attrs import Factory, define, evolve, frozen

from interlock.model.drafts import Draft, answer, inserted, turns_of
from interlock.model.sound import TOOL_ID
from phases.world.messages import Block, Kind, ToolResult, ToolUse, derived_id

LOST = (
    "No result: it was lost before it was written down. It is not known whether this call ran, "
    "nor what it changed."
)
ANSWERED = "a call without a result was answered with an error"
MOVED = "a result was moved behind its call"
RENAMED = "a call got an id of its own"
TOLD_ELSEWHERE = ""  # the other end of a change says what was done
ORPHAN = "a result that belongs to no call was left out"


@frozen(eq=False)
class _Place:
    """A result and where it stands."""

    turn: int
    draft: Draft
    index: int
    block: ToolResult


@define
class _Plan:
    """What becomes of blocks; indexes hold, for nothing changes before the plan is whole."""

    swaps: dict[tuple[Draft, int], Block | None] = Factory(dict)
    extra: defaultdict[Draft, list[Block]] = Factory(lambda: defaultdict(list))
    fresh: Draft | None = None  # a message for results at the end of the history
    before: Draft | None = None  # which one it is to stand; None: none


def pair(drafts: list[Draft]) -> None:
    """Mend the pairs of the whole history, in place."""
    turns = turns_of(drafts)
    asked = [_calls_of(turn) for turn in turns]
    plan, taken = _Plan(), set[str]()
    in_place, spare = _sorted_out(turns, asked)
    for at, calls in enumerate(asked):
        following = turns[at + 1] if at + 1 < len(turns) else []
        for draft, index, call in calls:
            id_ = call.id
            if not TOOL_ID.match(id_) or id_ in taken:
                id_ = _new_id(draft, index, taken)
                plan.swaps[draft, index] = evolve(call, id=id_)
                draft.did.append(RENAMED)
            taken.add(id_)
            if place := next(_taken_from(in_place[at + 1, call.id]), None):
                if id_ != call.id:
                    plan.swaps[place.draft, place.index] = evolve(place.block, tool_use_id=id_)
                    place.draft.did.append(TOLD_ELSEWHERE)
                continue
            found = _later(spare[call.id], at, asked)
            if found is not None:
                plan.swaps[found.draft, found.index] = None
                found.draft.did.append(TOLD_ELSEWHERE)
                result = evolve(found.block, tool_use_id=id_)
            else:
                result = answer(id_, LOST)
            did = MOVED if found else ANSWERED
            _put(result, did, draft, following, drafts[-1], plan)
    for place in (place for places in spare.values() for place in places):
        plan.swaps[place.draft, place.index] = None
        place.draft.did.append(ORPHAN)
    _carry_out(plan, drafts)


def _new_id(draft: Draft, index: int, taken: set[str]) -> str:
    tag, id_ = f"call {index}", ""
    while not id_ or id_ in taken:
        id_ = f"toolu_{derived_id(draft.message.id, tag).replace('-', '')[:24]}"
        tag += "+"
    return id_


_Calls = list[tuple[Draft, int, ToolUse]]
_InPlace = defaultdict[tuple[int, str], deque[_Place]]


def _calls_of(turn: list[Draft]) -> _Calls:
    return [
        (draft, index, block)
        for draft in turn
        for index, block in enumerate(draft.content)
        if isinstance(block, ToolUse)
    ]


def _sorted_out(
    turns: list[list[Draft]], asked: list[_Calls]
) -> tuple[_InPlace, defaultdict[str, list[_Place]]]:
    """The results that stand behind their calls, by turn and id; and all others, by id."""
    in_place: _InPlace = defaultdict(deque)
    spare: defaultdict[str, list[_Place]] = defaultdict(list)
    for at, turn in enumerate(turns):
        open_ = Counter(call.id for _, _, call in asked[at - 1]) if at else Counter[str]()
        for draft in turn:
            for index, block in enumerate(draft.content):
                if not isinstance(block, ToolResult):
                    continue
                place = _Place(at, draft, index, block)
                if open_[block.tool_use_id]:
                    open_[block.tool_use_id] -= 1
                    in_place[at, block.tool_use_id].append(place)
                else:
                    spare[block.tool_use_id].append(place)
    return in_place, spare


def _taken_from(places: deque[_Place]) -> Iterator[_Place]:
    while places:
        yield places.popleft()


def _later(spare: list[_Place], at: int, asked: list[_Calls]) -> _Place | None:
    """The first result behind turn `at` that can only belong to its call; taken from `spare`."""
    for number, place in enumerate(spare):
        if place.turn <= at:
            continue
        id_ = place.block.tool_use_id
        between = asked[at + 1 : place.turn]
        if any(call.id == id_ for calls in between for _, _, call in calls):
            return None
        return spare.pop(number)
    return None


def _put(
    result: ToolResult, did: str, asker: Draft, following: list[Draft], last: Draft, plan: _Plan
) -> None:
    """Plan where a result is to stand that does not stand behind its call yet."""
    results = [draft for draft in following if _holds_result(draft, plan)]
    if results:
        host = results[-1]
    elif following and following != [last]:
        host = following[0]
    else:
        # At the end of the history nothing is written yet: there it can be a message by itself.
        # One for all, the last call's result first: its entry in the transcript hangs on the
        # call of its first block, and what lies behind that call would be off the path.
        if plan.fresh is None:
            plan.before = following[0] if following else None
            plan.fresh = inserted(asker.message, "results", Kind.RESULT, [], did)
        plan.fresh.message = evolve(plan.fresh.message, source=asker.message.id)
        plan.fresh.content.insert(0, result)
        plan.fresh.did.append(did)
        return
    plan.extra[host].append(result)
    host.did.append(did)


def _holds_result(draft: Draft, plan: _Plan) -> bool:
    return any(
        isinstance(block, ToolResult) and plan.swaps.get((draft, index), block) is not None
        for index, block in enumerate(draft.content)
    )


def _carry_out(plan: _Plan, drafts: list[Draft]) -> None:
    changed = {draft for draft, _ in plan.swaps} | set(plan.extra)
    for draft in changed:
        kept = [
            now
            for index, block in enumerate(draft.content)
            if (now := plan.swaps.get((draft, index), block)) is not None
        ]
        behind = max((n for n, b in enumerate(kept, 1) if isinstance(b, ToolResult)), default=0)
        kept[behind:behind] = plan.extra.get(draft, [])
        draft.content[:] = kept
    if plan.fresh is not None:
        at = len(drafts) if plan.before is None else drafts.index(plan.before)
        drafts.insert(at, plan.fresh)
