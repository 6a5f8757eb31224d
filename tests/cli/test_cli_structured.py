"""`--json-schema`, and slash commands in `-p`, as a script uses them."""

from __future__ import annotations

import orjson
import pytest

from interlock.scripted import ServerThread, reply, tool_use
from tests.cli.shell import REAL, Shell

SCHEMA = '{"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}'


def test_the_answer_is_json_on_stdout_and_an_object_in_the_result(shell: Shell) -> None:
    turns = [reply(tool_use("StructuredOutput", {"ok": True})), reply("Done.")]
    (shell.folder / "schema.json").write_text(SCHEMA)
    with ServerThread(turns * 2) as server:
        env = {"ANTHROPIC_BASE_URL": server.base_url}
        plain = shell.run("-p", "all well?", "--json-schema", SCHEMA, program=REAL, env=env)
        flags = ("--json-schema=@schema.json", "--output-format", "json")
        whole = shell.run("-p", "all well?", *flags, program=REAL, env=env)

    assert (plain.code, plain.out, plain.err) == (0, '{"ok":true}\n', "")
    assert whole.json["structured_output"] == {"ok": True}
    assert orjson.loads(whole.json["result"]) == {"ok": True}


def test_no_answer_that_fits_is_exit_code_1_and_one_line(shell: Shell) -> None:
    with ServerThread([reply("Well...")] * 5) as server:
        env = {"ANTHROPIC_BASE_URL": server.base_url, "MAX_STRUCTURED_OUTPUT_RETRIES": "2"}
        ran = shell.run("-p", "all well?", "--json-schema", SCHEMA, program=REAL, env=env)

    assert (ran.code, ran.out) == (1, "")
    assert (
        ran.err
        == "interlock: No answer came that fits the schema, in 2 attempts (--json-schema).\n"
    )


@pytest.mark.parametrize(
    ("schema", "line"),
    [
        ("{", "--json-schema is no JSON"),
        ('{"type": 1}', "--json-schema is no JSON Schema: $.type"),
    ],
)
def test_a_bad_schema_is_one_line_before_any_request(shell: Shell, schema: str, line: str) -> None:
    ran = shell.run("-p", "hi", "--json-schema", schema, program=REAL)

    assert (ran.code, ran.out) == (1, "")
    assert line in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_command_of_the_program_is_its_own_result(shell: Shell) -> None:
    answers = [reply("Hello."), reply("A greeting was exchanged.")]
    with ServerThread(answers) as server:
        env = {"ANTHROPIC_BASE_URL": server.base_url}
        shell.run("-p", "hi", program=REAL, env=env)
        cost = shell.run("-c", "-p", "/cost", "--output-format", "json", program=REAL, env=env)
        assert len(server.requests) == 1
        compacted = shell.run("-c", "-p", "/compact", program=REAL, env=env)

    assert (cost.code, cost.json["num_turns"], cost.json["is_error"]) == (0, 0, False)
    assert "tokens in" in cost.json["result"]
    assert cost.json["total_cost_usd"] > 0
    assert (compacted.code, compacted.out) == (0, "the conversation is summarised\n")


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("/resume", "/resume is a command of the session at a terminal"),
        ("/mcp disable nothing", "no MCP server"),
        ("/compact", "nothing"),
    ],
)
def test_one_that_cannot_be_done_is_an_error(shell: Shell, command: str, line: str) -> None:
    ran = shell.run("-p", command, program=REAL)

    assert (ran.code, ran.out) == (1, "")
    assert line in ran.err
