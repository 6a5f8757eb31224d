"""A session taken up again: its history, what it knew beside it, calls that were left open."""

from __future__ import annotations

from pathlib import Path

import pytest
from attrs import frozen

from interlock.errors import SessionNotFound, TranscriptError, UsageError
from interlock.home import project_key
from interlock.open_calls import UNKNOWN
from interlock.options import Options, PermissionMode, Resume
from interlock.permissions import Answer, Decision, Question
from interlock.scripted import Reply, ScriptedServer, reply, tool_use
from interlock.sessions import read_messages
from phases.world.messages import Kind
from phases.world.updates import Notice
from tests.agent.support import MODEL, Room, results, sent, tell

GIVEN = Path(__file__).parents[1] / "sessions" / "transcripts"
ID = "00000000-0000-4000-8000-0000000000aa"
FREE = PermissionMode.BYPASS_PERMISSIONS


def again(session: str | None = None, *, fork: bool = False, **more: object) -> Options:
    given = {"permission_mode": FREE, **more}
    return Options(resume=Resume(session=session, fork=fork), **given)  # type: ignore[arg-type]


def given(room: Room, name: str) -> Path:
    """A transcript that another program left in this folder."""
    path = room.home / "projects" / project_key(room.work) / f"{ID}.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes((GIVEN / name).read_bytes())
    return path


async def test_a_call_left_open_gets_one_made_up_result_and_is_not_run_again(room: Room) -> None:
    path = given(room, "dangling_call.jsonl")
    before = path.read_bytes()
    async with ScriptedServer([reply("done")]) as server:
        async with room.open(server, options=again(ID, model=MODEL)) as agent:
            first = await tell(agent, "go on")
        after_first = path.read_bytes()
        async with room.open(server, options=again(ID, model=MODEL)):
            pass

    said = sent(server.requests[0])
    assert server.verdict() == ()
    assert [one["type"] for one in said[-3:]] == ["tool_result", "tool_result", "text"]
    assert results(server.requests[0]) == [("toolu_A", "x.txt", False), ("toolu_B", UNKNOWN, True)]
    assert said[-1]["text"] == "go on"
    assert first.ending == ("completed", None)
    assert len(server.requests[0].body["messages"]) == 3
    assert path.read_bytes() == after_first
    assert after_first.startswith(before)
    # Whoever watches is shown what was written, with the first prompt.
    assert [one.kind for one in first.shown] == [Kind.RESULT, Kind.PROMPT, Kind.REPLY]
    assert Notice("warning", f"open call of Bash: {UNKNOWN}") in first.updates


async def test_a_history_cut_between_compactions_can_be_compacted_and_gone_on_with(
    room: Room,
) -> None:
    given(room, "cut_between_pair.jsonl")
    async with (
        ScriptedServer([reply("second summary"), reply("ok")]) as server,
        room.open(server, options=again(ID, model=MODEL)) as agent,
    ):
        problem = await agent.compact(lambda update: None)
        told = await tell(agent, "ok")

    assert (problem, told.ending) == (None, ("completed", None))
    assert server.verdict() == ()


async def test_a_session_goes_on_where_it_ended(room: Room) -> None:
    async with ScriptedServer([reply("one"), reply("two")]) as server:
        async with room.open(server) as agent:
            await tell(agent, "first")
        async with room.open(server, options=again()) as later:
            await tell(later, "second")

    assert [block["text"] for block in sent(server.requests[1])] == ["first", "one", "second"]
    assert (later.session_id, later.transcript_path) == (agent.session_id, agent.transcript_path)
    assert (later.model, server.requests[1].body["model"]) == (MODEL, MODEL)
    assert server.verdict() == ()


@frozen
class Always:
    """A person who allows everything, for the rest of the session."""

    asked: list[str]

    async def ask(self, question: Question, decision: Decision) -> Answer:
        self.asked.append(question.command or question.tool)
        return Answer(allowed=True, reason="the user allowed it", always=True)


