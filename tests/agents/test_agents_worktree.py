"""A child in a worktree of its own: what it does there, what is told of it, what stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from interlock.agents.files import found
from interlock.options import Options, PermissionMode, Resume
from interlock.sandbox import Mode, bubblewrap
from interlock.scripted import ScriptedServer, reply, tool_use
from interlock.worktrees import Worktree, all_of
from phases.world.updates import FromAgent, Notice, ToolProgress, Update
from tests.agent.support import MODEL, Room, living, results, sent, tell
from tests.agents.families import by_prompt, hand, of
from tests.worktrees.repositories import ALONE, branches, repository, sh, trees

HERE = "worktree"
EDITS = PermissionMode.ACCEPT_EDITS


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Room:
    """A room whose folder is a repository of one commit."""
    for name, value in ALONE.items():
        monkeypatch.setenv(name, value)
    room = Room.made(tmp_path)
    repository(room.work)
    return room


def apart(prompt: str, **more: Any) -> Any:
    return hand(prompt, isolation=HERE, **more)


def bash(command: str) -> Any:
    return reply(tool_use("Bash", {"command": command}))


def left(room: Room) -> list[Worktree]:
    return list(all_of(room.home))


async def test_two_children_edit_the_same_file_and_both_edits_are_on_branches(
    room: Room,
) -> None:
    def edits(word: str) -> list[Any]:
        commit = f"echo {word} >> a.txt; git commit -qam {word}; pwd"
        return [bash(commit), reply(f"{word} is done")]

    scripts = {
        "go": [reply(apart("one"), apart("two")), reply("I see.")],
        "one": edits("one"),
        "two": edits("two"),
    }
    async with ScriptedServer(by_prompt(scripts)) as server, room.open(server) as agent:
        await tell(agent, "go")

    made = {tree.description: tree for tree in left(room)}
    assert sorted(made) == ["do one", "do two"]
    assert sh("git status --porcelain", room.work) == ""
    assert sh("cat a.txt", room.work) == "alpha"
    for word, tree in (("one", made["do one"]), ("two", made["do two"])):
        assert sh(f"git show {tree.branch}:a.txt", room.work) == f"alpha\n{word}"
        assert tree.base == sh("git rev-parse main", room.work)
    for (_, said, bad), tree in zip(
        results(of(server.requests, "go")[1]), [made["do one"], made["do two"]], strict=True
    ):
        assert not bad
        assert tree.branch in said
        assert str(tree.path) in said
        assert sh(f"git rev-parse --short=12 {tree.branch}", room.work) in said
        assert "a.txt | 1 +" in said
    assert living(room.work) == []


async def test_a_worktree_in_which_nothing_was_changed_is_gone(room: Room) -> None:
    scripts = {
        "go": [reply(apart("look")), reply("I see.")],
        "look": [bash("cat a.txt; pwd"), reply("seen")],
    }
    async with ScriptedServer(by_prompt(scripts)) as server, room.open(server) as agent:
        await tell(agent, "go")

    ((_, seen, _),) = results(of(server.requests, "look")[1])
    ((_, said, _),) = results(of(server.requests, "go")[1])
    assert str(room.home / "worktrees") in seen
    assert "Nothing was changed in its worktree" in said
    assert trees(room.work) == []
    assert branches(room.work) == ["main"]
    assert not (room.home / "worktrees").exists() or not [*room.home.glob("worktrees/*/*")]


async def test_what_is_left_uncommitted_stays(room: Room) -> None:
    scripts = {
        "go": [reply(apart("try")), reply("I see.")],
        "try": [bash("echo new > new.txt"), reply("tried")],
    }
    async with ScriptedServer(by_prompt(scripts)) as server, room.open(server) as agent:
        await tell(agent, "go")

    ((_, said, _),) = results(of(server.requests, "go")[1])
    (tree,) = left(room)
    assert (tree.path / "new.txt").read_text() == "new\n"
    assert "untracked: new.txt" in said
    assert tree.told


async def test_the_rights_of_the_parent_count_from_the_worktree(room: Room) -> None:
    """What the parent may edit in its folder, the child may edit in its own, and there alone."""
    (room.work / "secret").mkdir()
    (room.work / "secret" / "key").write_text("k")
    sh("git add .; git commit -qm two", room.work)
    calls = reply(
        tool_use("Write", {"file_path": "new.txt", "content": "x"}),
        tool_use("Write", {"file_path": str(room.work / "main.txt"), "content": "x"}),
        tool_use("Read", {"file_path": "secret/key"}),
        tool_use("Read", {"file_path": str(room.work / "a.txt")}),
    )
    options = Options(model=MODEL, permission_mode=EDITS, disallowed_tools=("Read(secret/**)",))

    scripts = by_prompt(
        {"go": [reply(apart("work")), reply("done")], "work": [calls, reply("worked")]}
    )
    async with ScriptedServer(scripts) as server, room.open(server, options=options) as agent:
        await tell(agent, "go")

    written, main, key, outside = results(of(server.requests, "work")[1])
    assert not written[2], written
    assert main[2]
    assert "is the user's own tree" in main[1]
    assert not (room.work / "main.txt").exists()
    assert key[2]
    assert key[1] != "k"
    assert outside[2]


async def test_the_child_reads_the_notes_of_its_own_tree(room: Room) -> None:
    (room.work / "CLAUDE.md").write_text("what was committed")
    sh("git add .; git commit -qm notes", room.work)
    (room.work / "CLAUDE.md").write_text("what was not")
    scripts = {
        "go": [reply(apart("look")), reply("I see.")],
        "look": [reply(hand("below")), reply("seen")],
        "below": [bash("pwd"), reply("seen too")],
    }
    async with ScriptedServer(by_prompt(scripts)) as server, room.open(server) as agent:
        await tell(agent, "go")

    for name in ("look", "below"):
        sent = str(of(server.requests, name)[0].body)
        assert "what was committed" in sent
        assert "what was not" not in sent
    ((_, where, _),) = results(of(server.requests, "below")[1])
    assert str(room.home / "worktrees") in where
    ((_, said, _),) = results(of(server.requests, "go")[1])
    assert "1 change of yours was in no commit" in said


def put_skill(folder: Path, name: str) -> None:
    path = folder / ".claude" / "skills" / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(f"---\ndescription: What {name} is for.\n---\nHow {name} is done.")


async def test_the_child_is_told_the_skills_as_the_main_agent_is(room: Room) -> None:
    put_skill(room.work, "committed")
    sh("git add .; git commit -qm skills", room.work)
    put_skill(room.work, "not-yet")
    scripts = {
        "go": [reply(apart("look")), reply("I see.")],
        "look": [reply(tool_use("Skill", {"skill": "committed"})), reply("seen")],
    }
    async with ScriptedServer(by_prompt(scripts)) as server, room.open(server) as agent:
        await tell(agent, "go")

    first, second = of(server.requests, "look")
    assert "- committed: What committed is for." in str(first.body)
    assert "- not-yet: What not-yet is for." in str(first.body)
    ((_, fetched, bad),) = results(second)
    assert not bad
    assert f"lie in {room.home / 'worktrees'}" in fetched
    assert "How committed is done." in fetched


@pytest.mark.parametrize("pattern", ["**/CLAUDE.md", "{work}/CLAUDE.md"])
async def test_notes_that_are_excluded_are_excluded_there_too(room: Room, pattern: str) -> None:
    (room.work / "CLAUDE.md").write_text("not for agents")
    sh("git add .; git commit -qm notes", room.work)
    scripts = {"go": [reply(apart("look")), reply("I see.")], "look": [reply("seen")]}
    options = Options(notes_excluded=(pattern.format(work=room.work.resolve()),))
    async with (
        ScriptedServer(by_prompt(scripts)) as server,
        room.open(server, options=options) as agent,
    ):
        await tell(agent, "go")

    assert "not for agents" not in str([request.body for request in server.requests])


async def test_without_a_repository_the_call_says_so(tmp_path: Path) -> None:
    room = Room.made(tmp_path)
    scripts = {"go": [reply(apart("work")), reply("I see.")]}
    async with ScriptedServer(by_prompt(scripts)) as server, room.open(server) as agent:
        told = await tell(agent, "go")

    ((_, said, bad),) = results(of(server.requests, "go")[1])
    assert bad
    assert "is in no git repository" in said
    assert "Without isolation it can be" in said
    assert told.ending == ("completed", None)
    assert len(server.requests) == 2


async def test_a_repository_without_a_commit_is_told_as_that(tmp_path: Path) -> None:
    room = Room.made(tmp_path)
    sh("git init -q", room.work)
    scripts = {"go": [reply(apart("work")), reply("I see.")]}
    async with ScriptedServer(by_prompt(scripts)) as server, room.open(server) as agent:
        await tell(agent, "go")

    ((_, said, bad),) = results(of(server.requests, "go")[1])
    assert bad
    assert "has no commit yet" in said


async def test_an_interrupt_keeps_what_was_done_by_then(room: Room) -> None:
    scripts = {
        "go": [reply(apart("work")), reply("I see.")],
        "work": [bash("echo half > half.txt; echo begun; sleep 600"), reply("done")],
    }
    async with ScriptedServer(by_prompt(scripts)) as server, room.open(server) as agent:

        def stop(update: Update, number: int) -> None:
            if isinstance(update, FromAgent) and isinstance(update.update, ToolProgress):
                agent.interrupt()

        told = await tell(agent, "go", on=stop)

    (tree,) = left(room)
    warnings = [one.text for one in told.updates if isinstance(one, Notice)]
    assert told.ending[0].startswith("aborted_")
    assert (tree.path / "half.txt").read_text() == "half\n"
    assert f"what it did is kept: {tree.path}, on the branch {tree.branch}" in warnings[-1]
    assert living(room.home) == []


async def test_the_next_to_take_the_session_up_is_told_what_an_interrupt_left(room: Room) -> None:
    scripts = {
        "go": [reply(apart("work")), reply("I see.")],
        "work": [bash("echo half > half.txt; echo begun; sleep 600"), reply("done")],
        "go on": [reply("Taken over.")],
    }
    async with ScriptedServer(by_prompt(scripts)) as server:
        async with room.open(server) as agent:

            def stop(update: Update, number: int) -> None:
                if isinstance(update, FromAgent) and isinstance(update.update, ToolProgress):
                    agent.interrupt()

            await tell(agent, "go", on=stop)
        bypass = PermissionMode.BYPASS_PERMISSIONS
        again = Options(model=MODEL, permission_mode=bypass, resume=Resume())
        async with room.open(server, options=again) as agent:
            await tell(agent, "go on")

    (tree,) = left(room)
    said = str(sent(server.requests[-1]))
    assert said.count(f"Its worktree is {tree.path}") == 1
    assert "untracked: half.txt" in said
    assert "git merge" not in said
    assert tree.told
    assert living(room.home) == []


async def test_an_agent_type_can_ask_for_a_worktree(room: Room) -> None:
    (room.work / ".claude" / "agents").mkdir(parents=True)
    (room.work / ".claude" / "agents" / "careful.md").write_text(
        "---\nname: careful\ndescription: works apart\nisolation: worktree\n---\nBe careful.\n"
    )
    types = tuple(found(room.work, room.home).types.values())
    options = Options(model=MODEL, permission_mode=PermissionMode.BYPASS_PERMISSIONS, agents=types)
    scripts = {
        "go": [reply(hand("work", kind="careful")), reply("I see.")],
        "work": [bash("echo new > new.txt"), reply("done")],
    }
    async with (
        ScriptedServer(by_prompt(scripts)) as server,
        room.open(server, options=options) as agent,
    ):
        await tell(agent, "go")

    assert len(left(room)) == 1
    assert not (room.work / "new.txt").exists()


async def test_a_child_of_one_in_a_worktree_may_have_one_of_its_own(room: Room) -> None:
    """It begins from where its parent stands, and its branch outlives its parent's tree."""
    scripts = {
        "go": [reply(apart("outer")), reply("I see.")],
        "outer": [
            bash("echo outer >> a.txt; git commit -qam outer"),
            reply(apart("inner")),
            bash("git reset -q --hard HEAD~"),
            reply("done"),
        ],
        "inner": [bash("cat a.txt; echo inner >> a.txt; git commit -qam inner"), reply("in")],
    }
    async with ScriptedServer(by_prompt(scripts)) as server, room.open(server) as agent:
        await tell(agent, "go")

    trees = {tree.description: tree for tree in left(room)}
    ((_, seen, _),) = results(of(server.requests, "inner")[1])
    assert seen == "alpha\nouter"
    assert sh(f"git show {trees['do inner'].branch}:a.txt", room.work) == "alpha\nouter\ninner"
    assert sh("cat a.txt", room.work) == "alpha"


