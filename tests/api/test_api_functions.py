"""Functions of a program inside the agent: permissions, questions, hooks, endings, tools."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import interlock
from interlock import (
    AddContext,
    Allow,
    Block,
    ChangeInput,
    Deny,
    Ending,
    EndRun,
    PermissionRequest,
    Progress,
    UserAnswer,
    UserQuestion,
)
from interlock.scripted import reply, tool_use
from interlock.testing import scene
from tests.agent.support import results


def write(text: str = "x", path: str = "new.txt") -> Any:
    return tool_use("Write", {"file_path": path, "content": text})


# --- permissions -----------------------------------------------------------------------------


async def test_without_a_callback_the_model_is_told_how_the_program_could_permit_it(
    tmp_path: Path,
) -> None:
    async with scene([reply("", write()), reply("no")], tmp_path) as place:
        ran = await place.run("write")

    ((_, text, is_error),) = results(place.requests[1])
    assert is_error
    assert "allowed_tools=['Write']" in text
    assert [one.tool_name for one in ran.result.denials] == ["Write"]


async def test_the_callback_is_asked_and_allows(tmp_path: Path) -> None:
    asked: list[PermissionRequest] = []

    async def can_use(request: PermissionRequest) -> Allow:
        asked.append(request)
        assert "+x" in (await request.preview() or "")
        return Allow()

    async with scene([reply("", write()), reply("done")], tmp_path) as place:
        ran = await place.run("write", place.options(can_use_tool=can_use))

        assert (place.work / "new.txt").read_text() == "x"
        assert [(one.tool, one.input["content"]) for one in asked] == [("Write", "x")]
        assert asked[0].writes == ((place.work / "new.txt").resolve(),)
    assert ran.result.denials == ()


async def test_a_denial_is_told_to_the_model_in_the_callbacks_words(tmp_path: Path) -> None:
    async with scene([reply("", write()), reply("no")], tmp_path) as place:
        options = place.options(can_use_tool=lambda request: Deny("not on a Friday"))
        ran = await place.run("write", options)

    assert results(place.requests[1])[0][1] == "Permission denied: not on a Friday."
    assert ran.result.denials[0].tool_input["content"] == "x"


async def test_the_callback_may_change_the_input(tmp_path: Path) -> None:
    def can_use(request: PermissionRequest) -> Allow:
        return Allow(input={**request.input, "content": "changed"})

    async with scene([reply("", write()), reply("done")], tmp_path) as place:
        await place.run("write", place.options(can_use_tool=can_use))

        assert (place.work / "new.txt").read_text() == "changed"


async def test_a_changed_input_that_a_rule_denies_does_not_run(tmp_path: Path) -> None:
    def can_use(request: PermissionRequest) -> Allow:
        return Allow(input={**request.input, "file_path": "kept.txt"})

    async with scene([reply("", write()), reply("no")], tmp_path) as place:
        options = place.options(can_use_tool=can_use, disallowed_tools="Write(kept.txt)")
        await place.run("write", options)

        assert list(place.work.iterdir()) == []


async def test_always_spares_the_next_question(tmp_path: Path) -> None:
    asked: list[str] = []

    def can_use(request: PermissionRequest) -> Allow:
        asked.append(request.always)
        return Allow(always=True)

    answers = [reply("", write()), reply("", write("y", "other.txt")), reply("done")]
    async with scene(answers, tmp_path) as place:
        await place.run("write", place.options(can_use_tool=can_use))

        assert (place.work / "other.txt").read_text() == "y"
    assert len(asked) == 1


async def test_a_denial_can_stop_the_run(tmp_path: Path) -> None:
    async with scene([reply("", write())], tmp_path) as place:
        options = place.options(can_use_tool=lambda request: Deny("enough", stop=True))
        ran = await place.run("write", options)

    assert ran.result.reason == "aborted_tools"


wrong: Any = 5  # where no type checker would let it pass


@pytest.mark.parametrize(
    "said",
    [None, "yes", 1, Allow(input=wrong), Allow(updates=wrong), Allow(always=wrong), Deny(wrong)],
)
async def test_a_callback_that_says_neither_yes_nor_no_denies(
    tmp_path: Path, said: object
) -> None:
    async with scene([reply("", write()), reply("no")], tmp_path) as place:
        options = place.options(can_use_tool=lambda request: said)
        ran = await place.run("write", options)

    text = results(place.requests[1])[0][1]
    assert "the permission callback broke: TypeError: answer" in text
    assert "return Allow(), Deny('why'), True or False" in text
    assert [one.tool_name for one in ran.result.denials] == ["Write"]


async def test_an_input_that_is_no_json_is_an_answer_that_broke(tmp_path: Path) -> None:
    async with scene([reply("", write()), reply("no")], tmp_path) as place:
        options = place.options(
            can_use_tool=lambda request: Allow(input={"file_path": "a", "content": object()})
        )
        ran = await place.run("write", options)

    assert "the permission callback broke" in results(place.requests[1])[0][1]
    assert len(ran.result.denials) == 1


async def test_a_callback_that_raises_denies(tmp_path: Path) -> None:
    def can_use(request: PermissionRequest) -> bool:
        raise RuntimeError("the desk is closed")

    async with scene([reply("", write()), reply("no")], tmp_path) as place:
        await place.run("write", place.options(can_use_tool=can_use))

    assert (
        "the permission callback broke: RuntimeError: the desk is closed"
        in (results(place.requests[1])[0][1])
    )


async def test_the_program_answers_what_the_model_asks(tmp_path: Path) -> None:
    def on_question(questions: Sequence[UserQuestion]) -> list[UserAnswer]:
        return [UserAnswer(chosen=(one.options[0].label,)) for one in questions]

    options = [{"label": "red", "description": ""}, {"label": "blue", "description": ""}]
    question = {"question": "Which?", "header": "colour", "options": options}
    ask = tool_use("AskUserQuestion", {"questions": [question]})
    async with scene([reply("", ask), reply("red it is")], tmp_path) as place:
        await place.run("paint", place.options(on_question=on_question))

    assert "The user chose: red." in results(place.requests[1])[0][1]


# --- hooks -----------------------------------------------------------------------------------


async def test_a_hook_denies_what_its_matcher_names(tmp_path: Path) -> None:
    @interlock.hook("PreToolUse", matcher="Write")
    def never(told: interlock.HookInput) -> Deny:
        return Deny(f"no {told['tool_name']} here")

    async with scene([reply("", write()), reply("no")], tmp_path) as place:
        options = place.options(hooks=[never], permission_mode="bypassPermissions")
        await place.run("write", options)

    assert "no Write here" in results(place.requests[1])[0][1]


async def test_a_hook_changes_an_input_and_adds_words(tmp_path: Path) -> None:
    @interlock.hook("PreToolUse", matcher="Write")
    async def shout(told: interlock.HookInput) -> ChangeInput:
        return ChangeInput({**told["tool_input"], "content": "X"})

    @interlock.hook("PostToolUse")
    async def remark(told: interlock.HookInput) -> AddContext:
        return AddContext("written in capitals")

    async with scene([reply("", write()), reply("done")], tmp_path) as place:
        options = place.options(hooks=[shout, remark], permission_mode="acceptEdits")
        await place.run("write", options)

        assert (place.work / "new.txt").read_text() == "X"
    assert "written in capitals" in results(place.requests[1])[0][1]


async def test_a_stop_hook_sends_the_model_back_to_work(tmp_path: Path) -> None:
    blocks = [Block("run the tests first")]

    @interlock.hook("Stop")
    def tested(told: interlock.HookInput) -> Block | None:
        return blocks.pop() if blocks else None

    async with scene([reply("done"), reply("tested and done")], tmp_path) as place:
        ran = await place.run("go", place.options(hooks=[tested]))

    ran.way.took("recovery.stop_hooks", "preprocess", because="stop_hook_blocking", times=1)
    assert ran.result.text == "tested and done"


async def test_a_hook_ends_the_run(tmp_path: Path) -> None:
    @interlock.hook("PostToolUse")
    def enough(told: interlock.HookInput) -> EndRun:
        return EndRun("seen enough")

    async with scene([reply("", tool_use("Glob", {"pattern": "*"}))], tmp_path) as place:
        ran = await place.run("go", place.options(hooks=[enough]))

    ran.way.ended("hook_stopped")
    assert ran.result.ok


@pytest.mark.parametrize("said", [5, "no", Deny(wrong), ChangeInput(wrong), [Deny("no")]])
async def test_an_answer_of_no_kind_is_a_hook_that_broke(tmp_path: Path, said: Any) -> None:
    @interlock.hook("PreToolUse")
    def odd(told: interlock.HookInput) -> Any:
        return said

    async with scene([reply("", write()), reply("no")], tmp_path) as place:
        await place.run("write", place.options(hooks=[odd], allowed_tools="Write"))

    ((_, text, is_error),) = results(place.requests[1])
    assert is_error
    assert "it returned answer" in text


async def test_an_answer_that_means_nothing_there_is_a_hook_that_broke(tmp_path: Path) -> None:
    @interlock.hook("Stop")
    def wrong(told: interlock.HookInput) -> Allow:
        return Allow()

    async with scene([reply("done")], tmp_path) as place:
        ran = await place.run("go", place.options(hooks=[wrong]))

    ran.way.ended("stop_hook_prevented")
    assert "Allow means nothing at Stop" in (ran.result.error or "")


# --- endings ---------------------------------------------------------------------------------


async def test_an_ending_of_ones_own_stops_between_two_turns_and_has_its_name(
    tmp_path: Path,
) -> None:
    def searched(progress: Progress) -> bool:
        return progress.called("Glob") and progress.turn == 2

    glob = reply("", tool_use("Glob", {"pattern": "*"}))
    async with scene([glob, glob], tmp_path) as place:
        ran = await place.run("search", place.options(endings=[Ending("searched", searched)]))

    ran.way.took("tools", "hook_stopped", because="hook_says_stop").went_on("next_turn")
    assert (ran.result.ending, ran.result.reason, ran.result.ok) == (
        "searched",
        "hook_stopped",
        True,
    )


async def test_a_rule_sees_what_was_said_done_and_paid(tmp_path: Path) -> None:
    seen: list[Progress] = []

    def watch(progress: Progress) -> bool:
        seen.append(progress)
        return False

    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "a.txt").write_text("alpha")
    answers = [reply("Look:", tool_use("Read", {"file_path": "a.txt"})), reply("alpha")]
    async with scene(answers, tmp_path) as place:
        ran = await place.run("read", place.options(endings=[Ending("watch", watch)]))

    (progress,) = seen
    assert (progress.text, [call.name for call in progress.calls]) == ("Look:", ["Read"])
    assert "alpha" in progress.results[0].text
    assert progress.messages[0].text == "read"
    assert progress.cost is not None
    assert progress.cost > 0
    assert ran.result.ending == "completed"


async def test_a_rule_that_breaks_does_not_let_the_run_go_on(tmp_path: Path) -> None:
    def broken(progress: Progress) -> bool:
        raise KeyError("limit")

    async with scene([reply("", tool_use("Glob", {"pattern": "*"}))], tmp_path) as place:
        ran = await place.run("search", place.options(endings=[Ending("limit", broken)]))

    ran.way.ended("model_error")
    assert "the ending rule 'limit' broke: KeyError: 'limit'" in (ran.result.error or "")


# --- tools -----------------------------------------------------------------------------------


async def test_a_plain_function_becomes_a_tool_with_the_careful_defaults(tmp_path: Path) -> None:
    def dice(sides: int = 6) -> str:
        """Throws a die."""
        return f"4 of {sides}"

    call = tool_use("dice", {"sides": "8"})
    async with scene([reply("", call), reply("four")], tmp_path) as place:
        options = place.options(tools=[dice], built_in_tools=(), allowed_tools="dice")
        await place.run("throw", options)

    assert [one["name"] for one in place.requests[0].body["tools"]] == ["dice"]
    assert results(place.requests[1])[0][1] == "4 of 8"


async def test_a_server_in_this_process_brings_its_tools(tmp_path: Path) -> None:
    from mcp.server import MCPServer

    server = MCPServer("clock")

    @server.tool()
    def now() -> str:
        """The time."""
        return "noon"

    async with scene([reply("", tool_use("mcp__clock__now", {})), reply("noon")], tmp_path) as p:
        options = p.options(mcp_servers={"clock": server}, allowed_tools="mcp__clock__now")
        async with interlock.Client(options) as client:
            result = await client.run("what time is it?")
            (status,) = client.servers()

    assert results(p.requests[1])[0][1] == "noon"
    assert (status.name, status.status) == ("clock", "connected")
    assert result.text == "noon"
