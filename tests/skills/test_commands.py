"""`/name words` in a prompt: a file's text in its place; `@path`: the file along with it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from interlock.errors import UsageError
from interlock.hooks import HookMatcher
from interlock.options import Options
from interlock.scripted import ScriptedServer, reply, tool_use
from phases.world.updates import Notice
from tests.agent.support import MODEL, Room, results, sent, tell
from tests.skills.writing import command, skill

CAREFUL = Options(model=MODEL)


async def said(room: Room, prompt: str, options: Options = CAREFUL) -> str:
    """What the model is sent for a prompt."""
    async with ScriptedServer([reply("Done.")]) as server:
        async with room.open(server, options=options) as agent:
            await tell(agent, prompt)
        (request,) = server.requests
        assert server.verdict() == ()
    return "\n".join(block["text"] for block in sent(request))


async def test_a_command_is_sent_as_its_text_with_its_arguments(room: Room, mine: Path) -> None:
    command(mine, "fix", "Fix issue $1 for $2.")

    assert "/fix 12 'the shop'\n\n\nFix issue 12 for the shop." in await said(
        room, "/fix 12 'the shop'"
    )


async def test_arguments_without_a_place_stand_at_its_end(room: Room, mine: Path) -> None:
    command(room.home, "git/commit", "Commit.")

    assert (await said(room, "/git:commit now")).endswith("Commit.\n\nARGUMENTS: now")


async def test_a_skill_is_a_command_too_unless_it_is_for_the_model_alone(
    room: Room, mine: Path
) -> None:
    skill(mine, "review", "Our reviews.")
    skill(mine, "secret", user_invocable="false")

    assert "Our reviews." in await said(room, "/review")
    with pytest.raises(UsageError, match="no command /secret"):
        await said(room, "/secret")


async def test_an_unknown_one_is_one_line_with_the_nearest_and_no_request(
    room: Room, mine: Path
) -> None:
    command(mine, "review")
    async with ScriptedServer([]) as server, room.open(server) as agent:
        with pytest.raises(UsageError) as raised:
            await tell(agent, "/reviw this")
        assert server.requests == ()

    assert str(raised.value) == "no command /reviw; did you mean /review?"


@pytest.mark.parametrize("prompt", ["/etc/hosts: what is it?", "/ or .?", "a /fix b", "//fix"])
async def test_a_path_is_no_command(room: Room, prompt: str) -> None:
    assert prompt in await said(room, prompt)


async def test_commands_and_files_are_put_in_by_permission(room: Room, mine: Path) -> None:
    command(
        mine,
        "state",
        "Now: !`cat $1`\nStyle: @b.txt\nOther: @none.txt",
        allowed_tools="Bash(cat:*)",
    )

    text = await said(room, "/state a.txt")

    assert "Now: alpha" in text
    assert "Style: @b.txt\n\n1\tbeta" in text
    assert "Other: @none.txt" in text


async def test_a_command_that_is_not_permitted_makes_it_one_clear_line(
    room: Room, mine: Path
) -> None:
    command(mine, "make", "Now: !`touch made`")

    with pytest.raises(UsageError, match="make was not run: its command `touch made`: "):
        await said(room, "/make")
    assert not (room.work / "made").exists()


async def test_hooks_hear_of_the_commands_in_it(room: Room, mine: Path) -> None:
    command(mine, "make", "Now: !`touch made`")
    heard: list[object] = []

    def guard(given: Mapping[str, Any]) -> Mapping[str, Any]:
        heard.append(given["tool_input"])
        return {"decision": "block", "reason": "not on Fridays"}

    async with (
        ScriptedServer([]) as server,
        room.open(server, hooks=[HookMatcher(event="PreToolUse", hooks=[guard])]) as agent,
    ):
        with pytest.raises(UsageError, match="not on Fridays"):
            await tell(agent, "/make")

    assert heard == [{"command": "touch made"}]


async def test_its_model_and_its_rules_are_for_its_prompt_alone(room: Room, mine: Path) -> None:
    command(mine, "go", "Go.", model="claude-haiku-4-5", allowed_tools="Bash(touch:*)")
    answers = [
        reply(tool_use("Bash", {"command": "touch a"})),
        reply("Done."),
        reply(tool_use("Bash", {"command": "touch b"})),
        reply("Done."),
    ]
    async with (
        ScriptedServer(answers) as server,
        room.open(server, options=CAREFUL) as agent,
    ):
        await tell(agent, "/go")
        await tell(agent, "and on")

    assert [one.body["model"] for one in server.requests] == [
        *["claude-haiku-4-5"] * 2,
        *[MODEL] * 2,
    ]
    assert [(room.work / name).exists() for name in "ab"] == [True, False]
    assert server.verdict() == ()


async def test_a_token_budget_in_a_file_is_no_order(room: Room, mine: Path) -> None:
    command(mine, "go", "Use +500k tokens.")
    async with ScriptedServer([reply("Done.")]) as server, room.open(server) as agent:
        told = await tell(agent, "/go")

    assert told.ending == ("completed", None)
    assert len(server.requests) == 1


# --- files that a prompt speaks of ---


async def test_a_file_comes_along_and_counts_as_read(room: Room) -> None:
    edit = tool_use("Edit", {"file_path": "a.txt", "old_string": "alpha", "new_string": "omega"})
    async with ScriptedServer([reply(edit), reply("Done.")]) as server, room.open(server) as agent:
        await tell(agent, "mend @a.txt, please")

    note, prompt = sent(server.requests[0])
    assert "The user speaks of @a.txt:" in note["text"]
    assert "alpha" in note["text"]
    assert prompt["text"] == "mend @a.txt, please"
    assert results(server.requests[1])[0][2] is False


async def test_of_a_file_some_lines_and_of_a_folder_the_names(room: Room) -> None:
    (room.work / "long.txt").write_text("".join(f"line {n}\n" for n in range(1, 10)))
    (room.work / "sub").mkdir()
    (room.work / "sub" / "inner.py").write_text("x")

    text = await said(room, "look at @long.txt#L3-4 and @sub/")

    assert "line 3" in text
    assert "line 4" in text
    assert "line 5" not in text
    assert "sub/inner.py" in text


async def test_what_is_no_file_is_left_alone(room: Room) -> None:
    assert await said(room, "ask @ada or ada@example.org about `@a.txt`") == (
        "ask @ada or ada@example.org about `@a.txt`"
    )


async def test_a_file_whose_name_has_blanks_stands_in_quotes(room: Room) -> None:
    (room.work / "my notes.txt").write_text("one\ntwo\nthree\n")

    text = await said(room, 'read @"my notes.txt", then @"my notes.txt#L2-2"')

    assert "The user speaks of @my notes.txt:\n\n1\tone" in text
    assert "The user speaks of @my notes.txt#L2-2:\n\n2\ttwo" in text


@pytest.mark.parametrize("written", ['"my notes.txt"', "./none.txt", "../none/x.py", "/none.txt"])
async def test_a_path_that_leads_nowhere_is_told(room: Room, written: str) -> None:
    async with (
        ScriptedServer([reply("Done.")]) as server,
        room.open(server, options=CAREFUL) as agent,
    ):
        told = await tell(agent, f"read @{written}")

    line = f"@{written.strip(chr(34))} was not read: there is no such file"
    assert line in [one.text for one in told.updates if isinstance(one, Notice)]


async def test_a_file_that_may_not_be_read_is_named_as_such(room: Room) -> None:
    (room.work / ".env").write_text("KEY=secret")
    options = Options(model=MODEL, disallowed_tools=("Read(.env)",))

    text = await said(room, "what is in @.env and @/etc/hostname?", options)

    assert "secret" not in text
    assert text.count("was not read:") == 2


async def test_piped_data_brings_no_file_and_calls_no_command(room: Room, mine: Path) -> None:
    command(mine, "fix", "Fix it: $ARGUMENTS")
    async with (
        ScriptedServer([reply("One."), reply("Two.")]) as server,
        room.open(server) as agent,
    ):
        await agent.prompt("/fix and @a.txt\n\nsum it up", lambda update: None, typed="sum it up")
        await agent.prompt("/fix this\n\n@a.txt", lambda update: None, typed="/fix this")

    first, second = server.requests
    assert "alpha" not in str(second.body)
    assert "Fix it" not in str(first.body)
    assert "Fix it: this\\n\\n@a.txt" in second.raw.decode()