@pytest.mark.skipif(bubblewrap.missing() is not None, reason="no bubblewrap")
async def test_in_a_sandbox_it_can_commit_and_not_reach_the_main_tree(room: Room) -> None:
    tries = (
        "echo x >> a.txt; git commit -qam boxed && echo committed;"
        f" echo x > {room.work}/main.txt; echo x > {room.work}/.git/hooks/post-commit;"
        " echo 'gitdir: /tmp' > .git; git branch -f main; git config core.hooksPath /tmp; true"
    )
    scripts = {
        "go": [reply(apart("work")), reply("I see.")],
        "work": [bash(tries), reply("done")],
    }
    options = Options(
        model=MODEL,
        permission_mode=PermissionMode.BYPASS_PERMISSIONS,
        sandbox_mode=Mode.REQUIRED,
    )
    async with (
        ScriptedServer(by_prompt(scripts)) as server,
        room.open(server, options=options) as agent,
    ):
        await tell(agent, "go")

    ((_, said, _),) = results(of(server.requests, "work")[1])
    (tree,) = left(room)
    assert "committed" in said
    assert sh(f"git log --format=%s -1 {tree.branch}", room.work) == "boxed"
    assert sh("git status --porcelain; git log --format=%s", room.work) == "one"
    assert not (room.work / ".git" / "hooks" / "post-commit").exists()
    assert "hooksPath" not in (room.work / ".git" / "config").read_text()
    ((_, told, _),) = results(of(server.requests, "go")[1])
    assert "boxed" in told
