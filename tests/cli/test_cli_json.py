"""What programs read: the result object, and the messages of stream-json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from attrs import evolve, field, frozen

from interlock.admission import PROMPT_BLOCKED
from interlock.cli.lines import LONGEST, line_of
from interlock.cli.output import Output
from interlock.cli.result import result_of
from interlock.cli.stream_json import StreamJson
from interlock.options import PermissionMode
from interlock.sessions import read_messages
from phases.world.messages import Kind, Message, Text, ToolResult, derived_id
from phases.world.states import ENDINGS, State
from phases.world.updates import (
    AttemptDropped,
    Compaction,
    HookEnded,
    HookStarted,
    ModelSwitched,
    Recorded,
    RequestStarted,
    StreamEvent,
    Update,
)
from tests.cli.fake_agent import NoServers, whole
from tests.cli.shell import Ran, Shell

STREAM = ("--output-format", "stream-json", "--verbose")
SESSION = "00000000-0000-4000-8000-000000000001"


def test_json_is_one_object_with_the_keys_that_clients_know(shell: Shell) -> None:
    ran = shell.run("-p", "hi", "--output-format", "json")

    said = ran.json
    assert ran.code == 0
    said.pop("session_id")
    said.pop("uuid")
    assert said == {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "duration_ms": 1500,
        "duration_api_ms": 1000,
        "num_turns": 1,
        "stop_reason": "end_turn",
        "total_cost_usd": 0.25,
        "result": "ok",
        "usage": {
            "input_tokens": 27,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 1000,
            "output_tokens": 47,
            "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
            "service_tier": "standard",
            "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 0},
        },
        "modelUsage": {
            "model-x": {
                "inputTokens": 27,
                "outputTokens": 47,
                "cacheReadInputTokens": 1000,
                "cacheCreationInputTokens": 0,
                "webSearchRequests": 0,
                "costUSD": 0.25,
                "contextWindow": 200_000,
                "maxOutputTokens": 64_000,
            }
        },
        "permission_denials": [],
        "terminal_reason": "completed",
    }


# Ending and error of the loop, and what the protocol makes of it: subtype, terminal_reason, what
# `result` holds, and whether there are `errors`. It is an error where the loop has one.
ENDED = """
completed            -                    success                 completed            answer -
completed            api_error            success                 api_error            why    -
completed            refusal              success                 api_error            why    -
completed            max_output_tokens    success                 api_error            why    -
completed            pause_limit          success                 api_error            why    -
completed            unknown_stop_reason  success                 api_error            why    -
completed            not_recorded         error_during_execution  not_recorded         answer why
prompt_too_long      prompt_too_long      success                 prompt_too_long      why    -
image_error          image_error          success                 image_error          why    -
blocking_limit       blocking_limit       success                 blocking_limit       why    -
max_turns            max_turns            error_max_turns         max_turns            -      why
budget_exhausted     budget_exhausted     error_max_budget_usd    budget_exhausted     -      why
aborted_streaming    aborted_streaming    error_during_execution  aborted_streaming    -      why
aborted_tools        aborted_tools        error_during_execution  aborted_tools        -      why
model_error          model_error          error_during_execution  model_error          -      why
stop_hook_prevented  stop_hook_prevented  error_during_execution  stop_hook_prevented  answer why
hook_stopped         -                    success                 hook_stopped         empty  -
prompt_blocked       -                    success                 -                    answer -
"""
ROWS = [tuple(line.split()) for line in ENDED.strip().splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]}-{row[1]}")
def test_each_ending_has_its_place_in_the_protocol(row: tuple[str, ...]) -> None:
    reason, *others = row
    error, subtype, terminal_reason, result, errors = (
        None if cell == "-" else cell for cell in others
    )
    text = "The answer."
    summary = evolve(
        whole(SESSION, text), reason=reason, error=error, error_text="why" if error else None
    )

    said = result_of(summary)

    assert said["subtype"] == subtype
    assert said["is_error"] is (error is not None)
    assert said.get("terminal_reason", None) == terminal_reason
    assert said.get("result") == {"answer": text, "why": "why", "empty": "", None: None}[result]
    assert said.get("errors") == (["why"] if errors else None)
    assert ("errors" in said) == (subtype != "success")
    assert not (said["is_error"] and terminal_reason == "completed")


def test_the_table_has_every_ending_of_the_loop() -> None:
    assert {State(row[0]) for row in ROWS if row[0] != PROMPT_BLOCKED} == ENDINGS


def test_an_answer_that_was_whole_before_an_interrupt_is_told_with_the_error() -> None:
    summary = evolve(
        whole(SESSION, "All of it."),
        reason="aborted_streaming",
        error="aborted_streaming",
        error_text="why",
        answered=True,
    )

    said = result_of(summary)

    assert (said["subtype"], said["is_error"]) == ("error_during_execution", True)
    assert (said["result"], said["errors"]) == ("All of it.", ["why"])


def test_an_unknown_price_is_null_and_not_nothing() -> None:
    assert result_of(evolve(whole(SESSION, "x"), cost=None))["total_cost_usd"] is None


# --- stream-json -----------------------------------------------------------------------------


def kinds(ran: Ran) -> list[str]:
    return [
        said["type"] + ("/" + said["subtype"] if said["type"] == "system" else "")
        for said in ran.lines
    ]


def test_a_turn_with_a_tool_is_told_block_by_block(shell: Shell) -> None:
    ran = shell.run("-p", "hi", *STREAM, env={"FAKE": "tool"})

    assert (ran.code, ran.err) == (0, "")
    assert kinds(ran) == [
        "system/init",
        "system/api_retry",
        "assistant",
        "assistant",
        "user",
        "user",
        "assistant",
        "system/informational",
        "system/permission_denied",
        "result",
    ]
    init, retry, text, call, result, note, last, *_ = ran.lines
    assert init["tools"] == ["Bash", "Read"]
    assert init["apiKeySource"] == "ANTHROPIC_API_KEY"
    assert init["claude_code_version"] == "0.1.0"
    assert (retry["error"], retry["error_status"], retry["attempt"]) == ("overloaded", 529, 1)
    assert text["message"]["id"] == call["message"]["id"] != last["message"]["id"]
    assert text["message"]["stop_reason"] is None
    assert [block["type"] for block in call["message"]["content"]] == ["tool_use"]
    assert result["tool_use_result"] == "one\ntwo"
    assert note["isSynthetic"] is True
    assert ran.lines[-1]["result"] == "two files"
    assert ran.lines[-1]["permission_denials"][0]["tool_name"] == "Bash"


def test_a_client_sees_the_ids_that_the_transcript_holds(shell: Shell) -> None:
    ran = shell.run("-p", "hi", *STREAM, env={"FAKE": "tool"})

    (path,) = shell.transcripts
    entries = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    written = [entry["uuid"] for entry in entries if "uuid" in entry]
    shown = [said["uuid"] for said in ran.lines if said["type"] in ("assistant", "user")]
    assert shown == written[1:]  # the prompt is the client's own
    assert {said["session_id"] for said in ran.lines} == {path.stem}


def test_raw_events_come_only_where_they_were_asked_for(shell: Shell) -> None:
    without = shell.run("-p", "hi", *STREAM)
    partial = shell.run("-p", "hi", *STREAM, "--include-partial-messages")

    assert kinds(without) == ["system/init", "assistant", "result"]
    assert kinds(partial) == [
        "system/init",
        "system/status",
        "stream_event",
        "assistant",
        "result",
    ]


def test_a_failure_of_the_api_is_a_synthetic_message_and_a_result_with_its_words(
    shell: Shell,
) -> None:
    ending = "completed|api_error|the API key was refused (401)|authentication|401"

    ran = shell.run("-p", "hi", *STREAM, env={"FAKE": f"end:{ending}"})

    _, said, result = ran.lines
    assert ran.code == 1
    assert said["message"]["model"] == "<synthetic>"
    assert said["error"] == "authentication_failed"
    words = "the API key was refused (401)"
    assert said["message"]["content"][0]["text"] == result["result"] == words
    assert result["api_error_status"] == 401


def test_a_bug_ends_the_turn_with_its_one_result(shell: Shell) -> None:
    ran = shell.run("-p", "hi", *STREAM, env={"FAKE": "break"})

    assert ran.code == 1
    assert kinds(ran) == ["system/init", "result"]
    assert ran.lines[-1]["subtype"] == "error_during_execution"


def test_the_transcript_can_be_read_back_after_each_format(shell: Shell) -> None:
    for flags in ((), STREAM, ("--output-format", "json")):
        shell.run("-p", "hi", *flags, env={"FAKE": "tool"})

    histories = [read_messages(path) for path in shell.transcripts]
    assert [len(history) for history in histories] == [5, 5, 5]


# --- one line --------------------------------------------------------------------------------


@frozen
class Fixed:
    agents: tuple[str, ...] = ()
    session_id: str = SESSION
    model: str = "model-x"
    tools: tuple[str, ...] = ()
    cwd: Path = Path("/")
    permission_mode: PermissionMode = PermissionMode.DEFAULT
    servers: NoServers = field(factory=NoServers)


def told(
    path: Path, *updates: Update, partial: bool = False, hook_events: bool = False
) -> list[Any]:
    with path.open("wb") as file:
        renderer = StreamJson(
            output=Output(descriptor=file.fileno()),
            session=Fixed(),
            key_source="none",
            partial=partial,
            hook_events=hook_events,
        )
        for update in updates:
            renderer.show(update)
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


def test_a_compaction_and_a_change_of_model_are_told(tmp_path: Path) -> None:
    boundary, switched = told(
        tmp_path / "out", Compaction("auto", 90_000, 4_000), ModelSwitched("a", "b")
    )

    assert boundary["compact_metadata"] == {
        "trigger": "auto",
        "pre_tokens": 90_000,
        "post_tokens": 4_000,
    }
    assert switched["content"] == "a is overloaded; b takes over"


def test_hooks_are_told_as_they_run_to_who_wants_it(tmp_path: Path) -> None:
    names = {"id": "h1", "event": "PreToolUse", "name": "PreToolUse:Bash"}
    updates = (
        HookStarted(**names),
        HookEnded(**names, outcome="error", stdout="", stderr="no\n", exit_code=2),
    )

    started, ended = told(tmp_path / "out", *updates, hook_events=True)

    assert told(tmp_path / "none", *updates) == []
    wire = {"hook_id": "h1", "hook_name": "PreToolUse:Bash", "hook_event": "PreToolUse"}
    assert started == {
        **{key: started[key] for key in ("uuid", "session_id")},
        "type": "system",
        "subtype": "hook_started",
        **wire,
    }
    assert {key: ended[key] for key in wire} == wire
    assert (ended["subtype"], ended["outcome"]) == ("hook_response", "error")
    assert (ended["exit_code"], ended["output"], ended["stderr"]) == (2, "no\n", "no\n")


def test_events_that_were_taken_back_are_told_to_who_saw_them(tmp_path: Path) -> None:
    updates = (RequestStarted("m", 1), StreamEvent({"type": "ping"}), AttemptDropped())

    seen = told(tmp_path / "out", *updates, partial=True)

    assert [said.get("subtype", said["type"]) for said in seen] == [
        "status",
        "stream_event",
        "attempt_dropped",
    ]
    assert told(tmp_path / "out", *updates) == []


def test_a_message_that_only_replaces_an_older_one_is_not_shown_twice(tmp_path: Path) -> None:
    mended = Message(
        id=derived_id(SESSION, "mended"),
        role="user",
        kind=Kind.RESULT,
        content=(ToolResult("a", (Text("[taken out]"),)),),
        replaces=SESSION,
    )

    assert told(tmp_path / "out", Recorded(mended)) == []


@pytest.mark.parametrize("letter", ["x", "日", "\n", "👩"])
def test_no_line_is_longer_than_clients_read(letter: str) -> None:
    message = {"type": "user", "uuid": "u", "message": {"content": [letter * 2_000_000]}}

    line = line_of(message)

    assert len(line.decode()) <= LONGEST + 1
    said = orjson.loads(line)
    assert "characters cut]" in said["message"]["content"][0]


def test_a_message_of_many_small_parts_is_named_rather_than_sent() -> None:
    message = {"type": "user", "uuid": "u", "message": {"content": ["x"] * 2_000_000}}

    assert orjson.loads(line_of(message)) == {
        "type": "user",
        "uuid": "u",
        "error": "this message was too long for one line",
    }