async def test_what_the_session_knew_beside_its_messages_comes_back(room: Room) -> None:
    (room.work / "sub").mkdir()
    todo = {"content": "Paint", "status": "in_progress", "activeForm": "Painting"}
    odd = "echo * > out.txt"  # allowed as it stands, not as a pattern
    answers = [
        reply(tool_use("Bash", {"command": "cd sub; export COLOUR=green; touch here"})),
        reply(tool_use("TodoWrite", {"todos": [todo]}), tool_use("Bash", {"command": odd})),
        reply("enough"),
        reply(tool_use("Bash", {"command": 'echo "$COLOUR in $PWD"'})),
        reply(*(tool_use("Bash", {"command": line}) for line in (odd, "echo x > out.txt"))),
        reply("done"),
    ]
    before, after = Always([]), Always([])
    asks = Options(model=MODEL)
    async with ScriptedServer(answers) as server:
        async with room.open(server, options=asks, asker=before) as agent:
            first = await tell(agent, "begin")
            state = agent.paths.state
        mode = state.stat().st_mode & 0o777
        resumed = Options(resume=Resume())
        async with room.open(server, options=resumed, asker=after) as later:
            second = await tell(later, "go on")
            todos = later._worker.todos.todos

    assert [text for _, text, _ in results(server.requests[4])] == [f"green in {room.work}/sub"]
    assert odd in before.asked
    assert after.asked == ['echo "$COLOUR in $PWD"', "echo x > out.txt"]
    assert [one.content for one in todos] == ["Paint"]
    assert (second.summary.cost or 0) > (first.summary.cost or 0) > 0
    assert second.summary.models[MODEL].usage.output_tokens > second.summary.usage.output_tokens
    assert mode == 0o600
    assert server.verdict() == ()


async def test_a_file_that_was_read_can_be_changed_after_a_resume_if_it_is_as_it_was(
    room: Room,
) -> None:
    path = room.work / "a.txt"

    def edit(to: str) -> Reply:
        arguments = {"file_path": str(path), "old_string": "alpha", "new_string": to}
        return reply(tool_use("Edit", arguments))

    answers = [reply(tool_use("Read", {"file_path": str(path)})), reply("seen")]
    answers += [edit("omega"), reply("changed"), edit("psi"), reply("not changed")]
    async with ScriptedServer(answers) as server:
        async with room.open(server) as agent:
            await tell(agent, "look")
        async with room.open(server, options=again()) as agent:
            await tell(agent, "change it")
        held = path.read_text()
        path.write_text("alpha by another\n")
        async with room.open(server, options=again()) as agent:
            await tell(agent, "and again")

    assert (held, path.read_text()) == ("omega\n", "alpha by another\n")


async def test_the_mode_comes_back_but_never_that_permissions_are_bypassed(room: Room) -> None:
    async with ScriptedServer([reply("one"), reply("two")]) as server:
        async with room.open(server, options=Options(model=MODEL)) as agent:
            agent.set_permission_mode(PermissionMode.PLAN)
            await tell(agent, "first")
        async with room.open(server, options=Options(resume=Resume())) as agent:
            modes = [agent.permission_mode]
            agent.set_permission_mode(FREE)
            await tell(agent, "second")
        async with room.open(server, options=Options(resume=Resume())) as agent:
            modes.append(agent.permission_mode)

    assert modes == [PermissionMode.PLAN, PermissionMode.DEFAULT]


async def test_options_that_name_a_model_go_before_the_session_unless_settings_say_so(
    room: Room,
) -> None:
    async with ScriptedServer([reply("one")]) as server:
        async with room.open(server) as agent:
            await tell(agent, "first")
        settled = Options(model="claude-haiku-4-5", resume=Resume(over_model=True))
        async with room.open(server, options=settled) as agent:
            models = [agent.model]
        named = Options(model="claude-haiku-4-5", resume=Resume())
        async with room.open(server, options=named) as agent:
            models.append(agent.model)

    assert models == [MODEL, "claude-haiku-4-5"]


