"""`--resume-drops-turn`: a resume at an earlier message leaves that turn behind and no other."""

from __future__ import annotations

from pathlib import Path

from interlock.errors import UsageError
from interlock.options import Resume
from interlock.sessions import newest_session, read_messages, session_named
from interlock.sessions.reading import read
from phases.world.messages import Kind

_REJECTED = "Resume rejected by --resume-drops-turn:"


def insist_on_one_dropped(home: Path, cwd: Path, resume: Resume | None, prompt: str) -> None:
    """Raise UsageError where more would be left behind than the turn of this prompt."""
    if resume is None or resume.at is None:
        raise UsageError(f"{_REJECTED} it needs --resume and --resume-session-at beside it")
    name = resume.session
    found = newest_session(home, cwd) if name is None else session_named(home, cwd, name)
    kept = {message.id for message in read(found.path, resume.at).messages}
    left = [message for message in read_messages(found.path) if message.id not in kept]
    prompts = [message.id for message in left if message.kind is Kind.PROMPT]
    if not prompts:
        raise UsageError(f"{_REJECTED} no prompt comes after {resume.at}")
    if prompts != [prompt]:
        others = ", ".join(id_ for id_ in prompts if id_ != prompt) or "none"
        raise UsageError(f"{_REJECTED} what comes after {resume.at} holds other prompts: {others}")
    if left[0].id != prompt and left[0].kind is not Kind.NOTE:
        raise UsageError(f"{_REJECTED} what comes after {resume.at} belongs to the turn before")
