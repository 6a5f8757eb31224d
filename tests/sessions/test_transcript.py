"""What a session leaves on disk, and that showing and writing are one act."""

from __future__ import annotations

import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from attrs import evolve

from interlock.errors import TranscriptError
from interlock.sessions import Transcript, read, read_messages
from phases.world.messages import Kind, Message, Text, Thinking, ToolResult, derived_id, note
from phases.world.updates import Recorded, Update
from tests.sessions.conversations import call, prompt, reply, result, summary, uuid
from tests.sessions.disks import files_of_at_most

SESSION = uuid(0)
TIME = 1_700_000_000.25


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "projects" / "-work" / f"{SESSION}.jsonl"


@pytest.fixture
def shown() -> list[Update]:
    return []


@pytest.fixture
def transcript(path: Path, tmp_path: Path, shown: list[Update]) -> Iterator[Transcript]:
    made = Transcript(path, session_id=SESSION, cwd=tmp_path, show=shown.append, now=lambda: TIME)
    yield made
    made.close()


def entries(path: Path) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


PROMPT = prompt(1, "fix it")
REPLY = reply(2, Thinking("", "sig"), Text("I see"), call("a"), call("b"), stop_reason="tool_use")
RESULT_A, RESULT_B = result(3, REPLY, "a"), result(4, REPLY, "b", "two")
ROUND = (PROMPT, REPLY, RESULT_A, RESULT_B)


async def test_a_session_in_which_nothing_was_said_leaves_no_file(
    transcript: Transcript, path: Path
) -> None:
    await transcript.record(())
    transcript.close()

    assert not path.exists()


async def test_a_prompt_is_one_entry_with_the_keys_that_readers_look_for(
    transcript: Transcript, path: Path, tmp_path: Path
) -> None:
    await transcript.record((PROMPT,))

    assert entries(path) == [
        {
            "type": "user",
            "uuid": PROMPT.id,
            "parentUuid": None,
            "kind": "prompt",
            "timestamp": "2023-11-14T22:13:20.250Z",
            "sessionId": SESSION,
            "cwd": str(tmp_path),
            "version": "0.1.0",
            "gitBranch": "",
            "isSidechain": False,
            "userType": "external",
            "entrypoint": "cli",
            "promptId": PROMPT.id,
            "message": {"role": "user", "content": "fix it"},
        }
    ]


async def test_a_reply_is_one_entry_per_block_and_each_tells_the_final_usage(
    transcript: Transcript, path: Path
) -> None:
    await transcript.record((PROMPT, REPLY))

    blocks = entries(path)[1:]
    assert [entry["message"]["content"][0]["type"] for entry in blocks] == [
        "thinking",
        "text",
        "tool_use",
        "tool_use",
    ]
    assert {entry["message"]["id"] for entry in blocks} == {"msg_2"}
    assert {entry["requestId"] for entry in blocks} == {"req_2"}
    assert {entry["message"]["stop_reason"] for entry in blocks} == {"tool_use"}
    assert {entry["message"]["usage"]["output_tokens"] for entry in blocks} == {47}
    assert [entry["uuid"] for entry in blocks] == [
        REPLY.id,
        *(derived_id(REPLY.id, str(index)) for index in (1, 2, 3)),
    ]


async def test_entries_are_a_chain_and_results_hang_on_their_own_call(
    transcript: Transcript, path: Path
) -> None:
    last = reply(5, Text("done"))
    await transcript.record((*ROUND, last))

    written = entries(path)
    ids = [entry["uuid"] for entry in written]
    assert [entry["parentUuid"] for entry in written] == [
        None,
        *ids[:4],
        ids[3],  # the result of the first call
        ids[4],  # the result of the second
        ids[6],  # what follows hangs on what was written last
    ]
    assert [entry.get("sourceToolAssistantUUID") for entry in written[5:7]] == ids[3:5]
    assert [entry["toolUseResult"] for entry in written[5:7]] == ["done", "two"]


