"""How a session begins: anew, where an earlier one ended, or as a branch of one.

Takes the lock, reads what there is, and closes calls that a kill left open; the parts that know
something beside the messages take it up later (`session_state`). Nothing is ever run again.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from attrs import evolve, field, frozen

from interlock import spending
from interlock.checkpoints import Checkpoints, carry_over, damage_of
from interlock.counted import counted
from interlock.errors import UsageError
from interlock.home import SessionPaths
from interlock.ledger import Account
from interlock.open_calls import Closed, closed
from interlock.options import Options, PermissionMode, Resume
from interlock.session_state import SessionState, load
from interlock.sessions import (
    Forked,
    Listed,
    Transcript,
    fork,
    in_call_order,
    newest_session,
    origins,
    session_named,
)
from interlock.settings import Settings
from interlock.spending import Spent
from interlock.world import RandomIds
from phases.world.messages import Kind, Message, ToolResult
from phases.world.updates import Notice, Recorded, Update


@frozen(kw_only=True)
class Begun:
    """What a session begins with. The transcript is locked where it was there before."""

    options: Options  # with the model and the mode that come back
    paths: SessionPaths
    transcript: Transcript
    messages: tuple[Message, ...] = ()
    state: SessionState = field(factory=SessionState)
    spent: Mapping[str, Account] = field(factory=dict)  # what it has cost so far
    told: tuple[Update, ...] = ()  # with the first prompt
    notes: tuple[str, ...] = ()  # for the model, of agents that ran in the background

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
    from interlock.agents.taking_up import left_by_agents, results_of, untold

    if options.session_id is not None and not resume.fork:
        raise UsageError("a session that is resumed has its id: --session-id needs --fork-session")
    home = settings.home
    name = resume.session
    found = newest_session(home, cwd) if name is None else session_named(home, cwd, name)
    source = SessionPaths.of(home, cwd, found.session_id)
    loaded = load(source.state)
    spent = Spent() if resume.fork else _spent(source, found)  # a branch pays for itself
    problems = (loaded.problem, damage_of(Checkpoints.of(source.folder).log), *spent.damage)
    told = [Notice("warning", problem) for problem in problems if problem is not None]
    state, paths, copied = loaded.state, source, None
    if resume.fork:
        paths = SessionPaths.of(home, cwd, options.session_id or ids.new())
        copied = fork(source.transcript, paths.transcript, paths.session_id, resume.at)
        state = _of_branch(state, source, paths)
    options = _with_its_own(options, resume, state)
    transcript = _transcript(options, settings, paths, cwd)
    cap = settings.limits.tool_output_cap
    try:
        runs = (source.runs, *_runs_before(source, cwd))
        # A branch ends with that message already, and some copies have ids of their own.
        reading = transcript.take_up(None if resume.fork else resume.at)
        made = closed(reading.messages, *runs, known=results_of(source, cap))
        messages = await _with_results(transcript, reading.messages, made)
    except BaseException:  # nobody else has it yet, who could close it
        transcript.close()
        raise
    left = () if resume.fork else await left_by_agents(home, source.session_id)
    seen = copied or Forked(damage=reading.damage, others=reading.others)
    return Begun(
        options=_with_its_model(options, messages),
        paths=paths,
        transcript=transcript,
        messages=messages,
        state=state,
        spent=spent.accounts,
        told=(
            *told,
            *_told(seen, made, messages, found.title, resume.at),
            *(Notice("warning", line) for line in left),
        ),
        notes=() if resume.fork else (*untold(source, messages, cap), *left),
    )


async def _with_results(
    transcript: Transcript, messages: Sequence[Message], made: Sequence[Closed]
) -> tuple[Message, ...]:
    """The history with results for its open calls, written down."""
    whole = (*messages, *(each.result for each in made))
    await transcript.record(whole)
    # Those that were made now stand last in the file, and a later resume puts them in order:
    # what is sent must not change by it.
    return in_call_order(whole)


def _spent(source: SessionPaths, found: Listed) -> Spent:
    if found.cost_state is not None and not source.costs.exists():
        return spending.foreign(found.cost_state)  # another program's session
    return spending.read(source.costs)


def _runs_before(source: SessionPaths, cwd: Path) -> Iterator[Path]:
    """Of the sessions it branched from: a crash may have left calls open that are theirs."""
    for transcript in origins(source.transcript):
        yield SessionPaths.of(source.home, cwd, transcript.stem).runs


def _of_branch(state: SessionState, source: SessionPaths, paths: SessionPaths) -> SessionState:
    """What a branch knows of the session it comes from."""
    for kept, own in ((source.collapses, paths.collapses), (source.plan, paths.plan)):
        with suppress(OSError):  # without the first, old rounds are shown whole again
            paths.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.copy(kept, own)
    carry_over(source.folder, paths.folder)
    readable = (*state.readable, str(source.tool_results))
    return evolve(state, readable=readable)


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
    seen: Forked,
    made: Sequence[Closed],
    messages: Sequence[Message],
    title: str,
    at: str | None,
) -> list[Update]:
    said = sum(message.kind is Kind.PROMPT for message in messages)
    size = f"{counted(said, 'prompt')}, {counted(len(messages), 'message')}"
    told: list[Update] = [Notice("info", f"resumed: {title} ({size})")]
    told += [Notice("warning", line) for line in seen.damage]
    if at is not None:
        told.append(Notice("info", f"it goes on from message {at}; what came after it stays"))
    elif seen.others:
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
        disk=settings.disk,
        new=options.resume is None,
    )
