"""How a session begins: anew, where an earlier one ended, or as a branch of one.

Takes the lock, reads what there is, and closes calls that a kill left open; the parts that know
something beside the messages take it up later (`session_state`). Nothing is ever run again.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from attrs import evolve, field, frozen

from interlock.errors import UsageError
from interlock.home import SessionPaths
from interlock.open_calls import Closed, closed
from interlock.options import Options, PermissionMode, Resume
from interlock.session_state import SessionState, load
from interlock.sessions import Forked, Transcript, fork, newest_session, session_named
from interlock.settings import Settings
from interlock.world import RandomIds
from phases.world.messages import Kind, Message, ToolResult
from phases.world.updates import Notice, Recorded, Update

_COLLAPSES = "collapses.jsonl"


@frozen(kw_only=True)
class Begun:
    """What a session begins with. The transcript is locked where it was there before."""

    options: Options  # with the model and the mode that come back
    paths: SessionPaths
    transcript: Transcript
    messages: tuple[Message, ...] = ()
    state: SessionState = field(factory=SessionState)
    told: tuple[Update, ...] = ()  # with the first prompt

    @property
    def resumed(self) -> bool:
        return self.options.resume is not None

    def folder(self) -> Path | None:
        """The folder that its commands ran in, if it is still there."""
        named = (self.state.shell or {}).get("folder")
        return Path(named) if isinstance(named, str) and Path(named).is_dir() else None


async def begun(options: Options, settings: Settings, cwd: Path, ids: RandomIds) -> Begun:
    """Begin as the options say. Raises UsageError, SessionNotFound, TranscriptError."""
    if options.resume is None:
        paths = SessionPaths.of(settings.home, cwd, options.session_id or ids.new())
        if options.session_id is not None and paths.transcript.exists():
            line = f"session {options.session_id} exists already"
            raise UsageError(f"{line}; resume it, or leave --session-id out")
        return Begun(
            options=options, paths=paths, transcript=_transcript(options, settings, paths, cwd)
        )
    return await _resumed(options, options.resume, settings, cwd, ids)


async def _resumed(
    options: Options, resume: Resume, settings: Settings, cwd: Path, ids: RandomIds
) -> Begun:
    if options.session_id is not None and not resume.fork:
        raise UsageError("a session that is resumed has its id: --session-id needs --fork-session")
    home = settings.home
    name = resume.session
    found = newest_session(home, cwd) if name is None else session_named(home, cwd, name)
    source = SessionPaths.of(home, cwd, found.session_id)
    loaded = load(source.state)
    told = [] if loaded.problem is None else [Notice("warning", loaded.problem)]
    state, paths, copied = loaded.state, source, None
    if resume.fork:
        paths = SessionPaths.of(home, cwd, options.session_id or ids.new())
        copied = fork(source.transcript, paths.transcript, paths.session_id)
        state = _of_branch(state, source, paths)
    options = _with_its_own(options, resume, state)
    transcript = _transcript(options, settings, paths, cwd)
    try:
        reading = transcript.take_up()
        made = closed(reading.messages, source.runs)
        results = tuple(each.result for each in made)
        messages = (*reading.messages, *results)
        await transcript.record(messages)
    except BaseException:
        transcript.close()
        raise
    seen = copied or Forked(damage=reading.damage, others=reading.others)
    return Begun(
        options=_with_its_model(options, messages),
        paths=paths,
        transcript=transcript,
        messages=messages,
        state=state,
        told=(*told, *_told(seen, made, messages, found.title)),
    )


def _of_branch(state: SessionState, source: SessionPaths, paths: SessionPaths) -> SessionState:
    """What a branch knows of the session it comes from; what that cost is not its own."""
    for name in (_COLLAPSES, source.plan.name):
        with suppress(OSError):  # without the first old rounds are shown whole again
            paths.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.copy(source.folder / name, paths.folder / name)
    readable = (*state.readable, str(source.tool_results))
    return evolve(state, spent={}, readable=readable)


def _with_its_own(options: Options, resume: Resume, state: SessionState) -> Options:
    """The options with the session's model and mode, where they go before."""
    if state.model is not None and (options.model is None or resume.over_model):
        options = evolve(options, model=state.model)
    mode = state.permission_mode
    if mode not in set(PermissionMode) or mode == PermissionMode.BYPASS_PERMISSIONS:
        return options
    if options.permission_mode is PermissionMode.DEFAULT or resume.over_mode:
        options = evolve(options, permission_mode=PermissionMode(mode))
    return options


def _with_its_model(options: Options, messages: Sequence[Message]) -> Options:
    """Another program's session has no state: then the model is the one that answered last."""
    if options.model is not None:
        return options
    named = (message.origin.model for message in reversed(messages) if message.origin is not None)
    return evolve(options, model=next(named, None))


def _told(
    seen: Forked, made: Sequence[Closed], messages: Sequence[Message], title: str
) -> list[Update]:
    said = sum(message.kind is Kind.PROMPT for message in messages)
    told: list[Update] = [
        Notice("info", f"resumed: {title} ({said} prompts, {len(messages)} messages)")
    ]
    told += [Notice("warning", line) for line in seen.damage]
    if seen.others:
        branches = "another branch" if seen.others == 1 else f"{seen.others} other branches"
        told.append(
            Notice("warning", f"the session has {branches}; it goes on from what was written last")
        )
    for each in made:
        told.append(Notice("warning", f"open call of {each.call.name}: {_line(each.result)}"))
    return [*told, *(Recorded(each.result) for each in made)]


def _line(result: Message) -> str:
    (block,) = result.content
    return block.text if isinstance(block, ToolResult) else ""


def _transcript(
    options: Options, settings: Settings, paths: SessionPaths, cwd: Path
) -> Transcript:
    return Transcript(
        paths.transcript,
        session_id=paths.session_id,
        cwd=cwd,
        entrypoint=settings.entrypoint,
        permission_mode=options.permission_mode.value,
    )
