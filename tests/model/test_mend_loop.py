"""Mending within the loop: before the first request, once, told to the user and written down."""

from __future__ import annotations

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings

from interlock.model import Mender
from interlock.model.pairing import LOST
from interlock.model.request import Gate
from interlock.sessions import Transcript, read_messages
from interlock.testing import Played, Stage, call, fails, play, says, tool
from phases.world.failures import FailureKind
from phases.world.messages import Kind, Message, Text, ToolResult
from phases.world.states import State
from phases.world.updates import Notice
from tests.model.broken import broken, mend
from tests.model.histories import asking, assistant, result, user
from tests.model.histories import call as asks

SESSION = "00000000-0000-4000-8000-00000000abcd"
LOST_BLOCK = ToolResult("toolu_B", (Text(LOST),), is_error=True)


def resumed(*earlier: Message, then: Any = (), **ports: Any) -> Played:
    """A run that begins with a history from elsewhere."""

    def alter(parts: dict[str, Any]) -> None:
        parts.update(mender=Mender(), **ports)

    stage = Stage(earlier=earlier, alter=alter)
    return play(*(then or (says("hello"),)), stage=stage)


def warnings(run: Played) -> list[str]:
    return [u.text for u in run.updates if isinstance(u, Notice) and u.level == "warning"]


def open_call() -> tuple[Message, ...]:
    return (
        user("list the two folders"),
        assistant("Looking.", asks("toolu_A"), asks("toolu_B")),
        result("toolu_A", words="x.txt"),
    )


def test_a_broken_history_is_mended_before_the_first_request_and_told_once() -> None:
    run = resumed(*open_call(), then=(call(tool("Read")), says("hello")))

    assert (run.ending, run.error) == (State.COMPLETED, None)
    words = "a call without a result was answered with an error"
    assert warnings(run) == [f"The history was mended before it was sent: {words}."]
    first, second = run.requests
    assert LOST_BLOCK in first.messages[2].content
    # Mended, it is the history: the same objects, so nothing of it is asked about again.
    assert all(one is two for one, two in zip(first.messages, second.messages, strict=False))
    for request in run.requests:
        Gate().build(request)


def test_a_mended_history_stays_when_the_run_ends_badly() -> None:
    run = resumed(*open_call(), then=(fails(FailureKind.AUTHENTICATION),))

    assert run.error == "api_error"
    assert mend(*run.finished.messages).mends == ()


def test_an_interrupt_does_not_undo_a_mend() -> None:
    stage = Stage(earlier=open_call(), alter=lambda parts: parts.update(mender=Mender()))
    stage.interrupt.request()

    run = play(says("never"), stage=stage)

    assert run.ending is State.ABORTED_STREAMING
    assert mend(*run.finished.messages).mends == ()


def test_an_intact_history_is_told_nothing_about() -> None:
    run = resumed(user("go"), assistant("done"))

    assert warnings(run) == []


# --- written down ----------------------------------------------------------------------------


def in_session(path: Path, *earlier: Message) -> tuple[Played, tuple[Message, ...]]:
    """A session that wrote `earlier`, one that resumes it, and what a third would read."""
    before = Transcript(path, session_id=SESSION, cwd=path.parent)
    asyncio.run(before.record(earlier))
    before.close()
    transcript = Transcript(path, session_id=SESSION, cwd=path.parent)
    run = resumed(*read_messages(path), history=transcript)
    transcript.close()
    return run, read_messages(path)


CASES = {
    "answered where results stand": open_call(),
    "answered by itself": (user("go"), assistant(asks("a"), asks("b"))),
    "two replies in a row": (user("go"), assistant(asks("a")), assistant(asks("b"))),
    "one id thrice": (user("go"), assistant(asks("b"), asks("b"), asks("a"))),
    "a note before the first reply": (assistant(asks("a")), result("a"), assistant("so")),
    "both": (assistant(asks("a")),),
    "an orphan": (
        user("summary", kind=Kind.SUMMARY),
        user(ToolResult("toolu_1", ()), "typed", kind=Kind.RESULT),
        assistant("ok"),
    ),
    "one id twice": (
        user("go"),
        assistant(asks("a")),
        result("a", words="one"),
        assistant(asks("a")),
        result("a", words="two"),
    ),
    "a result in a reply": (
        user("go"),
        assistant(asks("a")),
        assistant(ToolResult("a", (Text("done"),)), asks("a")),
    ),
    "interrupted": (
        user("go"),
        assistant(asks("a")),
        user("[Request interrupted by user]", kind=Kind.INTERRUPTION),
    ),
}


@pytest.mark.parametrize("earlier", CASES.values(), ids=CASES)
def test_what_was_mended_is_written_so_that_no_resume_mends_it_again(
    earlier: tuple[Message, ...], tmp_path: Path
) -> None:
    run, again = in_session(tmp_path / "s.jsonl", *earlier)

    assert len(warnings(run)) == 1
    assert [m.content for m in again] == [m.content for m in run.finished.messages]
    assert [m.id for m in again] == [m.id for m in run.finished.messages]
    assert mend(*again).mends == ()


@given(earlier=broken())
@settings(deadline=None)
def test_any_broken_session_can_be_resumed_and_resumed_again(
    earlier: tuple[Message, ...],
) -> None:
    with TemporaryDirectory() as folder:
        run, again = in_session(Path(folder) / "s.jsonl", *earlier)

    assert (run.ending, run.error) == (State.COMPLETED, None)
    Gate(thinking_budget=2000).build(asking(*run.requests[0].messages))
    assert mend(*again).mends == ()
