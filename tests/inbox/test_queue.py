"""Who may read which queued message, when, and what becomes of it."""

from __future__ import annotations

from itertools import product

import pytest
from attrs import evolve

from fsm import UndeclaredOutcome, decide
from interlock.inbox import QUEUED_MESSAGE, Inbox, Mail, Mode, Priority, Queued, Stage, Waiting
from interlock.inbox.attachments import SLEEP, reach
from interlock.inbox.lifecycle import Known, RunReturned, Taken
from interlock.inbox.queue import readable
from interlock.testing import SequentialIds, tool
from interlock.testing import Stage as Scene
from interlock.tools import FileReads, Sleep
from phases.world.loop import Loop, Now, Reply
from phases.world.messages import Kind, Message, Text, ToolUse
from phases.world.updates import QueueChanged, Update


def queued(text: str = "words", **more: object) -> Queued:
    fields: dict[str, object] = {"id": SequentialIds().new(), "content": (Text(text),), **more}
    return Queued(**fields)  # type: ignore[arg-type]


def loop_after(*calls: ToolUse, agent_id: str | None = None, cut: tuple[str, ...] = ()) -> Loop:
    """A loop whose turn has just run these calls."""
    loop = Scene(agent_id=agent_id).loop(SequentialIds())
    said = Message(
        id=SequentialIds().new(), role="assistant", kind=Kind.REPLY, content=tuple(calls)
    )
    finished = tuple(call.id for call in calls if call.id not in cut)
    reply = Reply(message=said, stop_reason="tool_use", calls=finished, cut_calls=cut)
    return evolve(loop, now=Now(reply=reply))


# --- who may read what -------------------------------------------------------------------------


@pytest.mark.parametrize("slept", [False, True], ids=["no sleep", "slept"])
@pytest.mark.parametrize("priority", Priority)
@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("addressee", [None, "child", "other"])
@pytest.mark.parametrize("reader", [None, "child"])
@pytest.mark.parametrize("text", ["words", "/compact"])
async def test_the_whole_table_of_who_reads_what(
    slept: bool,
    priority: Priority,
    mode: Mode,
    addressee: str | None,
    reader: str | None,
    text: str,
) -> None:
    waiting = Waiting(SequentialIds())
    item = waiting.add(text, mode=mode, priority=priority, agent_id=addressee)
    inbox = Inbox(queue=waiting, reads=FileReads(), ids=SequentialIds())
    calls = (tool("Read"), tool(SLEEP)) if slept else (tool("Read"),)

    gathered = await inbox.gather(loop_after(*calls, agent_id=reader))

    urgent_enough = slept or priority is not Priority.LATER
    a_command = text == "/compact" and mode is Mode.PROMPT
    mine = addressee == reader and (reader is None or mode is not Mode.PROMPT)
    expected = urgent_enough and mine and not a_command
    assert gathered == ((item.message,) if expected else ())
    assert waiting.messages == (() if expected else (item,))


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/compact", True),
        ("  /compact now", True),
        ("/plugin:review", True),
        ("/etc/hosts is wrong", False),
        ("/ is full", False),
        ("see /compact", False),
        ("", False),
    ],
)
def test_a_slash_command_is_told_from_a_path(text: str, command: bool) -> None:
    assert queued(text).is_command is command
    assert readable(queued(text), agent_id=None, up_to=Priority.NEXT) is not command


def test_a_notification_is_no_command_whatever_it_begins_with() -> None:
    assert not queued("/compact", mode=Mode.TASK_NOTIFICATION).is_command


def test_a_sleep_that_was_cut_off_did_not_run_and_widens_nothing() -> None:
    sleep = tool(SLEEP)

    assert reach(loop_after(sleep)) is Priority.LATER
    assert reach(loop_after(tool("Read"), sleep, cut=(sleep.id,))) is Priority.NEXT


def test_the_tool_that_widens_the_reach_has_the_name_that_is_looked_for() -> None:
    assert Sleep.name == SLEEP


@pytest.mark.parametrize("name", ["now", "next", "later"])
def test_priorities_are_said_by_name(name: str) -> None:
    assert Priority.of(name).name.lower() == name


def test_an_unknown_priority_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="now, next, later"):
        Priority.of("soon")


# --- order, and what it becomes ----------------------------------------------------------------


