"""Notes of sub-folders: told when work first touches them, once, and whole through compaction."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.memory import Excluded, LazyNotes, Places, found, told, told_in
from interlock.options import Options, PermissionMode, Resume
from interlock.scripted import Answer, ScriptedServer, reply, tool_use
from tests.agent.support import MODEL, Room, sent, tell

ANY = PermissionMode.BYPASS_PERMISSIONS


@pytest.fixture
def room(tmp_path: Path) -> Room:
    room = Room.made(tmp_path)
    (room.work / "sub" / "deep").mkdir(parents=True)
    (room.work / "sub" / "CLAUDE.md").write_text("Sub: use tabs.")
    (room.work / "sub" / "AGENTS.md").write_text("Sub: test with nox.")
    (room.work / "sub" / "code.py").write_text("x = 1\n")
    return room


def notes_of(room: Room, *excluded: str) -> LazyNotes:
    return LazyNotes.of(Places(cwd=room.work, home=room.home, excluded=Excluded(tuple(excluded))))


def calling(name: str, **arguments: object) -> Answer:
    return reply(tool_use(name, arguments))


# --- which files ---


def test_both_names_of_every_folder_down_to_the_file_the_nearest_last(room: Room) -> None:
    (room.work / "sub" / "deep" / "CLAUDE.md").write_text("Deep: nothing but spaces.")

    text = notes_of(room).touched([room.work / "sub" / "deep" / "new.py"]) or ""

    assert [path.relative_to(room.work) for path in told_in(text)] == [
        Path("sub/CLAUDE.md"),
        Path("sub/AGENTS.md"),
        Path("sub/deep/CLAUDE.md"),
    ]


def test_what_stands_in_the_conversation_is_not_told_again(room: Room) -> None:
    notes = notes_of(room)
    first = notes.touched([room.work / "sub" / "code.py"]) or ""

    assert notes.touched([room.work / "sub" / "code.py"], list(told_in(first))) is None
    assert notes.touched([room.work / "sub" / "code.py"]) == first  # it is gone from there


def test_what_was_told_at_the_start_is_not_told_again(room: Room) -> None:
    (room.work / "CLAUDE.md").write_text("Top.")

    assert notes_of(room).touched([room.work / "a.txt"]) is None


def test_nothing_of_folders_outside_the_project_is_told(room: Room) -> None:
    (room.work.parent / "CLAUDE.md").write_text("Another project's.")
    (room.work.parent / "x.txt").write_text("x")

    assert notes_of(room).touched([room.work.parent / "x.txt", Path("/etc/hosts")]) is None


def test_imports_of_a_sub_folders_notes_come_with_them_and_from_the_project_only(
    room: Room,
) -> None:
    (room.work / "sub" / "CLAUDE.md").write_text("See @style.md and @../../secret.md.")
    (room.work / "sub" / "style.md").write_text("Style.")
    (room.work.parent / "secret.md").write_text("Secret.")

    text = notes_of(room).touched([room.work / "sub" / "code.py"]) or ""

    assert "Style." in text
    assert "Secret." not in text
    assert "@../../secret.md lies outside the project" in text


def test_excluded_files_are_read_neither_at_the_start_nor_later(room: Room) -> None:
    (room.work / "CLAUDE.md").write_text("Top.")
    excluded = Excluded(("**/sub/CLAUDE.md", str(room.work / "CLAUDE.md")))

    text = notes_of(room, *excluded.patterns).touched([room.work / "sub" / "code.py"]) or ""

    assert found(room.work, room.home, excluded=excluded) == ()
    assert "Sub: use tabs." not in text
    assert "Sub: test with nox." in text


# --- rules ---


def test_a_rule_without_paths_is_told_at_the_start(room: Room) -> None:
    rules = room.work / ".claude" / "rules" / "style"
    rules.mkdir(parents=True)
    (rules / "names.md").write_text("Long names.")

    assert [note.text for note in notes_of(room).start] == ["Long names."]


@pytest.mark.parametrize(
    ("paths", "touched", "is_told"),
    [
        ('"**/*.py"', "sub/code.py", True),
        ('"**/*.py"', "a.txt", False),
        ('["sub/**/*.{py,pyi}"]', "sub/code.py", True),
        ('["sub/**/*.{py,pyi}"]', "sub/deep/x.pyi", True),
        ("sub/*.py, docs/**", "sub/code.py", True),
        ("src/**", "sub/code.py", False),
    ],
)
def test_a_rule_for_some_files_is_told_when_one_of_them_is_touched(
    room: Room, paths: str, touched: str, is_told: bool
) -> None:
    rules = room.work / ".claude" / "rules"
    rules.mkdir(parents=True)
    (rules / "python.md").write_text(f"---\npaths: {paths}\n---\nType everything.")
    notes = notes_of(room)

    text = notes.touched([room.work / touched]) or ""

    assert notes.start == ()
    assert ("Type everything." in text) is is_told
    assert "paths:" not in text


@pytest.mark.parametrize(
    ("paths", "why"),
    [
        ("[unclosed", "paths: '[unclosed' matches nothing: a bracket in it is not closed"),
        ("5", "paths: 5 is no pattern of files"),
        ("{a: 1}", "paths: {'a': 1} is no pattern of files"),
        ("[1, 2]", "paths: [1, 2] is no pattern of files"),
        ("yes", "paths: True is no pattern of files"),
        ('"src/**/*.{ts,tsx"', "paths: 'src/**/*.{ts,tsx' matches nothing: "),
        ('"[z-a].py"', "paths: '[z-a].py' matches nothing: "),
    ],
)
def test_a_rule_that_is_for_no_file_is_named_once(room: Room, paths: str, why: str) -> None:
    rules = room.work / ".claude" / "rules"
    rules.mkdir(parents=True)
    (rules / "odd.md").write_text(f"---\npaths: {paths}\n---\nType everything.")
    notes = notes_of(room)

    at_start, later = told(notes.start), notes.touched([room.work / "a.txt"])

    assert f"About the rule {rules / 'odd.md'}: {why}" in at_start
    assert "so it is for no file, and never told" in at_start
    assert "Type everything" not in at_start
    assert later is None


def test_a_rule_of_which_one_pattern_is_odd_is_told_for_the_others(room: Room) -> None:
    rules = room.work / "sub" / ".claude" / "rules"
    rules.mkdir(parents=True)
    (rules / "odd.md").write_text('---\npaths: ["[z-a].py", "*.py"]\n---\nType everything.')
    notes = notes_of(room)

    for_another = notes.touched([room.work / "sub" / "x.txt"]) or ""
    again = notes.touched([room.work / "sub" / "x.txt"]) or ""
    for_one = notes.touched([room.work / "sub" / "code.py"]) or ""

    assert "'[z-a].py' matches nothing" in for_another
    assert "Type everything" not in for_another
    assert "matches nothing" not in again
    assert "Type everything" in for_one
    assert [note.path.name for note in notes.later()].count("odd.md") == 1


def test_a_folder_called_in_brackets_is_found(room: Room) -> None:
    rules = room.work / ".claude" / "rules"
    rules.mkdir(parents=True)
    (rules / "page.md").write_text('---\npaths: "app/[id]/*.tsx"\n---\nNo state.')

    assert "No state" in (notes_of(room).touched([room.work / "app/[id]/page.tsx"]) or "")


def test_braces_in_one_line_of_patterns_belong_together(room: Room) -> None:
    rules = room.work / ".claude" / "rules"
    rules.mkdir(parents=True)
    (rules / "web.md").write_text("---\npaths: {src,lib}/**/*.{ts,{js,jsx}}, *.css\n---\nTidy.")

    told_for = [
        name
        for name in ("src/a.ts", "lib/b.jsx", "c.css", "d.ts")
        if notes_of(room).touched([room.work / name])
    ]

    assert told_for == ["src/a.ts", "lib/b.jsx", "c.css"]


@pytest.mark.parametrize("head", ["paths: **/*.py", "description: for: you\npaths: '**/*.py'"])
def test_what_yaml_refuses_and_people_write_is_not_odd(room: Room, head: str) -> None:
    rules = room.work / ".claude" / "rules"
    rules.mkdir(parents=True)
    (rules / "a.md").write_text(f"---\n{head}\n---\nType everything.")
    notes = notes_of(room)

    assert notes.start == ()
    assert "Type everything" in (notes.touched([room.work / "sub" / "code.py"]) or "")


def test_the_users_own_rules_are_told_too(room: Room) -> None:
    (room.home / "rules").mkdir(parents=True)
    (room.home / "rules" / "a.md").write_text("Be brief.")
    (room.home / "rules" / "b.md").write_text("---\npaths: '*.py'\n---\nMine for Python.")
    notes = notes_of(room)

    assert [note.text for note in notes.start] == ["Be brief."]
    assert "Mine for Python." in (notes.touched([room.work / "sub" / "code.py"]) or "")


# --- in the loop ---


@pytest.mark.parametrize(
    "call",
    [
        calling("Read", file_path="sub/code.py"),
        calling("Grep", pattern="x = 1", output_mode="content"),
        calling("Grep", pattern="x = 1"),
        calling("Glob", pattern="**/*.py"),
        calling("Write", file_path="sub/new.py", content="y = 2\n"),
        calling("Bash", command="cd sub"),
    ],
    ids=["read", "grep", "grep-files", "glob", "write", "cd"],
)
async def test_a_touch_brings_them_into_the_next_request_and_not_before(
    room: Room, call: Answer
) -> None:
    other = calling("Read", file_path="a.txt")
    async with (
        ScriptedServer([other, call, other, reply("Done.")]) as server,
        room.open(server) as agent,
    ):
        await tell(agent, "look")

    counts = [str(sent(request)).count("Sub: use tabs.") for request in server.requests]
    assert counts == [0, 0, 1, 1]
    assert server.verdict() == ()  # also: what was cached is sent again as it was


async def test_a_call_that_failed_has_touched_nothing(room: Room) -> None:
    call = calling("Read", file_path="sub/missing.py")
    async with ScriptedServer([call, reply("Done.")]) as server, room.open(server) as agent:
        await tell(agent, "look")

    assert "Sub: use tabs." not in str(sent(server.requests[-1]))


async def test_they_are_whole_beside_a_summary_and_told_once(room: Room) -> None:
    long = "Rule.\n" * 3_000
    (room.work / "sub" / "CLAUDE.md").write_text(f"{long}The last rule.")
    read = calling("Read", file_path="sub/code.py")
    answers = [read, reply("Done."), reply("A summary."), read, reply("Again.")]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        await tell(agent, "look")
        assert await agent.compact(lambda update: None) is None
        await tell(agent, "look again")

    for request in server.requests[3:]:
        assert str(sent(request)).count("The last rule.") == 1
    assert server.verdict() == ()


async def test_after_a_resume_they_still_stand_and_survive_the_next_summary(room: Room) -> None:
    read = calling("Read", file_path="sub/code.py")
    answers = [read, reply("Done."), read, reply("Yes."), reply("A summary."), reply("Again.")]
    async with ScriptedServer(answers) as server:
        async with room.open(server) as agent:
            await tell(agent, "look")
        options = Options(model=MODEL, permission_mode=ANY, resume=Resume())
        async with room.open(server, options=options) as agent:
            await tell(agent, "look again")
            assert await agent.compact(lambda update: None) is None
            await tell(agent, "and now")

    for request in (*server.requests[1:4], server.requests[-1]):
        assert str(sent(request)).count("Sub: use tabs.") == 1
    assert server.verdict() == ()
