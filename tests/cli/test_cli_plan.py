"""Plan mode as a person at the terminal meets it, and as a script does."""

from __future__ import annotations

from interlock.scripted import ServerThread, reply, tool_use
from tests.agent.support import results
from tests.cli.shell import REAL, Shell
from tests.cli.test_cli_interactive import seated

PLAN = "1. Write new.txt.\n2. Run the tests."
WRITE = reply(tool_use("Write", {"file_path": "new.txt", "content": "new"}))
PRESENT = reply(tool_use("ExitPlanMode", {"plan": PLAN}))


def test_at_the_terminal_a_plan_is_sent_back_once_and_then_carried_out(shell: Shell) -> None:
    answers = [WRITE, PRESENT, PRESENT, WRITE, reply("It is written.")]
    with seated(shell, answers, "--permission-mode", "plan") as (person, server):
        person.sees("/help lists the commands")
        person.types("write it\r")
        person.sees("2. Run the tests.")
        person.sees("[y] yes")
        person.types("n tests come first\r")
        person.sees("2. Run the tests.")
        person.sees("[y] yes")
        person.types("y\r")
        person.sees("Write wants to run")
        person.sees("[y] yes")
        person.types("y\r")
        person.sees("It is written.")
        person.types("/mode\r")
        person.sees("permission mode: default")
        person.types("/exit\r")
        assert person.ends() == 0

        told = [results(request)[0] for request in server.requests[1:]]
    assert [error for _, _, error in told] == [True, True, False, False]
    assert "tests come first" in told[1][1]
    assert (shell.folder / "new.txt").read_text() == "new"


def test_headless_nothing_is_changed_and_the_plan_is_the_answer(shell: Shell) -> None:
    with ServerThread([WRITE, PRESENT, reply(PLAN)]) as server:
        env = {"ANTHROPIC_BASE_URL": server.base_url}
        ran = shell.run("-p", "write it", "--permission-mode", "plan", program=REAL, env=env)

        assert (ran.code, ran.out) == (0, f"{PLAN}\n")
        assert [results(request)[0][2] for request in server.requests[1:]] == [True, True]
    assert not (shell.folder / "new.txt").exists()
