"""What keeps the window from being full is run again too: levels, counts, summaries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from attrs import evolve

from interlock.recording import beside, read_recording
from interlock.recording.otherwise import otherwise
from interlock.recording.rerun import render, rerun
from interlock.scripted import Answer, ScriptedServer, SentRequest, reply, tool_use
from phases.world.loop import Run
from tests.agent.support import Room, tell

READ = tool_use("Read", {"file_path": "large.txt"})

# A window in which a few large files are many.
SMALL = {
    "INTERLOCK_CONTEXT_WINDOW": "40000",
    "INTERLOCK_WINDOW_RESERVE": "4000",
    "INTERLOCK_SUMMARY_RESERVE": "2000",
    "INTERLOCK_TOOL_OUTPUT_CAP": "20000",
}
HALF = {"INTERLOCK_COMPACT_THRESHOLD": "0.4"}


BY_FEATURE = {
    "microcompact": {
        "INTERLOCK_MICROCOMPACT_SHARE": "0.2",
        "INTERLOCK_MICROCOMPACT_KEEP_TURNS": "2",
        "INTERLOCK_MICROCOMPACT_LEAST_TURNS": "1",
        "INTERLOCK_MICROCOMPACT_GROWTH": "0.05",
    },
    "collapse": {
        "INTERLOCK_COLLAPSE_STAGE_SHARE": "0.2",
        "INTERLOCK_COLLAPSE_COMMIT_SHARE": "0.3",
        "INTERLOCK_COLLAPSE_KEEP_TURNS": "1",
        "INTERLOCK_COLLAPSE_WORTH": "0.1",
    },
    "result_budget": {"INTERLOCK_TURN_OUTPUT_CAP": "9000"},
}
EARLY = {"INTERLOCK_COMPACT_THRESHOLD": "0.4"}


def reader(request: SentRequest) -> Answer:
    """A model that reads the file six times for each prompt, and summarises when asked to."""
    said = str(request.body["messages"][-1])
    if "Summar" in said or "summary that will take" in said:
        return reply("A summary.")
    results = str(request.body["messages"]).count("tool_result")
    return reply("Done.") if results % 6 == 5 else reply(READ)


async def reading(room: Room, *, prompts: int = 1, **environ: str) -> list[Path]:
    """Recordings of a session that reads a large file until the window fills."""
    (room.work / "large.txt").write_text("a line of many words that say little\n" * 900)
    async with (
        ScriptedServer(reader) as server,
        room.open(server, environ={**SMALL, **environ}) as agent,
    ):
        runs = [await tell(agent, f"read it {number}") for number in range(prompts)]
        return [beside(agent.paths.trace(run.summary.run_id)) for run in runs]


async def again(path: Path, folder: Path) -> str:
    folder.mkdir()
    return render(await rerun(read_recording(path), folder))


async def test_compactions_of_each_prompt_are_made_again(room: Room, tmp_path: Path) -> None:
    paths = await reading(room, prompts=3, **EARLY)

    parted = [await again(path, tmp_path / path.name) for path in paths]

    assert parted == ["", "", ""]
    asked = [line for path in paths for line in read_recording(path).lines]
    assert sum(line.get("on") == "context.refusal" for line in asked) > 1
    assert sum(line.get("on") == "context.keepsakes" for line in asked) > 1


@pytest.mark.parametrize("feature", ["microcompact", "collapse", "result_budget"])
async def test_so_is_what_the_lighter_levels_do(room: Room, tmp_path: Path, feature: str) -> None:
    others = {"microcompact", "collapse", "result_budget"} - {feature}
    environ = {f"INTERLOCK_{each.upper()}": "off" for each in others}
    paths = await reading(room, prompts=3, **environ, **BY_FEATURE[feature])

    parted = [await again(path, tmp_path / path.name) for path in paths]

    assert parted == ["", "", ""]
    assert any(f'"level":"{feature}"' in read_recording(path).trace for path in paths)


async def test_another_threshold_shows_where_a_run_would_have_been_compacted(
    room: Room,
) -> None:
    (path,) = await reading(room)

    found = await otherwise(read_recording(path), threshold(0.4))

    assert found is not None
    assert (found.state, found.now) == ("preprocess", "is about to compact the history")


async def test_a_threshold_that_is_not_reached_changes_nothing(room: Room) -> None:
    (path,) = await reading(room)

    assert await otherwise(read_recording(path), threshold(0.89)) is None


def threshold(share: float) -> Callable[[Run], Run]:
    return lambda run: evolve(run, limits=evolve(run.limits, compact_threshold=share))