async def test_only_what_is_new_at_the_end_is_written(
    transcript: Transcript, path: Path, shown: list[Update]
) -> None:
    await transcript.record((PROMPT,))
    await transcript.record((PROMPT, REPLY))
    await transcript.record(ROUND)
    await transcript.record(ROUND)

    assert shown == [Recorded(message) for message in ROUND]
    assert read_messages(path) == ROUND


async def test_a_message_is_shown_only_once_it_is_in_the_file(
    transcript: Transcript, path: Path
) -> None:
    held: list[bool] = []

    def look(update: Update) -> None:
        assert isinstance(update, Recorded)
        held.append(update.message.id in path.read_text())

    transcript.show = look
    await transcript.record(ROUND)

    assert held == [True] * 4


async def test_a_note_is_meta_and_a_result_without_words_still_tells_of_its_error(
    transcript: Transcript, path: Path
) -> None:
    failed = evolve(RESULT_A, content=(ToolResult("a", (), is_error=True),))
    await transcript.record((PROMPT, REPLY, failed, note(failed.id, "x", "by the way")))

    assert entries(path)[-2]["message"]["content"] == [
        {"type": "tool_result", "tool_use_id": "a", "content": [], "is_error": True}
    ]
    assert entries(path)[-1]["isMeta"] is True


async def test_results_are_written_as_tools_finish_and_read_in_the_order_of_the_calls(
    transcript: Transcript, path: Path, shown: list[Update]
) -> None:
    await transcript.record((PROMPT, REPLY))

    await transcript.record_results((RESULT_B,))
    await transcript.record(ROUND)

    assert shown[2:] == [Recorded(RESULT_B), Recorded(RESULT_A)]
    assert read_messages(path) == ROUND


# --- compaction and mending ------------------------------------------------------------------


async def test_a_first_message_never_written_stands_for_all_before_it(
    transcript: Transcript, path: Path
) -> None:
    await transcript.record(ROUND)

    await transcript.record((summary(9),))

    boundary, summed = entries(path)[-2:]
    assert boundary["subtype"] == "compact_boundary"
    assert boundary["parentUuid"] is None
    assert boundary["logicalParentUuid"] == RESULT_B.id
    assert summed["parentUuid"] == boundary["uuid"]
    assert summed["isCompactSummary"] is True
    assert read_messages(path) == (summary(9),)


async def test_what_a_compaction_kept_is_named_and_not_written_again(
    transcript: Transcript, path: Path
) -> None:
    await transcript.record((*ROUND, last := reply(5, Text("so?"))))
    before = len(entries(path))

    await transcript.record((summary(9), last, prompt(10)))

    assert len(entries(path)) == before + 3
    assert read_messages(path) == (summary(9), last, prompt(10))


async def test_a_result_behind_a_compaction_does_not_lead_around_it(
    transcript: Transcript, path: Path
) -> None:
    await transcript.record((PROMPT, REPLY, RESULT_A))

    await transcript.record((summary(9), REPLY, RESULT_A, RESULT_B))

    assert read_messages(path) == (summary(9), REPLY, RESULT_A, RESULT_B)


async def test_a_mended_message_stands_where_the_refused_one_stood(
    transcript: Transcript, path: Path
) -> None:
    mended = evolve(
        RESULT_A,
        id=derived_id(RESULT_A.id, "mended"),
        content=(ToolResult("a", (Text("[taken out]"),)),),
        replaces=RESULT_A.id,
    )
    view = (PROMPT, REPLY, mended, RESULT_B)
    await transcript.record(ROUND)

    await transcript.record_mended(view)
    await transcript.record_mended(view)
    await transcript.record((*view, last := reply(5, Text("done"))))

    assert [entry["type"] for entry in entries(path)[-2:]] == ["system", "assistant"]
    assert read_messages(path) == (*view, last)


