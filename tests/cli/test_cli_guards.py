"""Hooks and the sandbox of settings files, as a user of the command line meets them."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest

from interlock.sandbox import bubblewrap
from interlock.scripted import ServerThread, reply, tool_use
from tests.cli.shell import REAL, Shell
from tests.cli.test_cli_settings import against, results, write
from tests.waiting import wait_until

BYPASS = ("--permission-mode", "bypassPermissions")
needs_bubblewrap = pytest.mark.skipif(
    bubblewrap.missing() is not None, reason=f"not tried: {bubblewrap.missing()}"
)


def hook(event: str, command: str, matcher: str = "") -> dict[str, object]:
    return {"hooks": {event: [{"matcher": matcher, "hooks": [_command(command)]}]}}


def _command(line: str) -> dict[str, object]:
    return {"type": "command", "command": line}


def bash(line: str) -> Mapping[str, Any]:
    return tool_use("Bash", {"command": line})


# --- hooks -----------------------------------------------------------------------------------


def test_a_hook_of_the_project_blocks_a_call_and_the_model_is_told(shell: Shell) -> None:
    write(
        shell.folder / ".claude/settings.json", hook("PreToolUse", "echo no >&2; exit 2", "Bash")
    )

    ran, bodies = against(shell, [reply(bash("touch made")), reply("I see.")], *BYPASS)

    assert ran.code == 0
    assert not (shell.folder / "made").exists()
    assert "no" in results(bodies)[0]


def test_a_stop_hook_makes_it_go_on_until_it_is_content(shell: Shell) -> None:
    line = "test -e done || { touch done; echo 'write the tests first' >&2; exit 2; }"
    write(shell.folder / ".claude/settings.json", hook("Stop", line))

    ran, bodies = against(shell, [reply("Done."), reply("Now it is.")])

    assert (ran.code, ran.out) == (0, "Now it is.\n")
    assert "write the tests first" in str(bodies[1]["messages"][-1])


@pytest.mark.parametrize("form", ["text", "json"])
def test_ctrl_c_in_a_stop_hook_keeps_the_answer_that_was_whole(shell: Shell, form: str) -> None:
    write(shell.folder / ".claude/settings.json", hook("Stop", "touch started; sleep 60"))
    with ServerThread([reply("The whole answer.")]) as server:
        process = shell.start(
            *("-p", "go", "--output-format", form),
            program=REAL,
            env={"ANTHROPIC_BASE_URL": server.base_url},
        )
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
        wait_until((shell.folder / "started").exists, process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)

    told = "Interrupted while stop hooks ran; the answer itself is whole."
    assert (process.returncode, err.decode()) == (130, f"interlock: {told}\n")
    if form == "text":
        assert out == b"The whole answer.\n"
    else:
        result = orjson.loads(out)
        assert (result["subtype"], result["is_error"]) == ("error_during_execution", True)
        assert (result["result"], result["errors"]) == ("The whole answer.", [told])


def test_a_bad_matcher_is_refused_at_the_start_with_its_line(shell: Shell) -> None:
    write(shell.folder / ".claude/settings.json", hook("PreToolUse", "true", "Bash("))

    ran, bodies = against(shell, [reply("never")])

    assert (ran.code, bodies) == (1, [])
    assert ".claude/settings.json:" in ran.err
    assert "matcher" in ran.err


# --- sandbox ---------------------------------------------------------------------------------


@needs_bubblewrap
def test_in_a_sandbox_commands_run_unasked_and_what_is_denied_cannot_be_read(
    shell: Shell,
) -> None:
    (shell.folder / ".env").write_text("KEY=hush")
    write(shell.folder / ".claude/settings.json", {"permissions": {"deny": ["Read(./.env)"]}})
    lines = ("echo kept > kept.txt; cat kept.txt", "python3 -c 'print(open(\".env\").read())'")
    outside = shell.folder.parent / "outside.txt"

    ran, bodies = against(
        shell,
        [reply(*map(bash, (*lines, f"echo x > {outside}"))), reply("Done.")],
        *("--sandbox", "required"),
    )

    kept, denied, _ = results(bodies)
    assert ran.code == 0
    assert "kept" in kept
    assert "hush" not in denied
    assert "Permission denied" in denied
    assert not outside.exists()


@needs_bubblewrap
def test_a_repository_cannot_open_its_sandbox(shell: Shell) -> None:
    opened = {"sandbox": {"network": {"allowAll": True}, "filesystem": {"allowWrite": ["/"]}}}
    write(shell.folder / ".claude/settings.json", opened)
    outside = shell.folder.parent / "outside.txt"

    ran, _ = against(
        shell, [reply(bash(f"echo x > {outside}")), reply("Done.")], "--sandbox", "auto"
    )

    assert not outside.exists()
    assert "sandbox.network.allowAll is not heard" in ran.err


def test_a_required_sandbox_that_cannot_be_had_is_no_session(shell: Shell, tmp_path: Path) -> None:
    env = {"PATH": str(tmp_path), "ANTHROPIC_BASE_URL": "http://127.0.0.1:9"}

    ran = shell.run("-p", "go", "--sandbox", "required", program=REAL, env=env)

    assert ran.code == 1
    assert "bubblewrap (bwrap) is not installed" in ran.err


def test_a_typing_error_in_the_sandbox_is_refused(shell: Shell) -> None:
    write(shell.folder / ".claude/settings.json", {"sandbox": {"enable": True}})

    ran, bodies = against(shell, [reply("never")])

    assert (ran.code, bodies) == (1, [])
    assert "sandbox.enable is not known; did you mean enabled?" in ran.err
    assert ".claude/settings.json:" in ran.err
