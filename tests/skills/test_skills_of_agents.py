"""Skills and agents: skills that run as agents, skills and notes and memories of agents."""

from __future__ import annotations

from pathlib import Path

from interlock.agents.definition import AgentDefinition, MemoryScope
from interlock.options import Options
from interlock.scripted import Answer, ScriptedServer, reply, tool_use
from tests.agent.support import MODEL, Room, results, sent, tell
from tests.agents.families import by_prompt, children, first_words, hand, of
from tests.skills.test_skills_in_the_loop import bash, using
from tests.skills.writing import command, skill

CAREFUL = Options(model=MODEL)


def worker(**more: object) -> AgentDefinition:
    return AgentDefinition(name="worker", description="Works.", prompt="Work.", **more)  # type: ignore[arg-type]


async def test_a_skill_with_context_fork_is_the_prompt_of_an_agent(room: Room, mine: Path) -> None:
    skill(mine, "audit", "Look at $1.", context="fork", agent="Explore")
    async with (
        ScriptedServer(
            [using("audit", "a.txt"), reply("All is well."), reply("It is well.")]
        ) as server,
        room.open(server) as agent,
    ):
        told = await tell(agent, "audit it")

    ask, child, last = server.requests
    assert first_words(child).endswith("Look at a.txt.")
    assert "audit it" not in str(child.body)
    assert "searches a code base" in str(child.body["system"])
    ((_, text, error),) = results(last)
    assert (text.startswith("All is well."), error) == (True, False)
    assert "Look at a.txt." not in str(ask.body) + str(last.body)
    assert told.summary.text == "It is well."
    assert [one.meta["agentType"] for one in children(agent).values()] == ["Explore"]
    assert server.verdict() == ()


async def test_what_a_skill_of_an_agent_allows_is_allowed_to_that_agent_alone(
    room: Room, mine: Path
) -> None:
    skill(mine, "make", "Now: !`touch 0`", context="fork", allowed_tools="Bash(touch:*)")
    child = [bash("touch 1"), reply(hand("deeper")), reply("Made.")]
    deeper = [bash("touch 2"), reply("Not made.")]
    answers = [using("make"), child[0], child[1], *deeper, child[2], bash("touch 3"), reply(".")]
    async with (
        ScriptedServer(answers) as server,
        room.open(server, options=CAREFUL) as agent,
    ):
        await tell(agent, "go")

    made = [(room.work / name).exists() for name in "0123"]
    assert made == [True, True, False, False]
    assert server.verdict() == ()


async def test_a_skill_that_a_child_fetches_lends_to_that_child_and_lifts_no_denial(
    room: Room, mine: Path
) -> None:
    skill(mine, "make", allowed_tools="Bash(touch:*), Bash(mkdir:*)")
    script = {
        "go": [reply(hand("child")), bash("touch 2"), reply("Done.")],
        "child": [
            bash("touch 0"),
            using("make"),
            bash("touch 1"),
            bash("mkdir m"),
            reply("Made."),
        ],
    }
    options = Options(model=MODEL, disallowed_tools=("Bash(mkdir:*)",))
    async with (
        ScriptedServer(by_prompt(script)) as server,
        room.open(server, options=options) as agent,
    ):
        await tell(agent, "go")

    made = [(room.work / name).exists() for name in "012m"]
    assert made == [False, True, False, False]
    denied = results(of(server.requests, "child")[4])[0]
    assert "forbids it" in denied[1]


async def test_a_rule_about_agents_holds_for_those_that_a_skill_starts(
    room: Room, mine: Path
) -> None:
    skill(mine, "audit", context="fork", agent="Explore")
    options = Options(model=MODEL, disallowed_tools=("Agent(Explore)",))
    async with (
        ScriptedServer([using("audit"), reply("Done.")]) as server,
        room.open(server, options=options) as agent,
    ):
        await tell(agent, "go")

    ((_, text, error),) = results(server.requests[1])
    assert (text.startswith("Permission denied: Agent(Explore)"), error) == (True, True)


async def test_a_person_can_call_one_that_is_kept_from_the_model(room: Room, mine: Path) -> None:
    skill(mine, "ship", "Ship $1.", context="fork", disable_model_invocation="true")
    answers = [
        using("ship", "it"),
        reply("No."),
        using("ship", "it"),
        reply("Shipped."),
        reply("."),
    ]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        await tell(agent, "go")
        await tell(agent, "/ship it")

    assert results(server.requests[1])[0][2]
    assert "call the Skill tool with skill 'ship' and args 'it'" in str(sent(server.requests[2]))
    assert first_words(server.requests[3]).endswith("Ship it.")
    assert results(server.requests[4])[0][1].startswith("Shipped.")


