"""Going back to an earlier prompt of a session: its conversation, its files, or both.

`Rewind.planned` only looks; `carried_out` does what was planned. Files go first: killed in
between, a rewind can simply be asked for again. Nothing is overwritten in the transcript, and what
files held is kept before they change, so a rewind is undone by going back to before it.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from enum import StrEnum
from pathlib import Path

import anyio.to_thread
from attrs import evolve, frozen

from interlock.checkpoints import Checkpoints, damage_of, read_log
from interlock.checkpoints.plan import Back, Left, Plan, planned
from interlock.checkpoints.restore import Restored, present, restored
from interlock.errors import UsageError
from interlock.home import SessionPaths
from interlock.sessions import Point, Points, Transcript, marker_of, points_of
from interlock.world import RandomIds
from phases.world.messages import Kind, Message, Text

_MOST_NAMED = 5  # files
_NOTHING = "there is nothing to go back to: nobody has said anything in this session"


class What(StrEnum):
    """What goes back."""

    BOTH = "both"
    FILES = "files"
    CONVERSATION = "conversation"


@frozen(kw_only=True)
class Rewind:
    """What a rewind would do. `files` is None where they stay as they are."""

    point: Point
    tip: str | None  # the last entry of the conversation when this was planned
    what: What
    files: Plan | None

    @property
    def turns_back(self) -> bool:
        """Whether the conversation is another one afterwards."""
        return self.what is not What.FILES


@frozen(kw_only=True)
class Rewound:
    """What was done. `messages` is the history that goes on."""

    id: str  # of the rewind: the point to go back to in order to undo it
    messages: tuple[Message, ...]
    back: tuple[Back, ...] = ()
    left: tuple[Left, ...] = ()


def points(paths: SessionPaths) -> Points:
    """Where one can go back to, the oldest first. Raises UsageError where there is nothing."""
    found = points_of(paths.transcript)
    if not found.points:
        raise UsageError("; ".join([_NOTHING, *found.damage]))
    log = damage_of(Checkpoints.of(paths.folder).log)
    return found if log is None else evolve(found, damage=(*found.damage, log))


def point_named(found: Sequence[Point], name: str) -> Point:
    """The point that `name` means: its number, its id or the beginning of one, words of it.

    Raises UsageError where none fits, or several do.
    """
    wanted = name.strip().casefold()
    if wanted.isascii() and wanted.isdigit() and 1 <= int(wanted) <= len(found):
        return found[int(wanted) - 1]
    fitting = [one for one in found if len(wanted) >= 4 and one.id.startswith(wanted)]
    fitting = fitting or [one for one in found if wanted and wanted in one.line.casefold()]
    if len(fitting) == 1:
        return fitting[0]
    numbers = ", ".join(str(found.index(one) + 1) for one in fitting)
    problem = f"fits several prompts ({numbers})" if fitting else "is no prompt of this session"
    raise UsageError(f"{name!r} {problem}; name one of the numbers 1 to {len(found)}")


def plan(
    paths: SessionPaths,
    found: Points,
    point: Point,
    what: What = What.BOTH,
    force: Set[Path] = frozenset(),
) -> Rewind:
    """What it takes to go back to `point`. `force`: files to take back although others changed
    them. Changes nothing. Raises UsageError.
    """
    files = None
    if what is not What.CONVERSATION:
        checkpoints = Checkpoints.of(paths.folder)
        try:
            log = read_log(checkpoints.log)
        except OSError as error:
            line = f"the checkpoints in {checkpoints.folder} cannot be read: {error.strerror}"
            raise UsageError(line) from error
        files = planned(log, point.id, present, force)
        if files.unknown and what is What.FILES:
            raise UsageError(
                "no checkpoints were kept at that prompt (fileCheckpointingEnabled was off, or "
                "another program wrote it): only the conversation can go back"
            )
        _insist_on_changed(force, {change.path for change in log.since(point.id) or ()})
    elif force:
        raise UsageError("where the conversation alone goes back no file can be forced to")
    return Rewind(point=point, tip=found.tip, what=what, files=files)


def _insist_on_changed(force: Set[Path], changed: Set[Path]) -> None:
    """Raise UsageError where a file is forced back that the agent has not touched since."""
    strange = ", ".join(str(path) for path in sorted(force - changed))
    if strange:
        known = ", ".join(str(path) for path in sorted(changed)[:_MOST_NAMED])
        more = " and others" if len(changed) > _MOST_NAMED else ""
        told = f"it changed {known}{more}" if changed else "it changed none"
        raise UsageError(f"the agent has not changed {strange} since that prompt; {told}")


async def carried_out(
    rewind: Rewind, transcript: Transcript, checkpoints: Checkpoints, ids: RandomIds
) -> Rewound:
    """Do it. The transcript must be ours to write. Raises TranscriptError, UsageError."""
    if transcript.tip != rewind.tip:
        raise UsageError("the session has gone on since the rewind was shown; look again")
    id_ = ids.new()
    done = Restored()
    if (files := rewind.files) is not None and not files.unknown:
        done = await anyio.to_thread.run_sync(lambda: restored(files, checkpoints, id_))
    elif checkpoints.log.exists():
        checkpoints.begin(id_)  # what is changed from here on goes back when this is undone
    to = rewind.point.tip if rewind.turns_back else rewind.tip
    marker = marker_of(id_, to=to, point=rewind.point, tip=rewind.tip)
    messages = transcript.turn_back(marker).messages
    if done.back and not rewind.turns_back:
        # The model remembers changes that are gone now; unasked it would not look again.
        note = _note(rewind.point, done.back, ids)
        messages = (*messages, note)
        await transcript.record(messages)
    return Rewound(id=id_, messages=messages, back=done.back, left=done.left)


def _note(point: Point, back: Sequence[Back], ids: RandomIds) -> Message:
    files = ", ".join(f"{each.path}{' (removed)' if each.to is None else ''}" for each in back)
    what = "rewind" if point.rewind else "prompt"
    text = (
        "<system-reminder>\nThe user has put these files back to what they held before the "
        f"{what} {point.line[:80]!r}: {files}. Read them again before you rely on them.\n"
        "</system-reminder>"
    )
    return Message(id=ids.new(), role="user", kind=Kind.NOTE, content=(Text(text),))
