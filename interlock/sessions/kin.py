"""Sessions of one family: which began as a copy of which, and the branches inside each."""

from __future__ import annotations

from collections.abc import Sequence

from attrs import define, field

from interlock.sessions.branches import Family, family_of
from interlock.sessions.ends import Listed


@define(kw_only=True)
class Node:
    """One session with its branches, and the sessions that branched off from it."""

    session: Listed
    family: Family
    branches: list[Node] = field(factory=list)


def tree_of(sessions: Sequence[Listed]) -> list[Node]:
    """The sessions that began by themselves, the newest first, with those that branched off.

    Reads each file from end to end, one line at a time. Raises TranscriptError.
    """
    nodes = {
        one.session_id: Node(session=one, family=family_of(one.path))
        for one in sorted(sessions, key=lambda each: -each.changed)
    }
    roots: list[Node] = []
    for node in nodes.values():
        source = nodes.get(node.session.forked_from or "")
        above = roots if source is None or source is node else source.branches
        above.append(node)
    return roots


def kin_of(sessions: Sequence[Listed], session: Listed) -> list[Listed]:
    """The session, what it began as a copy of, and all that began as a copy of these."""
    by_id = {one.session_id: one for one in sessions} | {session.session_id: session}
    first, seen = session, {session.session_id}
    while (above := by_id.get(first.forked_from or "")) and above.session_id not in seen:
        first = above
        seen.add(first.session_id)
    found = {first.session_id: first}
    while more := [
        one for one in by_id.values() if one.session_id not in found and one.forked_from in found
    ]:
        found |= {one.session_id: one for one in more}
    return list(found.values())
