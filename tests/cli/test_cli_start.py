"""What a plain run imports until its first request: nothing that only others need.

A name here stands for its package and all in it. Whatever is asked for later is imported then.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.scripted import ServerThread, reply, tool_use
from tests.cli.shell import REAL, Shell

# Runs the program, and says at its end which modules there are.
_TELLING = (
    "import sys; from interlock.cli.main import main; code = main(sys.argv[1:]);"
    "print('\\n'.join(sys.modules)); sys.exit(code)"
)
OTHERS = {
    "an MCP server": (
        "mcp",
        "interlock.mcp.door",
        "interlock.mcp.elicitation",
        "interlock.mcp.news",
        "interlock.mcp.opening",
        "interlock.mcp.relay",
        "interlock.mcp.remote",
        "interlock.mcp.server",
        "interlock.mcp.stdio",
    ),
    "a line for the shell": (
        "tree_sitter",
        "interlock.permissions.shell.programs",
        "interlock.permissions.shell.reading",
        "interlock.permissions.shell.wrappers",
    ),
    "a fetch": ("interlock.tools.web.body", "interlock.tools.web.hops"),
    "a picture or a PDF": ("PIL", "pypdf"),
    "a child in a worktree": ("interlock.agents.apart", "interlock.worktrees"),
    "a resume": ("interlock.agents.taking_up",),
    "a rewind": (
        "interlock.checkpoints.plan",
        "interlock.checkpoints.restore",
        "interlock.checkpoints.shown",
        "interlock.rewinding",
    ),
    "a replay": ("interlock.recording.player", "interlock.recording.scrub"),
    "a host that drives": ("interlock.cli.stream_json", "interlock.control"),
    "a terminal": ("prompt_toolkit", "interlock.cli.interactive"),
    "a server of ours": ("starlette", "uvicorn"),
}


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return Shell(tmp_path, fresh=True)


def imported_by(shell: Shell, server: ServerThread) -> set[str]:
    """The modules of a process that has run one prompt."""
    ran = shell.run(
        *("-c", _TELLING, "-p", "hi"),
        program=(REAL[0],),
        env={"ANTHROPIC_BASE_URL": server.base_url},
    )
    assert (ran.code, ran.err) == (0, "")
    return set(ran.out.splitlines())


def test_a_plain_run_imports_nothing_that_only_others_need(shell: Shell) -> None:
    with ServerThread([reply("Hello.")]) as server:
        there = imported_by(shell, server)

    early = {
        what: found
        for what, names in OTHERS.items()
        if (
            found := [
                module
                for module in there
                if any(module == name or module.startswith(f"{name}.") for name in names)
            ]
        )
    }
    assert early == {}
    assert "anthropic" in there


def test_what_is_left_out_comes_when_it_is_asked_for(shell: Shell) -> None:
    answers = [reply("", tool_use("Bash", {"command": "echo one"})), reply("One.")]

    with ServerThread(answers) as server:
        there = imported_by(shell, server)

    assert "interlock.permissions.shell.reading" in there
