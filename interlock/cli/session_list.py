"""Sessions as lines of a list, and as JSON: what their files' ends and their costs tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from interlock.cli.picking import ago
from interlock.counted import counted
from interlock.sessions import Listed
from interlock.sessions.ends import one_line
from interlock.spending import cost_of
from interlock.visible import visible

_FIRST_PROMPT = 48  # characters


def lines(sessions: Sequence[Listed], now: float, *, folders: bool) -> Iterator[str]:
    """A heading and a line for each; what others wrote must not repaint the screen."""
    yield f"{'ID':<36}  {'AGE':>6}  {'PROMPTS':>7}  {'COST':>9}  {'SIZE':>7}  TITLE"
    for one in sessions:
        prompts = "-" if one.prompts is None else str(one.prompts)
        told = one.title
        if one.first_prompt is not None and one.first_prompt != one.words[0]:
            told += f"  “{one_line(one.first_prompt, _FIRST_PROMPT)}”"
        if one.tag is not None:
            told += f"  #{one.tag}"
        if folders:
            told += f"  in {one.cwd or one.path.parent.name}"
        yield visible(
            f"{one.session_id:<36}  {ago(now - one.changed):>6}  {prompts:>7}  "
            f"{money(cost_of(one)):>9}  {size_of(one.size):>7}  {told}"
        )


def facts_json(one: Listed) -> dict[str, Any]:
    """What is known of a session, for programs."""
    return {
        "id": one.session_id,
        "title": one.title,
        "name": one.name,
        "firstPrompt": one.first_prompt,
        "prompts": one.prompts,
        "costUSD": cost_of(one),
        "began": one.began,
        "modified": datetime.fromtimestamp(one.changed, UTC).isoformat().replace("+00:00", "Z"),
        "size": one.size,
        "cwd": one.cwd,
        "gitBranch": one.git_branch,
        "tag": one.tag,
        "forkedFrom": None if one.forked_from is None else {"sessionId": one.forked_from},
        "path": str(one.path),
    }


def summed_up(one: Listed, now: float) -> str:
    """How much it is, in a few words."""
    prompts, cost = one.prompts, cost_of(one)
    told = [] if prompts is None else [counted(prompts, "prompt")]
    return ", ".join([*told, *([] if cost is None else [money(cost)]), ago(now - one.changed)])


def money(cost: float | None) -> str:
    return "-" if cost is None else f"${cost:.4f}" if cost < 10 else f"${cost:,.2f}"


def size_of(count: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:.1f} {unit}" if count < 10 * size else f"{count // size} {unit}"
    return f"{count} B"