async def test_a_mended_first_message_is_no_compaction(transcript: Transcript, path: Path) -> None:
    await transcript.record((PROMPT,))
    mended = Message(
        id=derived_id(PROMPT.id, "mended"),
        role="user",
        kind=Kind.PROMPT,
        content=(Text("[taken out]"),),
        replaces=PROMPT.id,
    )

    await transcript.record((mended, last := reply(5, Text("ok"))))

    assert read_messages(path) == (mended, last)


# --- the file --------------------------------------------------------------------------------


async def test_the_file_and_its_folders_are_for_their_owner_alone(
    transcript: Transcript, path: Path, tmp_path: Path
) -> None:
    await transcript.record((PROMPT,))

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for folder in (path.parent, path.parent.parent, tmp_path / "home"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


async def test_closing_names_the_last_prompt_for_session_lists(
    transcript: Transcript, path: Path
) -> None:
    await transcript.record((prompt(1, "fix\n it " + "x" * 300),))
    transcript.close()
    transcript.close()

    last = entries(path)[-1]
    assert last == {
        "type": "last-prompt",
        "lastPrompt": ("fix it " + "x" * 300)[:200],
        "leafUuid": PROMPT.id,
        "sessionId": SESSION,
    }


async def test_an_append_to_a_torn_file_starts_on_a_new_line(
    transcript: Transcript, path: Path, tmp_path: Path
) -> None:
    await transcript.record((PROMPT,))
    transcript.close()
    whole = path.read_bytes()
    path.write_bytes(whole + '{"type":"user","text":"caf\u00e9'.encode()[:-1])

    again = Transcript(path, session_id=SESSION, cwd=tmp_path)
    await again.record((PROMPT, REPLY))
    again.close()

    assert path.read_bytes().startswith(whole)
    assert read(path).messages == (PROMPT, REPLY)
    assert len(read(path).damage) == 1


async def test_a_session_that_is_being_written_refuses_a_second_writer(
    transcript: Transcript, path: Path, tmp_path: Path
) -> None:
    await transcript.record((PROMPT,))
    second = Transcript(path, session_id=SESSION, cwd=tmp_path)

    with pytest.raises(TranscriptError, match="another process is writing this session"):
        await second.record((prompt(7),))


async def test_what_a_killed_process_has_left_for_a_moment_keeps_nobody_out(
    transcript: Transcript, path: Path, tmp_path: Path
) -> None:
    await transcript.record((PROMPT,))
    leaving = threading.Timer(0.02, transcript.close)  # as a copy that has yet to exec
    leaving.start()
    second = Transcript(path, session_id=SESSION, cwd=tmp_path)

    await second.record((PROMPT, prompt(7)))

    leaving.join()
    second.close()
    assert read(path).messages == (PROMPT, prompt(7))


async def test_a_folder_that_cannot_be_made_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file, not a folder")
    transcript = Transcript(tmp_path / "home" / "x.jsonl", session_id=SESSION, cwd=tmp_path)

    with pytest.raises(TranscriptError, match=r"^folder .*/home: cannot be written: "):
        await transcript.record((PROMPT,))


async def test_a_full_disk_is_one_clear_error_and_the_next_write_begins_a_new_line(
    transcript: Transcript, path: Path, shown: list[Update]
) -> None:
    await transcript.record((PROMPT,))

    with (
        files_of_at_most(path.stat().st_size + 40),
        pytest.raises(TranscriptError, match="cannot be written: File too large"),
    ):
        await transcript.record((PROMPT, REPLY))
    await transcript.record((PROMPT, REPLY))

    assert shown == [Recorded(PROMPT), Recorded(REPLY)]
    assert read_messages(path) == (PROMPT, REPLY)


async def test_finding_what_is_new_takes_no_longer_in_a_long_history(
    transcript: Transcript,
) -> None:
    history = tuple(prompt(number) for number in range(1, 3001))
    await transcript.record(history)
    looked = _Counting(transcript._known)
    transcript._known = looked

    await transcript.record((*history, reply(9000, Text("ok"))))

    assert looked.asked < 10


class _Counting(set[str]):
    asked = 0

    def __contains__(self, item: object) -> bool:
        self.asked += 1
        return super().__contains__(item)
