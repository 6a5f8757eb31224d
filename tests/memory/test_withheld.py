"""What a rule keeps from being read is not told unasked either, on whatever way it would come."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from interlock.agents.definition import AgentDefinition
from interlock.home import project_key
from interlock.memory import AutoMemory, Places, at_start, told
from interlock.options import GivenRule, Options
from interlock.permissions import Rules
from interlock.permissions.decide import Judge
from interlock.scripted import ScriptedServer, reply, tool_use
from tests.agent.support import MODEL, Room, results, tell

SECRET = "SECRET=1"
RULE = "the rule {rule} ({origin}) forbids it"


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room.made(tmp_path)


def forbidding(*rules: str) -> Options:
    return Options(model=MODEL, disallowed_tools=rules)


def put(room: Room, name: str, text: str) -> Path:
    path = room.work / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


async def first_request(room: Room, options: Options, prompt: str = "hi") -> str:
    async with ScriptedServer([reply("Hello.")]) as server:
        async with room.open(server, options=options) as agent:
            await tell(agent, prompt)
        return str(server.requests[0].body)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (forbidding("Read(.env)"), "the rule Read(.env) (the flag --disallowedTools) forbids it"),
        (
            Options(
                model=MODEL,
                rules=(GivenRule(behaviour="deny", text="Read(.env)", origin="settings:1"),),
            ),
            "the rule Read(.env) (settings:1) forbids it",
        ),
        (
            Options(
                model=MODEL,
                rules=(GivenRule(behaviour="ask", text="Read(.env)", origin="settings:1"),),
            ),
            "the rule Read(.env) (settings:1) wants a person to be asked",
        ),
    ],
    ids=["flag", "settings", "ask"],
)
async def test_an_import_that_a_rule_forbids_is_left_out_and_named(
    room: Room, options: Options, why: str
) -> None:
    put(room, "CLAUDE.md", "Use tabs. @.env @ok.md")
    put(room, ".env", SECRET)
    put(room, "ok.md", "FINE")

    told = await first_request(room, options)

    assert SECRET not in told
    assert "FINE" in told
    assert f"@.env is left out: {why}" in told


@pytest.mark.parametrize(
    "name",
    ["CLAUDE.md", "AGENTS.md", ".claude/CLAUDE.md", ".claude/rules/a.md", "CLAUDE.local.md"],
)
async def test_so_is_a_note_itself(room: Room, name: str) -> None:
    path = put(room, name, SECRET)

    told = await first_request(room, forbidding(f"Read({name})"))

    assert SECRET not in told
    assert f"{path} (" in told
    assert f"left out: the rule Read({name}) (the flag --disallowedTools) forbids it" in told


async def test_so_are_notes_that_work_brings_up(room: Room) -> None:
    put(room, "sub/CLAUDE.md", SECRET)
    put(room, "sub/a.txt", "alpha")
    look = reply(tool_use("Read", {"file_path": "sub/a.txt"}))
    async with ScriptedServer([look, reply("Done.")]) as server:
        async with room.open(server, options=forbidding("Read(sub/CLAUDE.md)")) as agent:
            await tell(agent, "look")
        after = str(server.requests[1].body)

    assert SECRET not in after
    assert "left out: the rule Read(sub/CLAUDE.md)" in after


def test_a_link_is_known_by_both_its_names(room: Room) -> None:
    put(room, "CLAUDE.md", "@harmless.md @closed.md")
    (room.work / "harmless.md").symlink_to(put(room, ".env", SECRET))
    (room.work / "closed.md").symlink_to(put(room, "open.md", "OPEN"))
    judge = Judge.of(
        room.work,
        Rules.parse(deny=("Read(.env)", "Read(closed.md)")),
        mode=forbidding().permission_mode,
    )

    text = told(at_start(Places(cwd=room.work, home=room.home, withheld=judge.withholds)))

    assert SECRET not in text
    assert "OPEN" not in text


async def test_a_file_that_the_user_speaks_of_is_not_brought_along(room: Room) -> None:
    put(room, ".env", SECRET)

    told = await first_request(room, forbidding("Read(.env)"), "what is in @.env ?")

    assert SECRET not in told
    assert "The user speaks of @.env, which was not read" in told


async def test_the_memory_and_its_topics_are_not_told(room: Room) -> None:
    folder = room.home / "projects" / project_key(room.work) / "memory"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text(SECRET)
    (folder / "invoices.md").write_text(f"The database port of the invoices: {SECRET}")
    look = reply(tool_use("Read", {"file_path": "a.txt"}))
    async with ScriptedServer([look, look, reply("Done.")]) as server:
        async with room.open(server, options=forbidding(f"Read(/{folder}/**)")) as agent:
            await tell(agent, "which port has the database of the invoices?")
        everything = str([request.body for request in server.requests])

    assert SECRET not in everything
    assert "MEMORY.md is not told: left out: the rule Read(" in everything


async def test_a_skill_that_must_not_be_read_cannot_be_fetched(room: Room) -> None:
    put(room, ".claude/skills/key/SKILL.md", f"---\ndescription: the key\n---\n{SECRET}")
    put(room, ".claude/skills/open/SKILL.md", "---\ndescription: open\n---\nSee @key.txt")
    put(room, ".claude/skills/open/more.txt", SECRET)
    put(room, "key.txt", SECRET)
    calls = (
        tool_use("Skill", {"skill": "key"}, id="t1"),
        tool_use("Skill", {"skill": "open"}, id="t2"),
        tool_use("Read", {"file_path": ".claude/skills/open/more.txt"}, id="t3"),
    )
    rules = ("Read(.claude/skills/key/**)", "Read(key.txt)", "Read(.claude/**/more.txt)")
    async with ScriptedServer([reply(*calls), reply("Done.")]) as server:
        async with room.open(server, options=forbidding(*rules)) as agent:
            await tell(agent, "use them")
        first, second = server.requests

    assert "the key" not in str(first.body)
    assert SECRET not in str(second.body)
    assert [error for _, _, error in results(second)] == [True, False, True]


async def test_a_child_is_not_told_what_its_own_type_may_not_read(room: Room) -> None:
    put(room, "CLAUDE.md", SECRET)
    kind = AgentDefinition(
        name="narrow",
        description="narrow",
        prompt="Be narrow.",
        origin="test",
        disallowed_tools=("Read(CLAUDE.md)",),
    )
    options = Options(model=MODEL, agents=(kind,))
    call = tool_use("Agent", {"description": "look", "prompt": "look", "subagent_type": "narrow"})
    async with ScriptedServer([reply(call), reply("Seen."), reply("Done.")]) as server:
        async with room.open(server, options=options) as agent:
            await tell(agent, "look")
        own, childs = (str(request.body) for request in server.requests[:2])

    assert SECRET in own
    assert SECRET not in childs
    assert "left out: the rule Read(CLAUDE.md)" in childs


# --- what no rule has to name ---


@pytest.mark.parametrize("name", ["CLAUDE.md", "CLAUDE.local.md", ".claude/rules/a.md"])
def test_the_insides_of_git_are_never_imported(room: Room, name: str) -> None:
    put(room, ".git/config", "url = https://me:password@host")
    up = "../" * name.count("/")
    put(room, name, f"@{up}.git/config @{up}link.md @{up}.gitignore")
    put(room, ".gitignore", "build/")
    (room.work / "link.md").symlink_to(".git/config")

    text = told(at_start(Places(cwd=room.work, home=room.home)))

    assert "password" not in text
    assert "build/" in text
    assert f"@{up}.git/config is left out: it belongs to the insides of git" in text
    assert f"@{up}link.md is left out: it belongs to the insides of git" in text


def test_a_project_takes_only_notes_from_the_users_folder(room: Room) -> None:
    for name in ("mcp.json", "projects/other/memory/MEMORY.md", "agent-memory/a/MEMORY.md"):
        path = room.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SECRET)
    (room.home / "style.md").write_text("STYLE")
    names = ("mcp.json", "projects/other/memory/MEMORY.md", "agent-memory/a/MEMORY.md", "style.md")
    put(room, "CLAUDE.md", " ".join(f"@{room.home}/{name}" for name in names))

    text = told(at_start(Places(cwd=room.work, home=room.home)))

    assert SECRET not in text
    assert "STYLE" in text
    assert text.count("a project takes only notes from the user's folder") == 3


def test_a_local_note_that_may_have_come_with_the_project_shows_no_keys(room: Room) -> None:
    outside = room.work.parent / "outside"
    outside.mkdir()
    (outside / "id_rsa").write_text(SECRET)
    (outside / "mine.md").write_text("MINE")
    put(room, "CLAUDE.local.md", f"@{outside}/id_rsa @{outside}/mine.md")

    text = told(at_start(Places(cwd=room.work, home=room.home)))

    assert SECRET not in text
    assert "MINE" in text


def test_a_note_that_is_a_link_to_a_key_elsewhere_is_named_alone(room: Room) -> None:
    key = room.work.parent / "id_rsa"
    key.write_text(SECRET)
    (room.work / "CLAUDE.md").symlink_to(key)
    shared = room.work.parent / "shared.md"
    shared.write_text("SHARED")
    (room.work / "AGENTS.md").symlink_to(shared)

    text = told(at_start(Places(cwd=room.work, home=room.home)))

    assert SECRET not in text
    assert "SHARED" in text
    assert f"left out: it is a link to {key}, outside the project and no text" in text


def test_a_memory_that_came_with_a_repository_shows_no_key_by_a_link(room: Room) -> None:
    folder = room.work / ".claude" / "agent-memory" / "reviewer"
    folder.mkdir(parents=True)
    key = put(room, ".env", SECRET)
    (folder / "MEMORY.md").symlink_to("../../../.env")

    text = AutoMemory(folder=folder).told()

    assert SECRET not in text
    assert f"left out: it is a link to {key}, outside the memory and no text" in text


async def test_without_rules_all_of_it_is_told(room: Room) -> None:
    put(room, "CLAUDE.md", "@.env")
    put(room, ".env", SECRET)

    assert SECRET in await first_request(room, attrs.evolve(forbidding()))
