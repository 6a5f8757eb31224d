"""The pytest fixture: a run becomes a golden test, and fails side by side when it is another."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.recording import beside
from interlock.testing.golden import Golden
from tests.agent.support import Room
from tests.recording.stories import hard

pytest_plugins = ["pytester"]


async def recorded(room: Room) -> Path:
    """The trace of a run that was recorded."""
    await hard(room)
    return next(room.home.rglob("*.trace.jsonl"))


async def test_the_first_time_a_run_is_kept_and_then_it_is_run_again(
    room: Room, tmp_path: Path
) -> None:
    golden, trace = Golden(folder=tmp_path / "golden"), await recorded(room)

    await golden.keeps("hard", trace)
    beside(trace).unlink()
    again = await golden.keeps("hard", trace)

    assert again.identical
    assert [path.name for path in golden.folder.iterdir()] == ["hard.recording.jsonl"]


async def test_another_run_fails_the_test_side_by_side(room: Room, tmp_path: Path) -> None:
    golden = Golden(folder=tmp_path / "golden")
    await golden.keeps("hard", await recorded(room))
    path = golden.path("hard")
    path.write_bytes(path.read_bytes().replace(b'"on":"clock.jitter"', b'"on":"clock.shiver"'))

    with pytest.raises(pytest.fail.Exception) as failed:
        await golden.runs("hard")

    assert "is another run now:\nwhat is asked of the world parts at answer " in str(failed.value)
    assert "  recorded  clock.shiver\n  now       clock.jitter\n" in str(failed.value)


async def test_a_run_that_was_not_recorded_says_how_to(tmp_path: Path) -> None:
    golden = Golden(folder=tmp_path / "golden")

    with pytest.raises(pytest.fail.Exception, match="open the agent without record=False"):
        await golden.keeps("x", tmp_path / "x.trace.jsonl")


def test_a_test_file_of_a_user_runs_its_golden_runs(pytester: pytest.Pytester) -> None:
    kept = Path(__file__).parent / "versions" / "1.recording.jsonl"
    (pytester.mkdir("golden") / "kept.recording.jsonl").write_bytes(kept.read_bytes())
    pytester.makeconftest('pytest_plugins = ["interlock.testing.golden"]')
    pytester.makepyfile(
        "import asyncio\n"
        "def test_it(golden):\n"
        "    assert asyncio.run(golden.runs('kept')).identical\n"
    )

    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")

    result.assert_outcomes(passed=1)
