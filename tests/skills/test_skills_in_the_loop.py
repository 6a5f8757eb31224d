"""Skills in a session: listed in few words, fetched as a result, bounded by its rights."""

from __future__ import annotations

from pathlib import Path

from interlock.options import Options, Resume
from interlock.scripted import Answer, ScriptedServer, SentRequest, reply, tool_use
from tests.agent.support import MODEL, Room, results, sent, tell
from tests.agent.test_rewind import go_back
from tests.skills.writing import command, skill

CAREFUL = Options(model=MODEL)
BODY = "The way we do reviews."


def using(name: str, args: str | None = None) -> Answer:
    given = {"skill": name} | ({"args": args} if args is not None else {})
    return reply(tool_use("Skill", given))


def bash(line: str) -> Answer:
    return reply(tool_use("Bash", {"command": line}))


def front(request: SentRequest) -> tuple[object, object]:
    """What a provider's cache holds first: tools and system prompt."""
    return request.body["tools"], request.body["system"]


async def test_with_a_hundred_skills_tools_and_system_prompt_are_the_same(room: Room) -> None:
    async with ScriptedServer([reply("One."), reply("Two.")]) as server:
        async with room.open(server) as agent:
            await tell(agent, "hello")
        for number in range(100):
            skill(room.home, f"skill-{number}", f"Body {number}.")
        async with room.open(server) as agent:
            await tell(agent, "hello")

    one, two = server.requests
    assert front(one) == front(two)
    assert "skill-99" in sent(two)[0]["text"]
    assert len(sent(two)[0]["text"]) < 10_000
    assert "Body 7." not in str(two.body)


async def test_its_text_comes_as_a_result_and_nowhere_before(room: Room, mine: Path) -> None:
    skill(mine, "review", f"{BODY} For $1.", description="How reviews are done.")
    async with (
        ScriptedServer([using("review", "'the shop'"), reply("Done.")]) as server,
        room.open(server) as agent,
    ):
        await tell(agent, "check this")

    first, second = server.requests
    assert "How reviews are done." in sent(first)[0]["text"]
    assert BODY not in str(first.body)
    ((_, text, error),) = results(second)
    assert not error
    assert f"{BODY} For the shop." in text
    assert str(mine / "skills" / "review") in text
    assert server.verdict() == ()


async def test_what_cannot_be_used_is_answered_with_what_can(room: Room, mine: Path) -> None:
    skill(mine, "review")
    skill(mine, "deploy", disable_model_invocation="true")
    async with (
        ScriptedServer([using("reviews"), using("deploy"), reply("Done.")]) as server,
        room.open(server) as agent,
    ):
        await tell(agent, "check this")

    assert results(server.requests[1])[0][1:] == (
        "There is no skill reviews. Did you mean review? There are: review.",
        True,
    )
    assert results(server.requests[2])[0][1:] == ("deploy is for the user alone to call.", True)
    assert "deploy" not in sent(server.requests[0])[0]["text"]


async def test_its_rules_hold_for_its_prompt_alone(room: Room, mine: Path) -> None:
    skill(mine, "touch", allowed_tools="Bash(touch:*)")
    answers = [bash("touch a"), using("touch"), bash("touch b"), reply("Done."), bash("touch c")]
    async with (
        ScriptedServer([*answers, reply("Done.")]) as server,
        room.open(server, options=CAREFUL) as agent,
    ):
        await tell(agent, "one")
        await tell(agent, "two")

    made = [(room.work / name).exists() for name in "abc"]
    assert made == [False, True, False]


async def test_a_deny_rule_goes_before_what_a_skill_allows(room: Room, mine: Path) -> None:
    skill(mine, "touch", allowed_tools="Bash, Write")
    options = Options(model=MODEL, disallowed_tools=("Bash(touch:*)",))
    async with (
        ScriptedServer([using("touch"), bash("touch b"), reply("Done.")]) as server,
        room.open(server, options=options) as agent,
    ):
        await tell(agent, "one")

    assert not (room.work / "b").exists()
    assert "forbids it" in results(server.requests[2])[0][1]


async def test_where_managed_rules_alone_may_allow_a_skill_allows_nothing(
    room: Room, mine: Path
) -> None:
    skill(mine, "touch", allowed_tools="Bash(touch:*)")
    options = Options(model=MODEL, lent_tools=False)
    async with (
        ScriptedServer([using("touch"), bash("touch b"), reply("Done.")]) as server,
        room.open(server, options=options) as agent,
    ):
        await tell(agent, "one")

    assert not (room.work / "b").exists()


async def test_files_beside_it_are_read_unasked_and_no_others(room: Room) -> None:
    folder = skill(room.home, "review").parent
    (folder / "details.md").write_text("The details.")
    (room.home / "other.md").write_text("Not yours.")
    reads = [
        reply(tool_use("Read", {"file_path": str(path)}))
        for path in (folder / "details.md", room.home / "other.md")
    ]
    async with (
        ScriptedServer([*reads, reply("Done.")]) as server,
        room.open(server, options=CAREFUL) as agent,
    ):
        await tell(agent, "read")

    assert [results(one)[0][2] for one in server.requests[1:]] == [False, True]


async def test_the_commands_in_its_text_run_by_permission(room: Room, mine: Path) -> None:
    skill(mine, "state", "Now: !`cat a.txt`", allowed_tools="Bash(cat:*)")
    skill(mine, "make", "Now: !`touch made`")
    async with (
        ScriptedServer([using("state"), using("make"), reply("Done.")]) as server,
        room.open(server, options=CAREFUL) as agent,
    ):
        await tell(agent, "go")

    assert "Now: alpha" in results(server.requests[1])[0][1]
    _, text, error = results(server.requests[2])[0]
    assert error
    assert text.startswith("make was not run: its command `touch made`: ")
    assert not (room.work / "made").exists()
    assert server.verdict() == ()


