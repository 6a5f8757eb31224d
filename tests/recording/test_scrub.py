"""Secrets go out of a recording, and it can still be run again."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.options import Options, PermissionMode
from interlock.recording import Recording, beside, read_recording
from interlock.recording.form import written
from interlock.recording.rerun import render, rerun
from interlock.recording.scrub import scrubbed
from interlock.scripted import ScriptedServer, reply, tool_use
from tests.agent.support import MODEL, Room, tell
from tests.recording.stories import RECORD, hard

KEY = "sk-" + "ant-api03-" + "a1B2c3D4" * 3
PEM = "-----BEGIN PRIVATE " + 'KEY-----\nMIIEvQ\n"odd"\n-----END PRIVATE ' + "KEY-----"
SECRETS = {
    "in the prompt": f"use {KEY} for it",
    "of an address": "clone https://me:hunter22@example.com/x.git",
    "over several lines": f"deploy with\n{PEM}\nplease",
    "as a header": "send Authorization: Bearer abc.def.ghi-123",
    "as a variable": "DB_PASSWORD=correcthorse ./run",
}
WORDS = [KEY, "hunter22", "MIIEvQ", "abc.def.ghi-123", "correcthorse"]


async def recorded(room: Room, words: str) -> Recording:
    """A run in which a secret is said, written into a file, read back and printed."""
    answers = [
        reply(tool_use("Write", {"file_path": "x", "content": words, "password": "swordfish!"})),
        reply(tool_use("Read", {"file_path": "x"}), tool_use("Bash", {"command": "cat x"})),
        reply(f"I know: {words}, and swordfish!"),
    ]
    options = Options(
        model=MODEL,
        permission_mode=PermissionMode.BYPASS_PERMISSIONS,
        include_partial_messages=True,
    )
    async with (
        ScriptedServer(answers) as server,
        room.open(server, options=options, environ=RECORD) as agent,
    ):
        await agent.prompt(f"earlier: {words}", lambda update: None)
        told = await tell(agent, words)
        return read_recording(beside(agent.paths.trace(told.summary.run_id)))


@pytest.mark.parametrize("where", SECRETS)
async def test_a_secret_is_gone_everywhere_and_the_run_is_the_same(
    room: Room, tmp_path: Path, where: str
) -> None:
    recording = await recorded(room, SECRETS[where])
    (tmp_path / "again").mkdir()

    clean, count = scrubbed(recording, {})
    again = await rerun(clean, tmp_path / "again")

    said = written(clean).decode()
    assert render(again) == ""
    assert count >= 1
    assert not any(word in said for word in WORDS)
    assert "Delta" not in said  # a piece may hold half a secret


async def test_values_of_the_environment_and_named_words_are_taken_out(room: Room) -> None:
    recording = await recorded(room, "the tenant is acme-corp and the code is zebra-crossing-9")

    clean, count = scrubbed(recording, {"MY_API_KEY": "zebra-crossing-9"}, ["acme-corp"])

    said = written(clean).decode()
    assert "the tenant is ********* and the code is ****************" in said
    assert not any(word in said for word in ("acme-corp", "zebra-crossing", "swordfish"))
    assert count == 3


async def test_a_recording_without_secrets_stays_as_it_is(room: Room) -> None:
    recording = await hard(room)

    assert scrubbed(recording, {"PATH": "/usr/bin", "HOME_KEY": "/root/some/key"}) == (
        recording,
        0,
    )
