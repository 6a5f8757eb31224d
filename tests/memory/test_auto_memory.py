"""Auto memory: an index told at each start, and a folder that the agent writes in."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.home import project_key
from interlock.memory import AutoMemory, beginning, project_of
from interlock.options import Options, PermissionMode
from interlock.scripted import Answer, ScriptedServer, SentRequest, reply, tool_use
from tests.agent.support import MODEL, Room, results, sent, tell

CAREFUL = Options(model=MODEL)


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room.made(tmp_path)


def folder_of(room: Room) -> Path:
    return room.home / "projects" / project_key(room.work) / "memory"


def system(request: SentRequest) -> list[str]:
    return [block["text"] for block in request.body["system"]]


# --- how much of it ---


@pytest.mark.parametrize(("lines", "told"), [(199, 199), (200, 200), (201, 200)])
def test_the_first_200_lines_are_told(lines: int, told: int) -> None:
    read = beginning("".join(f"- fact {n}\n" for n in range(lines)).encode())

    assert len(read.text.splitlines()) == told
    assert (read.cut is not None) is (told < lines)


@pytest.mark.parametrize(("size", "whole"), [(24_900, True), (25_000, True), (25_100, False)])
def test_of_25_kb_all_is_told_and_of_more_whole_lines(size: int, whole: bool) -> None:
    line = b"x" * 499 + b"\n"

    read = beginning(line * (size // 500) + b"x" * (size % 500))

    assert (read.cut is None) is whole
    assert len(read.text) == min(size, 25_000)


def test_of_one_endless_line_the_beginning_is_told() -> None:
    read = beginning("ü".encode() * 20_000)

    assert read.text == "ü" * 12_500
    assert "0 of 1 lines" in (read.cut or "")


@given(st.binary(max_size=60_000) | st.text(max_size=9_000).map(str.encode))
def test_whatever_it_holds_the_beginning_is_within_both_bounds(data: bytes) -> None:
    read = beginning(data)

    assert len(read.text.encode()) <= 25_000
    assert len(read.text.splitlines()) <= 200
    assert data.decode("utf-8-sig", "replace").startswith(read.text)


def test_a_cut_is_told_to_the_model(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("- fact\n" * 201)

    told = AutoMemory(folder=tmp_path).told()

    assert "(only its beginning stands here: 200 of 201 lines, 1,400 of 1,407 bytes" in told


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (os.mkfifo, "it is a pipe, and no file"),
        (os.mkdir, "it is a folder"),
        (lambda path: path.symlink_to(path.name), "it is a link that leads in circles"),
        (lambda path: path.symlink_to("nowhere.md"), "it is a link to nothing"),
        (lambda path: path.symlink_to("/dev/zero"), "it is a device, and no file"),
        (lambda path: path.write_bytes(b"- fact\0\n"), "it is no text, and left out"),
    ],
    ids=["pipe", "folder", "circle", "dangling", "device", "binary"],
)
def test_an_index_that_cannot_be_told_is_named_with_what_it_is(
    tmp_path: Path, make: Callable[[Path], object], why: str
) -> None:
    make(tmp_path / "MEMORY.md")

    told = AutoMemory(folder=tmp_path).told()

    assert told.endswith(f"MEMORY.md is not told: {why}.")


# --- one for each project ---


def test_sub_folders_and_worktrees_of_a_repository_share_one(tmp_path: Path) -> None:
    main, other = tmp_path / "main", tmp_path / "other"
    (main / "src").mkdir(parents=True)

    def git(*words: str) -> None:
        config = ("-c", "user.name=x", "-c", "user.email=x@example.org")
        subprocess.run(["git", *config, *words], cwd=main, check=True, capture_output=True)

    git("init")
    git("commit", "--allow-empty", "-m", "first")
    git("worktree", "add", str(other))

    assert project_of(main / "src") == project_of(other) == main
    assert project_of(tmp_path) == tmp_path


# --- from session to session ---


async def test_the_second_session_sees_what_the_first_has_noted(room: Room) -> None:
    note = tool_use(
        "Write", {"file_path": str(folder_of(room) / "MEMORY.md"), "content": "- Use pnpm.\n"}
    )
    async with ScriptedServer([reply(note), reply("Noted."), reply("Pnpm.")]) as server:
        async with room.open(server, options=CAREFUL) as agent:
            told = await tell(agent, "remember that we use pnpm")
        async with room.open(server, options=CAREFUL) as agent:
            await tell(agent, "what do we use?")

    assert told.ending == ("completed", None)
    assert [error for _, _, error in results(server.requests[1])] == [False]
    assert "- Use pnpm." not in "".join(system(server.requests[1]))  # the prefix stays as it was
    assert "- Use pnpm." in "".join(system(server.requests[2]))
    assert server.verdict() == ()


async def test_what_is_loaded_first_stands_first(room: Room) -> None:
    folder_of(room).mkdir(parents=True)
    (folder_of(room) / "MEMORY.md").write_text("- Use pnpm.\n")
    (room.work / "CLAUDE.md").write_text("Never use tabs.")
    async with ScriptedServer([reply("Hello.")]) as server, room.open(server) as agent:
        await tell(agent, "say hello")

    (request,) = server.requests
    base, memory, environment = system(request)
    first, prompt = sent(request)
    assert base.startswith("You are")
    assert "- Use pnpm." in memory
    assert environment.startswith("Working directory:")
    assert "Never use tabs." in first["text"]
    assert prompt["text"] == "say hello"


def writing(path: Path) -> Answer:
    return reply(tool_use("Write", {"file_path": str(path), "content": "x"}))


async def test_nothing_else_outside_can_be_written_unasked(room: Room) -> None:
    folder = folder_of(room)
    folder.mkdir(parents=True)
    (folder / "out").symlink_to(room.home)
    places = [
        folder / "topics" / "debugging.md",
        folder.parent / "other.md",
        folder / ".." / "up.md",
        folder / "out" / "settings.json",
        room.home / "CLAUDE.md",
    ]
    answers = [writing(path) for path in places]
    async with (
        ScriptedServer([*answers, reply("Done.")]) as server,
        room.open(server, options=CAREFUL) as agent,
    ):
        await tell(agent, "write")

    denied = [results(request)[0][2] for request in server.requests[1:]]
    assert denied == [False, True, True, True, True]


@pytest.mark.parametrize(
    ("options", "is_denied"),
    [
        (Options(model=MODEL, permission_mode=PermissionMode.PLAN), True),
        (Options(model=MODEL, permission_mode=PermissionMode.DONT_ASK), False),
        (Options(model=MODEL, disallowed_tools=("Write",)), True),
    ],
    ids=["plan", "dontAsk", "deny-rule"],
)
async def test_modes_and_deny_rules_hold_there_too(
    room: Room, options: Options, is_denied: bool
) -> None:
    async with (
        ScriptedServer([writing(folder_of(room) / "MEMORY.md"), reply("Done.")]) as server,
        room.open(server, options=options) as agent,
    ):
        await tell(agent, "write")

    assert results(server.requests[1])[0][2] is is_denied


@pytest.mark.parametrize(
    ("options", "environ"),
    [
        (Options(model=MODEL, auto_memory=False), {}),
        (CAREFUL, {"INTERLOCK_AUTO_MEMORY": "off"}),
        (CAREFUL, {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"}),
    ],
    ids=["setting", "variable", "known-variable"],
)
async def test_switched_off_it_is_neither_told_nor_writable(
    room: Room, options: Options, environ: Mapping[str, str]
) -> None:
    folder_of(room).mkdir(parents=True)
    (folder_of(room) / "MEMORY.md").write_text("- Use pnpm.\n")
    async with (
        ScriptedServer([writing(folder_of(room) / "x.md"), reply("Done.")]) as server,
        room.open(server, options=options, environ=environ) as agent,
    ):
        await tell(agent, "write")

    assert "pnpm" not in str(server.requests[0].body)
    assert "memory" not in "".join(system(server.requests[0])[1:])
    assert results(server.requests[1])[0][2]


async def test_a_folder_of_ones_own_takes_its_place(room: Room, tmp_path: Path) -> None:
    own = tmp_path / "notes"
    options = Options(model=MODEL, memory_folder=own)
    async with (
        ScriptedServer([writing(own / "MEMORY.md"), reply("Done.")]) as server,
        room.open(server, options=options) as agent,
    ):
        await tell(agent, "write")

    assert (own / "MEMORY.md").read_text() == "x"