async def test_a_second_writer_is_refused_and_may_branch(room: Room) -> None:
    async with (
        ScriptedServer([reply("one"), reply("branch"), reply("two")]) as server,
        room.open(server) as agent,
    ):
        await tell(agent, "first")
        with pytest.raises(TranscriptError, match="another process is writing this session"):
            async with room.open(server, options=again(agent.session_id)):
                pass
        async with room.open(server, options=again(agent.session_id, fork=True)) as branch:
            told = await tell(branch, "elsewhere")
        await tell(agent, "second")

    assert branch.session_id != agent.session_id
    assert [one.text for one in read_messages(branch.transcript_path)] == [
        *("first", "one", "elsewhere", "branch")
    ]
    assert [one.text for one in read_messages(agent.transcript_path)] == [
        *("first", "one", "second", "two")
    ]
    assert told.summary.models[MODEL].usage == told.summary.usage  # what it cost itself, no more


async def test_a_branch_may_read_what_the_first_session_put_aside(room: Room) -> None:
    long = "seq 1 40000"
    async with (
        ScriptedServer([reply(tool_use("Bash", {"command": long})), reply("ok")]) as server,
        room.open(server) as agent,
    ):
        await tell(agent, "count")
    aside = next(agent.paths.tool_results.iterdir())
    answers = [reply(tool_use("Read", {"file_path": str(aside), "limit": 1})), reply("ok")]
    async with ScriptedServer(answers) as server:
        options = Options(resume=Resume(fork=True), permission_mode=PermissionMode.DONT_ASK)
        async with room.open(server, options=options) as branch:
            told = await tell(branch, "look")

    assert told.summary.denials == ()


async def test_what_is_wrong_with_the_file_is_told_once(room: Room) -> None:
    given(room, "torn_tail.jsonl")
    async with (
        ScriptedServer([reply("one"), reply("two")]) as server,
        room.open(server, options=again(model=MODEL)) as agent,
    ):
        first = await tell(agent, "go on")
        second = await tell(agent, "and on")

    def warnings(updates: tuple[object, ...]) -> list[str]:
        return [one.text for one in updates if isinstance(one, Notice) and one.level == "warning"]

    assert any(f"{ID}.jsonl:4: no JSON, cut off" in line for line in warnings(first.updates))
    assert not any("no JSON" in line for line in warnings(second.updates))


async def test_the_newest_of_several_branches_goes_on_and_the_others_are_told(room: Room) -> None:
    given(room, "forked.jsonl")
    async with (
        ScriptedServer([reply("B3")]) as server,
        room.open(server, options=again(model=MODEL)) as agent,
    ):
        told = await tell(agent, "go on")

    assert [block["text"] for block in sent(server.requests[0])] == [
        *("start", "ok", "branch B first", "B1", "branch B second, the newest", "B2", "go on")
    ]
    assert any("another branch" in str(one) for one in told.updates)


async def test_an_unusable_state_is_told_and_the_conversation_goes_on(room: Room) -> None:
    async with ScriptedServer([reply("one"), reply("two")]) as server:
        async with room.open(server) as agent:
            await tell(agent, "first")
        agent.paths.state.write_text('{"tracking": 7')
        async with room.open(server, options=again(model=MODEL)) as agent:
            told = await tell(agent, "second")

    assert told.ending == ("completed", None)
    assert any("state.json cannot be used" in str(one) for one in told.updates)


async def test_no_session_and_no_such_session_are_one_clear_line(room: Room) -> None:
    async with ScriptedServer([]) as server:
        with pytest.raises(SessionNotFound, match="no session to continue"):
            async with room.open(server, options=again()):
                pass
        with pytest.raises(SessionNotFound, match="no session here is 'paint'"):
            async with room.open(server, options=again("paint")):
                pass
        with pytest.raises(UsageError, match="--fork-session"):
            async with room.open(server, options=again("paint", session_id=ID)):
                pass


async def test_a_session_in_which_nothing_was_said_leaves_nothing(room: Room) -> None:
    async with ScriptedServer([]) as server, room.open(server) as agent:
        pass

    assert not agent.paths.folder.exists()
    assert not list(room.home.glob("projects/*/*.jsonl"))
