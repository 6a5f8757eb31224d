"""The session functions of the real claude-agent-sdk, on files that we wrote, and what they write
read by us again."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from attrs import evolve, frozen
from claude_agent_sdk import (
    SDKSessionInfo,
    SessionMessage,
    delete_session,
    fork_session,
    get_session_info,
    get_session_messages,
    list_sessions,
    rename_session,
    tag_session,
)

from interlock.home import SessionPaths
from interlock.sessions import Transcript, family_of, fork, read, session_named, sessions_in
from interlock.sessions.ends import ENDS
from phases.world.messages import Message, Text
from tests.sessions.conversations import call, prompt, reply, result, summary, uuid

ID = "00000000-0000-4000-8000-0000000000aa"
NOW = 1_700_000_000.5
LOOK = reply(2, Text("I look"), call("a"), call("b"))
# The results as they were written: `b` was done first. A history has them in the order of calls.
ROUND = (prompt(1, "fix the login\npage"), LOOK, result(3, LOOK, "b"), result(4, LOOK, "a"))
IN_ORDER = (*ROUND[:2], *ROUND[:1:-1])
TALK = (*ROUND, reply(5, Text("seen")), prompt(6, "and the door?"), reply(7, Text("ajar")))


@frozen
class Project:
    """A working folder, and the home in which its sessions lie."""

    home: Path
    cwd: Path

    def path(self, session: str = ID) -> Path:
        return SessionPaths.of(self.home, self.cwd, session).transcript

    def transcript(self, session: str = ID) -> Transcript:
        return Transcript(self.path(session), session_id=session, cwd=self.cwd, now=lambda: NOW)

    async def put(self, *views: tuple[Message, ...], session: str = ID) -> Path:
        transcript = self.transcript(session)
        for view in views:
            await transcript.record(view)
        transcript.close()
        return transcript.path

    async def went_on(self, at: str | None, *said: Message, session: str = ID) -> None:
        transcript = self.transcript(session)
        await transcript.record((*transcript.take_up(at).messages, *said))
        transcript.close()

    def info(self, session: str = ID) -> SDKSessionInfo:
        found = get_session_info(session, str(self.cwd))
        assert found is not None
        return found

    def messages(self, session: str = ID) -> list[SessionMessage]:
        return get_session_messages(session, str(self.cwd))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """The home is told to both programs in the way in which users tell it."""
    home, cwd = tmp_path / "home", tmp_path / "my work.d"
    cwd.mkdir()
    (cwd / ".git").mkdir()
    (cwd / ".git" / "HEAD").write_text("ref: refs/heads/feature/x\n")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home))
    return Project(home, cwd)


def same(history: Sequence[Message]) -> list[Message]:
    """A history but for the ids that a copy has of its own."""
    return [evolve(one, id="", source=None, replaces=None) for one in history]


def told(messages: list[SessionMessage]) -> list[str]:
    """The words of each message, or the kinds of its blocks where it has none."""
    found = []
    for one in messages:
        body = one.message
        assert isinstance(body, dict)
        content = body["content"]
        if isinstance(content, str):
            found.append(content)
        else:
            found += [block.get("text", block["type"]) for block in content]
    return found


# --- what it reads of ours -------------------------------------------------------------------


async def test_a_session_is_listed_with_all_that_a_list_shows(project: Project) -> None:
    path = await project.put(TALK)

    (one,) = list_sessions(str(project.cwd))

    assert one == project.info() == list_sessions()[0]
    assert (one.session_id, one.first_prompt) == (ID, "fix the login page")
    assert (one.summary, one.custom_title, one.tag) == ("and the door?", None, None)
    assert (one.cwd, one.git_branch) == (str(project.cwd), "feature/x")
    assert (one.created_at, one.file_size) == (round(NOW * 1000), path.stat().st_size)


async def test_the_newest_session_stands_first(project: Project) -> None:
    ids = [str(UUID(int=n)) for n in (1, 2, 3)]
    for second, id_ in enumerate(ids):
        os.utime(await project.put((prompt(1),), session=id_), (second, second))

    ours = [one.session_id for one in sessions_in(project.home, project.cwd)]

    assert [one.session_id for one in list_sessions(str(project.cwd))] == ours == ids[::-1]


async def test_a_killed_session_is_listed_by_its_first_prompt(project: Project) -> None:
    transcript = project.transcript()
    await transcript.record(TALK)

    assert project.info().summary == "fix the login page"
    transcript.close()


async def test_messages_come_whole_and_in_order_parallel_calls_too(project: Project) -> None:
    await project.put(TALK)

    messages = project.messages()

    assert told(messages) == [
        *("fix the login\npage", "I look", "tool_use", "tool_use", "tool_result", "tool_result"),
        *("seen", "and the door?", "ajar"),
    ]
    assert {one.session_id for one in messages} == {ID}
    # The ids are those that programs are told while it runs, and that `--resume-session-at` takes.
    assert [one.uuid for one in messages if one.uuid in {each.id for each in TALK}] == [
        *(uuid(1), uuid(2), uuid(3), uuid(4), uuid(5), uuid(6), uuid(7))
    ]


async def test_after_a_compaction_it_is_the_summary_and_what_came_after(project: Project) -> None:
    await project.put(TALK, (summary(20, "so far"), prompt(21, "and now?")))

    assert told(project.messages()) == ["so far", "and now?"]
    assert project.info().first_prompt == "fix the login page"


async def test_of_several_branches_it_is_the_one_that_goes_on(project: Project) -> None:
    await project.put(TALK)
    await project.went_on(uuid(5), prompt(8, "and the window?"), reply(9, Text("open")))

    assert told(project.messages())[-3:] == ["seen", "and the window?", "open"]
    assert project.info().summary == "and the window?"


async def test_a_branch_in_a_file_of_its_own_is_a_session_like_others(project: Project) -> None:
    await project.put(TALK)
    other = str(uuid4())
    fork(project.path(), project.path(other), other, uuid(5))

    assert told(project.messages(other)) == told(project.messages())[:-2]
    assert project.info(other).cwd == str(project.cwd)


# --- what it writes, read by us --------------------------------------------------------------


async def test_a_name_and_a_tag_that_it_gave_are_ours(project: Project) -> None:
    await project.put(TALK)

    rename_session(ID, "  The house ", str(project.cwd))
    tag_session(ID, "later", str(project.cwd))

    found = session_named(project.home, project.cwd, "the house")
    assert (found.session_id, found.name, found.tag) == (ID, "The house", "later")
    tag_session(ID, None, str(project.cwd))
    assert session_named(project.home, project.cwd, ID).tag is None
    assert read(project.path()).messages == (*IN_ORDER, *TALK[4:])


async def test_a_name_that_it_gave_a_running_session_outlives_what_is_said_next(
    project: Project,
) -> None:
    transcript = project.transcript()
    await transcript.record(TALK)
    rename_session(ID, "The house", str(project.cwd))
    tag_session(ID, "later", str(project.cwd))
    await transcript.record((*TALK, prompt(8, "z" * 3 * ENDS)))
    await transcript.record((*TALK, prompt(8, "z" * 3 * ENDS), prompt(9, "z" * 3 * ENDS)))
    transcript.close()

    assert (project.info().custom_title, project.info().tag) == ("The house", "later")


async def test_a_branch_that_it_made_has_our_history(project: Project) -> None:
    await project.put(TALK)

    made = fork_session(ID, str(project.cwd), title="Branch")

    reading = read(project.path(made.session_id))
    assert same(reading.messages) == same((*IN_ORDER, *TALK[4:]))
    assert reading.messages[2].source == reading.messages[1].id  # a result knows its reply
    found = session_named(project.home, project.cwd, "branch")
    assert (found.session_id, found.forked_from) == (made.session_id, ID)


async def test_a_branch_that_it_made_goes_on_and_is_read_by_both(project: Project) -> None:
    await project.put(TALK)
    made = fork_session(ID, str(project.cwd)).session_id

    await project.went_on(None, prompt(8, "and the window?"), session=made)

    assert told(project.messages(made)) == [*told(project.messages()), "and the window?"]
    assert read(project.path(made)).messages[-1] == prompt(8, "and the window?")
    found = family_of(project.path(made))
    assert (found.copied, found.copied_up_to) == (2, uuid(7))
    assert [part.prompts for part in found.parts] == [("and the window?",)]


async def test_a_branch_up_to_a_message_ends_with_it(project: Project) -> None:
    await project.put(TALK)

    made = fork_session(ID, str(project.cwd), up_to_message_id=uuid(5))

    assert same(read(project.path(made.session_id)).messages) == same((*IN_ORDER, TALK[4]))


async def test_a_branch_of_a_compacted_session_keeps_what_the_compaction_kept(
    project: Project,
) -> None:
    """It gives all entries ids of their own, but for those in the list of what was kept."""
    kept = (summary(20), *TALK[-2:], prompt(21, "and now?"))
    await project.put(TALK, kept)

    made = fork_session(ID, str(project.cwd))

    assert same(read(project.path(made.session_id)).messages) == same(kept)


async def test_a_message_that_was_mended_stays_mended_in_its_branch(project: Project) -> None:
    mended = evolve(prompt(8, "fix it"), replaces=uuid(6))
    transcript = project.transcript()
    await transcript.record(TALK)
    await transcript.record_mended((mended,))
    transcript.close()

    made = fork_session(ID, str(project.cwd))

    assert read(project.path()).messages == (*IN_ORDER, TALK[4], mended, TALK[6])
    assert [one.text for one in read(project.path(made.session_id)).messages][-2:] == [
        *("fix it", "ajar")
    ]


async def test_what_it_deleted_is_gone_with_all_beside_it(project: Project) -> None:
    path = await project.put(TALK)
    (path.with_suffix("") / "runs").mkdir(parents=True)

    delete_session(ID, str(project.cwd))

    assert list(sessions_in(project.home, project.cwd)) == []
    assert list(path.parent.iterdir()) == []


async def test_time_stamps_are_those_of_the_moment(project: Project) -> None:
    await project.put(TALK)

    (one,) = sessions_in(project.home, project.cwd)

    assert one.began is not None
    assert datetime.fromisoformat(one.began) == datetime.fromtimestamp(NOW, UTC)


# A copy of theirs that they copy again forgets what the first one was a copy of.
@pytest.mark.parametrize(
    ("first", "second"), [("ours", "ours"), ("ours", "theirs"), ("theirs", "ours")]
)
async def test_a_branch_of_a_branch_keeps_what_a_compaction_kept(
    project: Project, first: str, second: str
) -> None:
    kept = (summary(20), *TALK[-2:], prompt(21, "and now?"))
    await project.put(TALK, kept)

    branch = branched(project, ID, first)
    twig = branched(project, branch, second)

    assert same(read(project.path(branch)).messages) == same(kept)
    assert same(read(project.path(twig)).messages) == same(kept)


def branched(project: Project, session: str, how: str) -> str:
    if how == "theirs":
        return fork_session(session, str(project.cwd)).session_id
    made = str(uuid4())
    fork(project.path(session), project.path(made), made)
    return made
