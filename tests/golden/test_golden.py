"""Old runs, decided once more: what was decided then is what is decided now."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from attrs import evolve

from fsm import Machine, Trace, name_of, read_trace
from fsm.replay import Replayed, replay
from interlock import records
from interlock.recording import read_recording
from interlock.recording.rerun import render, rerun
from interlock.table import LOOP
from phases.world.loop import Loop
from phases.world.states import State
from tests.golden.record import FOLDER, write
from tests.golden.stories import STORIES
from tests.recording.stories import RUNS


def replayed(trace: Trace, machine: Machine[Loop] = LOOP) -> Replayed[Loop]:
    start = records.loop_from(trace.header.start)
    return replay(machine, start, records.steps_of(trace, LOOP), changes=records.changes)


@pytest.mark.parametrize("name", STORIES)
def test_a_golden_run_replays(name: str) -> None:
    trace = read_trace(FOLDER / f"{name}.trace.jsonl")

    again = replayed(trace)

    assert again.divergence is None
    assert again.steps == len(trace)
    assert trace.ending is not None


@pytest.mark.parametrize("name", STORIES)
def test_a_story_played_again_is_the_golden_run_to_the_byte(name: str, tmp_path: Path) -> None:
    fresh = tmp_path / f"{name}.trace.jsonl"

    write(STORIES[name](), fresh)

    assert fresh.read_bytes() == (FOLDER / fresh.name).read_bytes()


@pytest.mark.parametrize("name", RUNS)
async def test_a_golden_recording_runs_again_to_the_byte(name: str, tmp_path: Path) -> None:
    recording = read_recording(FOLDER / f"{name}.recording.jsonl")

    again = await rerun(recording, tmp_path)

    assert render(again) == ""
    assert again.steps > 3


def test_no_golden_file_is_left_over() -> None:
    traces = {path.name for path in FOLDER.glob("*.trace.jsonl")}
    recordings = {path.name for path in FOLDER.glob("*.recording.jsonl")}

    assert traces == {f"{name}.trace.jsonl" for name in STORIES}
    assert recordings == {f"{name}.recording.jsonl" for name in RUNS}


def test_a_guard_value_that_was_altered_is_found_at_its_step(tmp_path: Path) -> None:
    lines = (FOLDER / "reactive_compact.trace.jsonl").read_bytes().splitlines()
    altered = next(n for n, line in enumerate(lines) if b"prompt_too_long_withheld" in line)
    record = orjson.loads(lines[altered])
    record["tried"][0][2] = not record["tried"][0][2]
    lines[altered] = orjson.dumps(record)
    path = tmp_path / "altered.trace.jsonl"
    path.write_bytes(b"\n".join([*lines, b""]))

    again = replayed(read_trace(path))

    assert again.divergence is not None
    assert again.divergence.sequence == record["sequence"]
    assert again.divergence.changed_minds == ("prompt_too_long_withheld",)


def test_an_outcome_that_was_altered_is_found_at_its_step(tmp_path: Path) -> None:
    lines = (FOLDER / "worked_example.trace.jsonl").read_bytes().splitlines()
    altered = next(n for n, line in enumerate(lines) if b'"Checked"' in line)
    record = orjson.loads(lines[altered])
    record["payload"] = {"aborted": True}
    lines[altered] = orjson.dumps(record)
    path = tmp_path / "altered.trace.jsonl"
    path.write_bytes(b"\n".join([*lines, b""]))

    again = replayed(read_trace(path))

    assert again.divergence is not None
    assert again.divergence.sequence == record["sequence"]
    assert again.divergence.recomputed.destination == State.ABORTED_STREAMING


def without(source: State, guard: str) -> Machine[Loop]:
    """The table less one guard."""
    return LOOP.with_edges(
        evolve(e, guards=tuple(g for g in e.guards if name_of(g) != guard))
        if e.source is source
        else e
        for e in LOOP.edges
    )


@pytest.mark.parametrize(
    ("source", "guard"),
    [
        (State.RECOVERY_CLASSIFY, "last_reason_not_collapse_drain"),
        (State.RECOVERY_CLASSIFY, "reactive_compact_left"),
        (State.RECOVERY_CLASSIFY, "can_escalate"),
        (State.RECOVERY_CLASSIFY, "recoveries_left"),
        (State.RECOVERY_STOP_HOOKS, "blocks_left"),
        (State.RECOVERY_TOKEN_BUDGET, "still_productive"),
        (State.API_CALL, "attempts_left"),
        (State.API_CALL, "fallback_model_left"),
        (State.TOOLS, "aborted"),
        (State.CONTINUATION, "turn_limit_reached"),
    ],
)
def test_a_table_that_lost_a_guard_no_longer_replays_the_golden_runs(
    source: State, guard: str
) -> None:
    traces = [read_trace(FOLDER / f"{name}.trace.jsonl") for name in STORIES]

    again = [replayed(trace, without(source, guard)) for trace in traces]

    assert any(each.divergence is not None for each in again)
