"""Command hooks as processes: what goes in and out, their limits, and what is left of them."""

from __future__ import annotations

from pathlib import Path
from time import monotonic

import anyio
import orjson
import pytest

from interlock.hooks import Event, Who
from interlock.hooks.command import MOST_OUTPUT
from interlock.hooks.events import Effect
from interlock.hooks.outcome import MOST_TEXT
from phases.world.updates import HookEnded, HookStarted
from tests.agent.support import living
from tests.hooks.support import bench, commands
from tests.waiting import until

# A tree that takes no TERM: the shell, a child in its session and one in a session of its own.
STUBBORN = "trap '' TERM; setsid sleep 61 & sleep 62 & echo > started; sleep 60; sleep 60"


async def test_it_gets_the_event_as_json_on_its_input(tmp_path: Path) -> None:
    async with bench(tmp_path, commands("cat > told.json")) as at:
        await at.ask(tool_name="Bash", tool_input={"command": "ls"}, tool_use_id="t1")

    assert orjson.loads((tmp_path / "told.json").read_bytes()) == {
        "session_id": "s",
        "transcript_path": str(tmp_path / "s.jsonl"),
        "cwd": str(tmp_path),
        "permission_mode": "default",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
        "tool_use_id": "t1",
    }


async def test_an_agents_hook_is_told_which_agent(tmp_path: Path) -> None:
    who = Who(cwd="/", permission_mode="plan", agent_id="a1", agent_type="Explore")
    line = "cat > $CLAUDE_PROJECT_DIR/told.json; pwd > $INTERLOCK_PROJECT_DIR/where"

    async with bench(tmp_path, commands(line)) as at:
        await at.hooks.ask(Event.PRE_TOOL_USE, "Bash", {}, who)

    told = orjson.loads((tmp_path / "told.json").read_bytes())
    assert (told["agent_id"], told["agent_type"]) == ("a1", "Explore")
    assert (told["cwd"], told["permission_mode"]) == ("/", "plan")
    assert (tmp_path / "where").read_text() == "/\n"


async def test_one_whose_folder_is_gone_runs_in_the_projects(tmp_path: Path) -> None:
    async with bench(tmp_path, commands("pwd >&2; exit 2")) as at:
        said = await at.hooks.ask(Event.PRE_TOOL_USE, "Bash", {}, Who(cwd=str(tmp_path / "gone")))

    assert said.reasons(Effect.DENY) == (str(tmp_path),)


async def test_a_large_input_and_a_large_output_do_not_wait_for_each_other(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path, commands("cat; cat >&2; exit 2")) as at:
        with anyio.fail_after(20):
            await at.ask(tool_input={"content": "x" * 3_000_000})

    (ended,) = [one for one in at.shown if isinstance(one, HookEnded)]
    assert (ended.exit_code, len(ended.stdout)) == (2, MOST_OUTPUT)


@pytest.mark.parametrize("line", ["exec 0<&-; sleep 0.05", "true"])
async def test_an_input_that_is_closed_early_is_no_crash(line: str, tmp_path: Path) -> None:
    async with bench(tmp_path, commands(line)) as at:
        said = await at.ask(tool_input={"content": "x" * 3_000_000})

    assert said.words[0].broken is None


async def test_a_long_output_is_read_to_its_end_and_its_head_is_kept(tmp_path: Path) -> None:
    lines = commands("yes | head -c 5000000; echo > done", event="UserPromptSubmit")

    async with bench(tmp_path, lines) as at:
        said = await at.ask(Event.USER_PROMPT_SUBMIT, None)

    assert (tmp_path / "done").exists()
    assert said.context is not None
    assert MOST_TEXT < len(said.context) < MOST_TEXT + 100
    assert said.context.endswith("characters]")


async def test_a_json_answer_larger_than_what_is_read_is_a_broken_one(tmp_path: Path) -> None:
    line = """printf '{"reason": "'; yes | head -c 2000000; printf '"}'"""

    async with bench(tmp_path, commands(line)) as at:
        said = await at.ask()

    assert said.words[0].broken == "printed more JSON than is read"
    assert said.words[0].effect is Effect.ASK


async def test_bytes_that_are_no_text_are_replaced(tmp_path: Path) -> None:
    async with bench(tmp_path, commands(r"printf 'a\201\360b' >&2; exit 2")) as at:
        said = await at.ask()

    assert said.reasons(Effect.DENY) == ("a��b",)


