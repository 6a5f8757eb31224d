"""What users get for their own tests: docs/testing.md is run, and each part can fail."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from interlock import AgentOptions
from interlock.scripted import reply, status, tool_use
from interlock.testing import FakeClock, Way, call, play, says, scene, tool
from tests.api.pages import python_in

pytest_plugins = ["pytester"]
PLUGINS = 'pytest_plugins = ["interlock.testing.edges", "interlock.testing.golden"]\n'
ONE_RUN = (
    "from interlock.testing import play, says\n"
    "def test_it():\n"
    "    assert play(says('hi')).ending == 'completed'\n"
)


def test_the_page_is_a_test_file_that_passes(pytester: pytest.Pytester) -> None:
    *blocks, golden = python_in("testing.md")
    (plugins,) = (one for one in blocks if "pytest_plugins" in one)
    tests = [one for one in (*blocks, golden) if one is not plugins]
    pytester.makeconftest(plugins)
    pytester.makepyfile("\n".join(tests))

    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-o", "asyncio_mode=auto")

    result.assert_outcomes(passed=sum(one.count("def test_") for one in tests))
    result.stdout.re_match_lines([r"loop: \d+ of 69 edges taken, \d+ of 112 guard values seen"])


# --- the way ---------------------------------------------------------------------------------


def test_a_way_that_was_not_taken_fails_and_is_shown() -> None:
    way = Way.of(play(call(tool("Read")), says("done")))

    with pytest.raises(AssertionError) as failed:
        way.took("api_call", "recovery.backoff", because="retry")

    words = str(failed.value)
    assert words.startswith("the run never took api_call -> recovery.backoff because retry.")
    assert "  abort_check -> tools  (needs_follow_up)\n" in words


@pytest.mark.parametrize(
    "wrong",
    [
        lambda way: way.took("abort_check", "tools", times=2),
        lambda way: way.never_took("abort_check", "tools", because="needs_follow_up"),
        lambda way: way.reached("recovery.backoff"),
        lambda way: way.never("recovery.backoff", "tools"),
        lambda way: way.went_on("next_turn", "next_turn"),
        lambda way: way.ended("max_turns"),
    ],
)
def test_each_assertion_can_fail(wrong: object) -> None:
    way = Way.of(play(call(tool("Read")), says("done")))

    assert callable(wrong)
    with pytest.raises(AssertionError, match="Its way:"):
        wrong(way)


@pytest.mark.parametrize(
    ("wrong", "mend"),
    [
        (lambda way: way.never("recovery.back_off"), "did you mean 'recovery.backoff'?"),
        (lambda way: way.took("tools", "attachment"), "did you mean 'attachments'?"),
        (lambda way: way.ended("tools"), "no ending 'tools'"),
    ],
)
def test_a_state_that_does_not_exist_is_an_error(wrong: object, mend: str) -> None:
    assert callable(wrong)
    with pytest.raises(ValueError, match=re.escape(mend)):
        wrong(Way.of(play(says("done"))))


# --- the scene -------------------------------------------------------------------------------


async def test_a_scene_fails_for_answers_that_nobody_asked_for(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="it was asked 1 time, and had 2 answers"):
        async with scene([reply("Hello."), reply("never asked for")], tmp_path) as place:
            await place.run("hi")


async def test_a_scene_reads_no_settings_of_the_machine(tmp_path: Path) -> None:
    (tmp_path / "work" / ".interlock").mkdir(parents=True)
    settings = tmp_path / "work" / ".interlock" / "settings.json"
    settings.write_text('{"model": "another"}')

    async with scene([reply("Hello."), reply("Hello.")], tmp_path) as place:
        await place.run("hi")
        await place.run("hi", AgentOptions(setting_sources="project"))

    assert [one.body["model"] for one in place.requests] == ["claude-sonnet-4-5", "another"]


async def test_a_whole_agent_waits_by_the_clock_it_is_given(tmp_path: Path) -> None:
    clock = FakeClock()
    busy = status(529, "overloaded_error", "busy", headers={"retry-after": "20"})
    async with scene([busy, reply("Here.")], tmp_path) as place:
        ran = await place.run("hi", place.options(clock=clock))

    assert ran.result.ok
    assert clock.slept == [20]


async def test_a_scene_without_a_folder_leaves_none(tmp_path: Path) -> None:
    async with scene([reply("", tool_use("Glob", {"pattern": "*"})), reply("none")]) as place:
        ran = await place.run("look")
        ran.way.ended("completed")

    assert not place.home.exists()


# --- coverage --------------------------------------------------------------------------------


def test_missing_edges_are_named(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(PLUGINS)
    pytester.makepyfile(ONE_RUN)

    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "--edges=missing")

    result.stdout.re_match_lines([r"loop: 7 of 69 edges taken.*", r"  never taken: .*"])


@pytest.mark.parametrize(("least", "code"), [(7, 0), (8, 1)])
def test_too_few_edges_fail_the_run(pytester: pytest.Pytester, least: int, code: int) -> None:
    pytester.makeconftest(PLUGINS)
    pytester.makepyfile(ONE_RUN)

    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", f"--edges-least={least}")

    assert result.ret == code
