"""What the sessions have cost that this one is a branch of: its own cost begins at zero."""

from __future__ import annotations

from collections.abc import Iterator

from interlock.cli.session_list import money
from interlock.home import SessionPaths
from interlock.sessions import origins
from interlock.sessions.ends import listed
from interlock.spending import cost_of


def lines(paths: SessionPaths) -> Iterator[str]:
    """A line for each, the nearest first; none where the session began by itself."""
    for transcript in origins(paths.transcript):
        found = listed(transcript, 0.0)
        if found is None:
            yield f"{transcript.stem[:8]}, which it is a branch of, is gone"
            continue
        cost = cost_of(found)
        told = "cost that is not known" if cost is None else f"has cost {money(cost)} itself"
        yield f"{found.session_id[:8]} ({found.title}), which it is a branch of, {told}"
