"""A recorded run is run again through the real phases, and is the same to the byte."""

from __future__ import annotations

import itertools
from copy import deepcopy
from pathlib import Path

import orjson
import pytest
from attrs import evolve
from hypothesis import HealthCheck, Phase, given, settings

from interlock.options import Options, PermissionMode
from interlock.recording import Recording, read_recording
from interlock.recording.rerun import render, rerun
from interlock.scripted import ScriptedServer, reply
from tests.agent.stops import STOPS, Dealt, Stop, stopped, work
from tests.agent.support import MODEL, Room, tell
from tests.recording.stories import RECORD, hard, recordings

_numbers = itertools.count(1)


@pytest.fixture
async def recording(room: Room) -> Recording:
    return await hard(room)


def fresh(folder: Path) -> Path:
    folder.mkdir()
    return folder


@pytest.mark.parametrize("prompts", [1, 3])
async def test_a_run_with_every_fault_is_the_same_to_the_byte(
    room: Room, tmp_path: Path, prompts: int
) -> None:
    recording = await hard(room, prompts=prompts)

    again = await rerun(recording, fresh(tmp_path / "again"))

    assert render(again) == ""
    assert (again.transcript, again.trace) == (recording.transcript, recording.trace)
    assert again.notes == ()
    reasons = ["model_fallback", "reactive_compact_retry", "next_turn", "aborted_streaming"]
    assert all(reason in again.trace for reason in reasons)


async def test_it_is_the_same_a_hundred_times(recording: Recording, tmp_path: Path) -> None:
    folders = [fresh(tmp_path / str(number)) for number in range(100)]

    again = [await rerun(recording, folder) for folder in folders]

    assert all(each.identical for each in again)
    assert {each.transcript for each in again} == {recording.transcript}


@settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
@given(stop=STOPS)
async def test_a_run_that_is_stopped_at_any_moment_is_the_same_too(
    tmp_path: Path, stop: Stop
) -> None:
    room = Room.made(fresh(tmp_path / str(next(_numbers))))
    dealt = Dealt()
    options = Options(
        model=MODEL,
        include_partial_messages=True,
        permission_mode=PermissionMode.BYPASS_PERMISSIONS,
    )
    async with (
        ScriptedServer(dealt) as server,
        room.open(server, options=options, environ=RECORD) as agent,
    ):
        dealt.deal(*work(room, drip_s=0.0005))
        await stopped(agent, server, stop)
    (path,) = recordings(room.home)

    again = await rerun(read_recording(path), fresh(room.work / "again"))

    assert render(again) == ""


async def test_a_request_that_would_be_another_is_found_where_it_leaves(
    recording: Recording, tmp_path: Path
) -> None:
    altered = deepcopy(recording.lines)
    results = [line for line in altered if line.get("message", {}).get("kind") == "result"]
    said = [result["message"]["content"][0]["content"][0] for result in results]
    reads = [each for each in said if "alpha" in each["text"]]  # calls end in any order
    assert reads
    for each in reads:
        each["text"] = each["text"].replace("alpha", "omega")  # of the same size

    again = await rerun(evolve(recording, lines=altered), fresh(tmp_path / "again"))

    assert not again.identical
    assert again.difference is not None
    assert again.difference.file == "transcript"
    assert "omega" in render(again)


async def test_an_answer_that_is_missing_is_found_in_its_place(
    recording: Recording, tmp_path: Path
) -> None:
    lines = [line for line in recording.lines if line.get("on") != "clock.sleep"]

    again = await rerun(evolve(recording, lines=tuple(lines)), fresh(tmp_path / "again"))

    assert again.parting is not None
    assert again.parting.now == "clock.sleep"
    assert "recorded  clock.time" in render(again)


async def test_settings_that_are_new_since_are_told_and_change_nothing(
    recording: Recording, tmp_path: Path
) -> None:
    header, _, rest = recording.trace.partition("\n")
    said = orjson.loads(header)
    del said["start"]["run"]["limits"]["max_sleep_s"]
    older = evolve(recording, trace=f"{orjson.dumps(said).decode()}\n{rest}")

    again = await rerun(older, fresh(tmp_path / "again"))

    assert again.identical
    assert again.notes == ("settings that are new since: max_sleep_s",)


async def test_where_recording_is_off_a_run_leaves_none(room: Room) -> None:
    off = {"INTERLOCK_RECORD": "off"}
    async with (
        ScriptedServer([reply("Hello.")]) as server,
        room.open(server, environ=off) as agent,
    ):
        await tell(agent, "hello")

    assert recordings(room.home) == []