def test_the_more_urgent_come_first_and_equals_in_the_order_of_arrival() -> None:
    waiting = Waiting(SequentialIds())
    for text, priority in (("c", "later"), ("b1", "next"), ("a", "now"), ("b2", "next")):
        waiting.add(text, priority=Priority.of(priority))

    taken = waiting.take(agent_id=None, up_to=Priority.LATER)

    assert [each.text for each in taken] == ["a", "b1", "b2", "c"]


def test_typed_words_stay_the_users_own_and_a_notification_is_a_note() -> None:
    typed = queued("look at b too")
    note = queued("task 3 finished", mode=Mode.TASK_NOTIFICATION)

    assert typed.message == Message(
        id=typed.id, role="user", kind=Kind.PROMPT, content=(Text("look at b too"),)
    )
    assert note.message.kind is Kind.NOTE


def test_what_waits_stands_in_front_of_a_typed_prompt_and_commands_go_on_waiting() -> None:
    waiting = Waiting(SequentialIds())
    waiting.add("/compact")
    waiting.add("and b", priority=Priority.LATER)
    waiting.add("for the child", mode=Mode.TASK_NOTIFICATION, agent_id="child")
    inbox = Inbox(queue=waiting, reads=FileReads(), ids=SequentialIds())

    said = inbox.said("go on")

    assert [message.text for message in said] == ["and b", "go on"]
    assert [each.text for each in waiting.messages] == ["/compact", "for the child"]


def test_news_begin_no_run_and_stand_before_whatever_prompt_comes_next() -> None:
    waiting = Waiting(SequentialIds())
    Mail(waiting).note("a server has new tools")
    inbox = Inbox(queue=waiting, reads=FileReads(), ids=SequentialIds())

    nothing = waiting.take_alone()
    queued = waiting.add("go on")
    alone = waiting.take_alone()
    assert alone is not None
    said = inbox.said(alone)

    assert (nothing, alone) == (None, queued)
    assert [message.kind for message in said] == [Kind.NOTE, Kind.PROMPT]
    assert "a server has new tools" in said[0].text
    assert waiting.messages == ()


def test_behind_a_prompt_from_the_queue_the_others_keep_their_place() -> None:
    waiting = Waiting(SequentialIds())
    first, second = waiting.add("/compact"), waiting.add("and b")
    inbox = Inbox(queue=waiting, reads=FileReads(), ids=SequentialIds())

    alone = waiting.take_alone()

    assert alone == first
    assert inbox.said(first) == (first.message,)
    assert waiting.messages == (second,)


def test_an_empty_queue_has_no_prompt_of_its_own() -> None:
    waiting = Waiting(SequentialIds())
    waiting.add("task ended", mode=Mode.TASK_NOTIFICATION, agent_id="child")

    assert waiting.take_alone() is None


# --- the lifecycle -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stage", "outcome"), [*product(Stage, (*Taken.specimens(), RunReturned()))]
)
def test_the_whole_lifecycle(stage: Stage, outcome: Taken | RunReturned) -> None:
    ways = {
        (Stage.QUEUED, Taken()): Stage.INJECTED,
        (Stage.QUEUED, Taken(alone=True)): Stage.PROMPT,
        (Stage.INJECTED, RunReturned()): Stage.COMPLETED,
    }
    expected = ways.get((stage, outcome))

    if expected is None:
        with pytest.raises(UndeclaredOutcome):
            decide(QUEUED_MESSAGE, stage, Known("a"), outcome)
    else:
        assert decide(QUEUED_MESSAGE, stage, Known("a"), outcome).edge.destination is expected


async def test_every_move_is_told_once_and_completion_waits_for_the_run() -> None:
    told: list[Update] = []
    waiting = Waiting(SequentialIds(), told.append)
    one, other = waiting.add("one"), waiting.add("/other")
    inbox = Inbox(queue=waiting, reads=FileReads(), ids=SequentialIds())

    await inbox.gather(loop_after(tool("Read")))
    waiting.take_alone()
    before = list(told)
    inbox.completed()
    inbox.completed()

    assert before == [
        QueueChanged(one.id, "queued"),
        QueueChanged(other.id, "queued"),
        QueueChanged(one.id, "injected"),
        QueueChanged(other.id, "prompt"),
    ]
    assert told[len(before) :] == [QueueChanged(one.id, "completed")]