async def test_at_its_limit_the_whole_tree_is_ended(tmp_path: Path) -> None:
    hooks = commands({"command": STUBBORN, "timeout": 0.4})

    async with bench(tmp_path, hooks) as at:
        began = monotonic()
        said = await at.ask()
        took = monotonic() - began

        assert living(tmp_path) == []
        assert said.words[0].broken == "was ended at its time limit of 0.4 s"
        assert said.words[0].effect is Effect.ASK
        assert took < 20  # not the minute that it sleeps


async def test_an_interrupt_ends_the_whole_tree(tmp_path: Path) -> None:
    async with bench(tmp_path, commands(STUBBORN)) as at:
        async with anyio.create_task_group() as tasks:

            async def asked() -> None:
                with at.interrupt.scope():
                    await at.ask()

            tasks.start_soon(asked)
            with anyio.fail_after(20):
                await until((tmp_path / "started").exists)
            at.interrupt.request()

        assert living(tmp_path) == []
        (ended,) = [one for one in at.shown if isinstance(one, HookEnded)]
        assert (ended.outcome, ended.exit_code) == ("cancelled", None)


async def test_a_child_left_behind_is_not_waited_for_and_ends_with_the_session(
    tmp_path: Path,
) -> None:
    async with bench(tmp_path, commands("sleep 60 & echo why >&2; exit 2")) as at:
        with anyio.fail_after(20):
            said = await at.ask()

        assert said.reasons(Effect.DENY) == ("why",)
        assert len(living(tmp_path)) == 1

    assert living(tmp_path) == []


async def test_hooks_of_one_event_run_at_the_same_time(tmp_path: Path) -> None:
    # Each waits for the other: one after the other they would be at their limit.
    meet = "touch {0}; until [ -e {1} ]; do sleep 0.01; done; echo {0} >&2; exit 2"
    hooks = commands(*({"command": meet.format(*ab), "timeout": 20} for ab in ("ab", "ba")))

    async with bench(tmp_path, hooks) as at:
        said = await at.ask()

    assert said.reasons(Effect.DENY) == ("a", "b")


async def test_what_stands_there_twice_runs_once_with_the_stricter_failure(
    tmp_path: Path,
) -> None:
    line = "echo ran >> runs; exit 1"
    hooks = (
        *commands({"command": line, "onFailure": "continue"}),
        *commands({"command": line, "onFailure": "block"}, matcher="Bash"),
    )

    async with bench(tmp_path, hooks) as at:
        said = await at.ask()

    assert (tmp_path / "runs").read_text() == "ran\n"
    assert [word.effect for word in said.words] == [Effect.DENY]


async def test_a_command_too_long_to_start_has_broken(tmp_path: Path) -> None:
    async with bench(tmp_path, commands("true " + "x" * 3_000_000)) as at:
        said = await at.ask()

    assert said.words[0].effect is Effect.ASK
    assert "could not be started" in (said.words[0].broken or "")


async def test_nothing_is_left_open(tmp_path: Path) -> None:
    async with bench(tmp_path, commands("echo hi", "./none", "exec 0<&-")) as at:
        await at.ask()
        before = len(list(Path("/proc/self/fd").iterdir()))
        for _ in range(10):
            await at.ask()

        assert len(list(Path("/proc/self/fd").iterdir())) <= before


async def test_who_watches_is_told_of_each_command(tmp_path: Path) -> None:
    async with bench(tmp_path, commands("echo out; echo err >&2")) as at:
        await at.ask()

    started, ended = at.shown
    assert isinstance(started, HookStarted)
    assert ended == HookEnded(
        id=started.id,
        event="PreToolUse",
        name="PreToolUse:Bash",
        outcome="success",
        stdout="out\n",
        stderr="err\n",
        exit_code=0,
    )


async def test_a_broken_guard_is_told_with_its_place_and_what_would_help(tmp_path: Path) -> None:
    async with bench(tmp_path, commands("./none")) as at:
        await at.ask()

    (line,) = at.notices
    assert line.startswith("PreToolUse hook `./none` (settings.json:1: hooks.PreToolUse[0].hooks")
    assert "exit code 127" in line
    assert '"onFailure": "continue"' in line
