"""A session's name and tag are found at the ends of its file, however much is written later."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from interlock.errors import TranscriptError, UsageError
from interlock.sessions import Transcript, read, rename
from interlock.sessions.ends import ENDS, listed
from tests.sessions.conversations import prompt, uuid


def begun(folder: Path) -> Transcript:
    return Transcript(folder / f"{uuid(0)}.jsonl", session_id=uuid(0), cwd=folder)


def name_of(path: Path) -> str | None:
    found = listed(path, 0.0)
    assert found is not None
    return found.name


def renaming(path: Path) -> subprocess.Popen[bytes]:
    """Another process, at work on giving it 200 names."""
    names = "import sys; from pathlib import Path; from interlock.sessions import rename\n"
    names += "for n in range(200): print(rename(Path(sys.argv[1]), f'name {n}'), flush=True)"
    other = subprocess.Popen([sys.executable, "-c", names, str(path)], stdout=subprocess.PIPE)
    assert other.stdout is not None
    other.stdout.readline()
    return other


def written(path: Path, kind: str) -> int:
    return sum(orjson.loads(line)["type"] == kind for line in path.read_bytes().splitlines())


async def test_a_session_has_the_name_it_was_given_last(tmp_path: Path) -> None:
    transcript = begun(tmp_path)
    await transcript.record((prompt(1),))

    assert rename(transcript.path, " The \n house ") == "The house"
    assert name_of(transcript.path) == "The house"
    rename(transcript.path, "The garden")
    assert name_of(transcript.path) == "The garden"


async def test_a_name_given_by_somebody_else_stays_in_sight_as_the_session_grows(
    tmp_path: Path,
) -> None:
    transcript = begun(tmp_path)
    await transcript.record((prompt(1),))
    rename(transcript.path, "Old")
    with transcript.path.open("ab") as other:
        other.write(b'{"type":"tag","tag":"mine","sessionId":"x"}\n')
    for number in range(2, 20):
        if number == 10:
            rename(transcript.path, "New")
        await transcript.record((prompt(number, "z" * 20_000),))
        found = listed(transcript.path, 0.0)
        assert found is not None
        assert (found.name, found.tag) == ("Old" if number < 10 else "New", "mine")
    transcript.close()

    assert transcript.path.stat().st_size > 4 * ENDS
    assert written(transcript.path, "custom-title") < 15  # now and then, not with each message


async def test_a_message_larger_than_what_is_looked_at_does_not_hide_it(tmp_path: Path) -> None:
    transcript = begun(tmp_path)
    await transcript.record((prompt(1),))
    rename(transcript.path, "The house")
    await transcript.record((prompt(2, "z" * 2 * ENDS),))
    await transcript.record((prompt(3, "z" * 2 * ENDS),))

    assert name_of(transcript.path) == "The house"


async def test_a_session_that_is_taken_up_keeps_its_name_in_sight(tmp_path: Path) -> None:
    first = begun(tmp_path)
    await first.record((prompt(1),))
    rename(first.path, "The house")
    first.close()

    later = begun(tmp_path)
    reading = later.take_up()
    await later.record((*reading.messages, prompt(2, "z" * 2 * ENDS)))

    assert name_of(later.path) == "The house"
    assert reading.messages == (prompt(1),)


def test_a_name_is_not_glued_to_a_line_that_a_crash_cut(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"type":"user","message":{"content":"hi"}}\n{"type":"assi')

    rename(path, "The house")

    assert path.read_bytes().splitlines()[1] == b'{"type":"assi'
    assert name_of(path) == "The house"


def test_a_name_of_nothing_and_a_session_that_is_gone_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("{}\n")

    with pytest.raises(UsageError, match="must hold a word"):
        rename(tmp_path / "x.jsonl", " \n")
    with pytest.raises(TranscriptError, match="cannot be renamed: No such file"):
        rename(tmp_path / "y.jsonl", "The house")
    assert not (tmp_path / "y.jsonl").exists()


async def test_names_given_while_another_process_writes_cost_neither_a_line(
    tmp_path: Path,
) -> None:
    """Each line is handed over whole, behind what stands last: the system keeps them apart."""
    transcript = begun(tmp_path)
    await transcript.record((prompt(1),))
    other = renaming(transcript.path)
    said = [prompt(1)]
    while other.poll() is None or len(said) < 50:
        said.append(prompt(len(said) + 1, "z" * 300_000))
        await transcript.record(tuple(said))
    other.communicate()
    transcript.close()

    lines = [orjson.loads(line) for line in transcript.path.read_bytes().splitlines() if line]
    named = [line["customTitle"] for line in lines if line["type"] == "custom-title"]
    assert set(named) == {f"name {n}" for n in range(200)}
    assert read(transcript.path).messages == tuple(said)
    assert read(transcript.path).damage == ()
    assert name_of(transcript.path) == "name 199"