async def test_what_an_argument_holds_is_not_run(room: Room, mine: Path) -> None:
    skill(mine, "say", "They said: $ARGUMENTS")
    async with (
        ScriptedServer([using("say", "!`touch made` @a.txt"), reply("Done.")]) as server,
        room.open(server) as agent,
    ):
        await tell(agent, "go")

    assert "They said: !`touch made` @a.txt" in results(server.requests[1])[0][1]
    assert not (room.work / "made").exists()


async def test_settings_can_keep_texts_from_running_anything(room: Room, mine: Path) -> None:
    skill(mine, "make", "Now: !`touch made`.")
    options = Options(model=MODEL, skill_shell=False)
    async with (
        ScriptedServer([using("make"), reply("Done.")]) as server,
        room.open(server, options=options) as agent,
    ):
        await tell(agent, "go")

    assert "Now: [not run: settings do not let" in results(server.requests[1])[0][1]


async def test_a_hint_comes_without_a_wait_and_once(room: Room, mine: Path) -> None:
    skill(mine, "invoices", "Rules.", description="How invoices are numbered.")
    read = reply(tool_use("Read", {"file_path": "a.txt"}))
    async with (
        ScriptedServer([read, read, reply("Done.")]) as server,
        room.open(server) as agent,
    ):
        await tell(agent, "mend the numbering of invoices")

    hints = [str(sent(one)).count("It may fit: How invoices") for one in server.requests]
    assert hints == [0, 1, 1]


async def test_a_skill_that_comes_or_goes_is_told_and_the_front_stays(
    room: Room, mine: Path
) -> None:
    skill(mine, "old", description="Old.")
    write = reply(
        tool_use(
            "Write",
            {
                "file_path": ".claude/skills/new/SKILL.md",
                "content": "---\ndescription: Brand new.\n---\nNew text.",
            },
        )
    )
    async with (
        ScriptedServer([write, using("new"), reply("Done."), reply("Yes.")]) as server,
        room.open(server) as agent,
    ):
        await tell(agent, "write a skill")
        (mine / "skills" / "old" / "SKILL.md").unlink()
        await tell(agent, "and now?")

    assert "new, or changed: new: Brand new." in str(sent(server.requests[1]))
    assert "New text." in results(server.requests[2])[0][1]
    assert "no longer there: old" in str(sent(server.requests[3]))
    assert len({sent(one)[0]["text"] for one in server.requests}) == 1
    assert server.verdict() == ()


async def test_skills_of_a_sub_folder_come_with_work_in_it(room: Room) -> None:
    skill(room.work / "shop" / ".claude", "till", description="How the till works.")
    (room.work / "shop" / "x.py").write_text("x")
    read = reply(tool_use("Read", {"file_path": "shop/x.py"}))
    async with ScriptedServer([read, reply("Done.")]) as server, room.open(server) as agent:
        await tell(agent, "look")

    told = ["How the till works." in str(sent(one)) for one in server.requests]
    assert told == [False, True]


async def test_a_fetched_skill_is_put_back_beside_each_summary(room: Room, mine: Path) -> None:
    skill(mine, "review", BODY)
    answers = [using("review"), *(reply(word) for word in ("a", "b", "c", "d", "e"))]
    async with ScriptedServer(answers) as server:
        async with room.open(server) as agent:
            await tell(agent, "go")
            assert await agent.compact(lambda update: None) is None
            await tell(agent, "on")
        resumed = Options(model=MODEL, resume=Resume())
        async with room.open(server, options=resumed) as agent:
            assert await agent.compact(lambda update: None) is None
            await tell(agent, "on and on")

    after = [str(sent(server.requests[at])) for at in (3, 5)]
    assert [text.count(BODY) for text in after] == [1, 1]
    assert server.verdict() == ()


async def test_what_was_fetched_after_the_prompt_gone_back_to_is_forgotten(
    room: Room, mine: Path
) -> None:
    skill(mine, "review", BODY)
    skill(mine, "style", "How we write.")
    (room.work / "shop").mkdir()
    (room.work / "shop" / "CLAUDE.md").write_text("Prices are in cents.")
    (room.work / "shop" / "x.py").write_text("x")
    read = reply(tool_use("Read", {"file_path": "shop/x.py"}))
    answers = [
        using("style"),
        reply("a"),
        using("review"),
        read,
        reply("b"),
        reply("c"),
        reply("d"),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        await tell(agent, "one")
        await tell(agent, "two")
        await go_back(agent, "2")
        assert await agent.compact(lambda update: None) is None
        await tell(agent, "on")

    after = str(sent(server.requests[-1]))
    found = [text in after for text in ("How we write.", BODY, "Prices are in cents.")]
    assert found == [True, False, False]


async def test_a_rule_about_one_skill_holds(room: Room, mine: Path) -> None:
    skill(mine, "review", BODY)
    options = Options(model=MODEL, disallowed_tools=("Skill(review)",))
    async with (
        ScriptedServer([using("review"), reply("Done.")]) as server,
        room.open(server, options=options) as agent,
    ):
        await tell(agent, "go")

    assert results(server.requests[1])[0][2]


async def test_a_command_with_a_description_can_be_used_too(room: Room, mine: Path) -> None:
    command(mine, "git/commit", "Commit.", description="How we commit.")
    async with (
        ScriptedServer([using("git:commit"), reply("Done.")]) as server,
        room.open(server) as agent,
    ):
        await tell(agent, "go")

    assert results(server.requests[1])[0][1:] == ("Commit.", False)
