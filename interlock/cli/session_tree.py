"""Sessions as a tree: which began as a copy of which, and the branches inside each.

A session stands under the part of the other one that it branched off from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from attrs import frozen

from interlock.cli.session_list import facts_json, summed_up
from interlock.counted import counted
from interlock.sessions import Node, Part
from interlock.sessions.ends import one_line
from interlock.visible import visible

_WORDS = 48  # characters of a prompt


def lines(nodes: Sequence[Node], now: float) -> Iterator[str]:
    """The tree as text; what others wrote must not repaint the screen."""
    for node in nodes:
        for line in _drawn(_session(node, now)):
            yield visible(line)


def as_json(node: Node) -> dict[str, Any]:
    """The same for programs."""
    session = facts_json(node.session)
    if node.session.forked_from is not None:
        session["forkedFrom"] = {
            "sessionId": node.session.forked_from,
            "messageId": node.family.copied_up_to,
        }
    return session | {
        "parts": [_part_json(part) for part in node.family.parts],
        "branches": [as_json(each) for each in node.branches],
    }


def _part_json(part: Part) -> dict[str, Any]:
    return {
        "firstMessageId": part.first,
        "lastMessageId": part.last,
        "prompts": list(part.prompts),
        "messages": part.messages,
        "began": part.began,
        "ended": part.ended,
        "goesOn": part.goes_on,
        "parts": [_part_json(each) for each in part.parts],
    }


# --- as text ---------------------------------------------------------------------------------


@frozen
class _Drawing:
    line: str
    below: tuple[_Drawing, ...] = ()


def _session(node: Node, now: float) -> _Drawing:
    copied = node.family.copied
    told = f"{node.session.session_id}  {one_line(node.session.title, _WORDS)}"
    line = f"{told}  ({summed_up(node.session, now)})"
    if node.session.forked_from is not None:
        line += f", a branch that took over {counted(copied, 'prompt')}"
    rest = list(node.branches)
    drawn = tuple(_part(part, rest, now) for part in node.family.parts)
    if node.session.forked_from is None and len(drawn) == 1 and not drawn[0].below:
        drawn = ()  # nothing branches here: its title says it
    return _Drawing(line, (*drawn, *(_session(each, now) for each in rest)))


def _part(part: Part, branches: list[Node], now: float) -> _Drawing:
    """Takes out of `branches` those that hang here."""
    here = [each for each in branches if each.family.copied_up_to in part.holds]
    for each in here:
        branches.remove(each)
    below = tuple(_part(each, branches, now) for each in part.parts)
    sessions = tuple(_session(each, now) for each in here)
    return _Drawing(_told(part), (*below, *sessions))


def _told(part: Part) -> str:
    said = [f"“{one_line(words, _WORDS)}”" for words in (part.prompts[:1] + part.prompts[1:][-1:])]
    count = len(part.prompts)
    words = (" … " if count > 2 else ", ").join(said) or "(nothing was asked)"
    line = f"{words}  {counted(count, 'prompt')}"
    if part.parts:
        return f"{line}, then"
    if part.goes_on:
        return f"{line}  <- goes on here"
    return f"{line}, up to {part.last}"


def _drawn(drawing: _Drawing) -> Iterator[str]:
    yield drawing.line
    for number, each in enumerate(drawing.below, 1):
        first, rest = ("└─ ", "   ") if number == len(drawing.below) else ("├─ ", "│  ")
        for at, line in enumerate(_drawn(each)):
            yield (rest if at else first) + line
