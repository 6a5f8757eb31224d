"""The file of a recording: one of each version is kept, and older ones are brought up to date."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from interlock.recording import Recording, RecordingError, read_recording
from interlock.recording.form import UPGRADES, VERSION, Line, written
from interlock.recording.rerun import render, rerun

KEPT = Path(__file__).parent / "versions"
NEWEST = KEPT / f"{VERSION}.recording.jsonl"


@pytest.mark.parametrize("version", range(1, VERSION + 1))
async def test_a_recording_of_each_version_still_runs(version: int, tmp_path: Path) -> None:
    recording = read_recording(KEPT / f"{version}.recording.jsonl")

    again = await rerun(recording, tmp_path)

    assert recording.version == version
    assert render(again) == ""


@pytest.mark.parametrize("path", sorted((KEPT / "first").iterdir()), ids=lambda path: path.stem)
async def test_runs_that_were_recorded_in_the_first_form_still_run(
    path: Path, tmp_path: Path
) -> None:
    recording = read_recording(path)

    again = await rerun(recording, tmp_path)

    assert recording.version == 1
    assert render(again) == ""


def test_there_is_a_way_up_from_each_older_version() -> None:
    assert sorted(UPGRADES) == list(range(1, VERSION))


async def test_an_older_file_is_changed_on_reading_and_written_as_of_today(
    tmp_path: Path,
) -> None:
    path = tmp_path / "old.recording.jsonl"
    path.write_bytes(NEWEST.read_bytes().replace(b'"on":"model.end"', b'"on":"model.over"'))

    def renamed(lines: list[Line]) -> list[Line]:
        return [
            line | {"on": "model.end"} if line.get("on") == "model.over" else line
            for line in lines
        ]

    recording = read_recording(path, {**UPGRADES, VERSION: renamed})
    (tmp_path / "again").mkdir()
    again = await rerun(recording, tmp_path / "again")

    assert render(again) == ""
    assert written(recording) == NEWEST.read_bytes()


def altered(tmp_path: Path, line: int, value: bytes | None) -> Path:
    """The newest recording with one line changed, or cut off there."""
    lines = NEWEST.read_bytes().splitlines()
    lines[line:] = [] if value is None else [value, *lines[line + 1 :]] if line >= 0 else [value]
    path = tmp_path / "x.recording.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


@pytest.mark.parametrize(
    ("line", "value", "problem"),
    [
        (0, b'{"recording":99}', ":1: is of version 99, known is 2; use a newer interlock"),
        (0, b'{"a":1}', ":1: is no recording of a run"),
        (0, b'{"recording":1,"facts":{}}', ":1: its before is missing or of the wrong kind"),
        (0, b"{", ":1: is no JSON"),
        (0, b"[]", ":1: is no JSON object"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line_that_says_where(
    tmp_path: Path, line: int, value: bytes | None, problem: str
) -> None:
    path = altered(tmp_path, line, value)

    with pytest.raises(RecordingError) as caught:
        read_recording(path)

    assert str(caught.value).startswith(f"{path}{problem}")
    assert "\n" not in str(caught.value)


def records(trace: str) -> str:
    """Without the header: settings that are new since stand in it."""
    return trace.partition("\n")[2]


@pytest.mark.parametrize(
    ("value", "problem"),
    [(b"{", ":21: is no JSON"), (b"[]", ":21: is no JSON object"), (None, ":21: is cut off")],
)
async def test_one_that_is_damaged_runs_again_up_to_there(
    tmp_path: Path, value: bytes | None, problem: str
) -> None:
    path = altered(tmp_path, 20, value)
    recording = read_recording(path)
    (tmp_path / "again").mkdir()

    again = await rerun(recording, tmp_path / "again")

    assert recording.damage is not None
    assert recording.damage.startswith(f"{path}{problem}")
    assert recording.bare == (value is None)  # what the run wrote stands in the last line
    assert (render(again), again.went_away) == ("", True)
    assert again.steps > 0
    assert records(read_recording(NEWEST).trace).startswith(records(again.trace))


@pytest.mark.parametrize("share", range(1, 20))
async def test_one_that_is_cut_off_anywhere_runs_again_up_to_there(
    tmp_path: Path, share: int
) -> None:
    whole = NEWEST.read_bytes()
    path = tmp_path / "x.recording.jsonl"
    path.write_bytes(whole[: len(whole) * share // 20])
    (tmp_path / "again").mkdir()

    if path.read_bytes().count(b"\n") < 5:  # the run does not begin in it
        with pytest.raises(RecordingError):
            await rerun(read_recording(path), tmp_path / "again")
        return
    again = await rerun(read_recording(path), tmp_path / "again")

    assert render(again) == ""
    assert records(read_recording(NEWEST).trace).startswith(records(again.trace))


@pytest.mark.parametrize(
    "value",
    [
        b'{"on":"begin","gave":{}}',
        b'{"on":"begin","gave":null}',
        b'{"on":"begin"}',
        b'{"message":{"id":"x"}}',
        b'{"message":{"id":"x","role":"user","kind":"prompt","content":[{"is":"Tekst"}]}}',
    ],
)
async def test_a_value_that_is_none_of_this_version_is_one_line_too(
    tmp_path: Path, value: bytes
) -> None:
    recording: Recording = read_recording(altered(tmp_path, 2, value))
    (tmp_path / "again").mkdir()

    with pytest.raises(RecordingError, match="x: cannot be played: "):
        await rerun(recording, tmp_path / "again")


def test_the_version_is_written_first(tmp_path: Path) -> None:
    assert orjson.loads(NEWEST.read_bytes().splitlines()[0])["recording"] == VERSION
