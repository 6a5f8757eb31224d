"""What a rewind would do to files, as lines for a person: a unified diff of each, before it is
done.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from interlock.checkpoints.contents import Contents, Gone
from interlock.checkpoints.plan import Back, Plan
from interlock.checkpoints.restore import current
from interlock.tools.diff import FOR_PERSON, diff
from interlock.tools.disk import NotAFile
from interlock.tools.filetext import FileText, NotText
from interlock.tools.paths import PathMoved, shown

NOT_COVERED = "What commands (Bash) and other programs changed is not covered."


def lines_of(plan: Plan, contents: Contents, cwd: Path) -> Iterator[str]:
    """A line for each file, with its diff; then those that are left, each with the reason."""
    for back in plan.back:
        name = shown(back.path, cwd)
        yield f"{_verb(back)} {name}{' (also what others changed)' if back.forced else ''}"
        yield from _diff(back, contents, name)
    for left in plan.left:
        yield f"left as it is: {shown(left.path, cwd)}: {left.why}"


def _verb(back: Back) -> str:
    if back.to is None:
        return "goes away:"
    return "comes back:" if back.now is None else "goes back:"


def _diff(back: Back, contents: Contents, name: str) -> Iterator[str]:
    try:
        now = current(back.path) or b""
        then = b"" if back.to is None else contents.get(back.to)
    except (Gone, PathMoved, NotAFile, OSError) as problem:
        yield f"  (no diff: {problem})"
        return
    try:
        before, after = FileText.of(now).view, FileText.of(then).view
    except NotText:
        yield f"  (binary, {len(now):,} bytes now, {len(then):,} bytes then)"
        return
    if before == after and now != then:
        yield "  (only line ends or the byte order mark differ)"
    yield from diff(name, before, after, FOR_PERSON).splitlines()