async def test_a_model_may_be_given_by_its_short_name(room: Room, mine: Path) -> None:
    command(mine, "quick", "Be quick.", model="haiku")
    skill(mine, "audit", context="fork", model="haiku")
    answers = [reply("Done."), using("audit"), reply("Audited."), reply("Well.")]
    async with (
        ScriptedServer(answers) as server,
        room.open(server, environ={"ANTHROPIC_DEFAULT_HAIKU_MODEL": "claude-haiku-4-5"}) as agent,
    ):
        await tell(agent, "/quick")
        await tell(agent, "audit")

    models = [one.body["model"] for one in server.requests]
    assert models == ["claude-haiku-4-5", MODEL, "claude-haiku-4-5", MODEL]


async def test_the_skills_of_an_agent_are_told_before_its_prompt(room: Room, mine: Path) -> None:
    skill(mine, "style", "Write plainly.", allowed_tools="Bash(touch:*)")
    script: dict[str, list[Answer]] = {
        "go": [reply(hand("child", kind="worker")), reply("Done.")],
        "child": [bash("touch 1"), reply("Made.")],
    }
    options = Options(model=MODEL, agents=(worker(skills=("style",)),))
    async with (
        ScriptedServer(by_prompt(script)) as server,
        room.open(server, options=options) as agent,
    ):
        await tell(agent, "go")

    told = str(sent(of(server.requests, "child")[0]))
    assert told.index("Write plainly.") < told.index("'child'")
    assert (room.work / "1").exists()


async def test_an_agent_is_not_started_without_a_skill_of_its_type(room: Room) -> None:
    options = Options(model=MODEL, agents=(worker(skills=("style",)),))
    async with (
        ScriptedServer([reply(hand("child", kind="worker")), reply("Done.")]) as server,
        room.open(server, options=options) as agent,
    ):
        await tell(agent, "go")

    assert results(server.requests[1])[0][1:] == (
        "There is no skill style. There are: none.",
        True,
    )


async def test_the_memory_of_a_type_is_told_to_it_and_written_by_it_alone(
    room: Room, mine: Path
) -> None:
    folder = mine / "agent-memory" / "worker"
    folder.mkdir(parents=True)
    (folder / "MEMORY.md").write_text("The tests are slow.")

    def write(name: str) -> Answer:
        given = {"file_path": str(folder / name), "content": "Known."}
        return reply(tool_use("Write", given))

    script: dict[str, list[Answer]] = {
        "go": [reply(hand("child", kind="worker")), write("2.md"), reply("Done.")],
        "child": [write("1.md"), reply("Kept.")],
    }
    options = Options(model=MODEL, agents=(worker(memory=MemoryScope.PROJECT),))
    async with (
        ScriptedServer(by_prompt(script)) as server,
        room.open(server, options=options) as agent,
    ):
        await tell(agent, "go")

    system = [str(of(server.requests, who)[0].body["system"]) for who in ("child", "go")]
    assert ["The tests are slow." in one for one in system] == [True, False]
    assert sorted(path.name for path in folder.iterdir()) == ["1.md", "MEMORY.md"]


async def test_notes_of_a_folder_are_told_to_each_agent_that_works_there(room: Room) -> None:
    (room.work / "shop").mkdir()
    (room.work / "shop" / "CLAUDE.md").write_text("Prices are in cents.")
    (room.work / "shop" / "x.py").write_text("x")
    read = reply(tool_use("Read", {"file_path": "shop/x.py"}))
    script = {"go": [reply(hand("child")), read, reply("Done.")], "child": [read, reply("Read.")]}
    async with ScriptedServer(by_prompt(script)) as server, room.open(server) as agent:
        await tell(agent, "go")

    for who, before in (("child", 1), ("go", 2)):
        told = [str(sent(one)).count("Prices are in cents.") for one in of(server.requests, who)]
        assert told == [0] * before + [1]


async def test_who_has_no_tool_for_skills_is_told_of_none(room: Room, mine: Path) -> None:
    skill(mine, "style", description="How we write.")
    answers = [reply(hand("child", kind="Explore")), reply("Found."), reply("Done.")]
    async with ScriptedServer(answers) as server, room.open(server) as agent:
        await tell(agent, "go")

    told = ["How we write." in str(sent(one)) for one in server.requests]
    assert told == [True, False, True]
