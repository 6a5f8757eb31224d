"""What `/cost` says of a branch: its own cost begins at zero, and where it came from had its."""

from __future__ import annotations

import re

from interlock.scripted import reply
from tests.cli.shell import Shell
from tests.cli.test_cli_interactive import seated
from tests.cli.test_cli_resume import ID, MODEL, asked


def test_a_branch_says_what_the_session_cost_that_it_came_from(shell: Shell) -> None:
    ran, _ = asked(
        shell, [reply("Red.")], "paint it", "--session-id", ID, "--output-format", "json", *MODEL
    )
    cost = ran.json["total_cost_usd"]
    how = ("--resume", ID, "--fork-session", *MODEL)
    with seated(shell, [reply("Blue.")], *how) as (person, _):
        person.sees("resumed:")
        person.types("/cost\r")
        person.sees(f"{ID[:8]} (paint it), which it is a branch of, has cost ${cost:.4f} itself")
        person.sees("this branch has asked nothing yet: its own cost begins at zero")
        person.types("and blue?\r")
        person.sees("Blue.")
        person.types("/cost\r")
        person.sees("which it is a branch of")
        person.sees("claude-sonnet-4-5: $")
        person.types("/exit\r")

        assert person.ends() == 0


def test_a_branch_of_a_session_that_is_gone_says_so(shell: Shell) -> None:
    asked(shell, [reply("Red.")], "paint it", "--session-id", ID, *MODEL)
    asked(shell, [reply("Blue.")], "and blue?", "--resume", ID, "--fork-session", *MODEL)
    (path,) = shell.home.glob(f"projects/*/{ID}.jsonl")
    path.unlink()
    with seated(shell, [], "--continue", *MODEL) as (person, _):
        person.sees("resumed:")
        person.types("/cost\r")
        person.sees(f"{ID[:8]}, which it is a branch of, is gone")
        person.types("/exit\r")

        assert person.ends() == 0


def test_a_session_of_its_own_says_nothing_of_branches(shell: Shell) -> None:
    with seated(shell, [reply("Red.")], *MODEL) as (person, _):
        person.sees("/help lists the commands")
        person.types("/cost\r")
        person.sees("nothing was asked yet")
        person.types("paint it\r")
        person.sees("Red.")
        person.types("/rename\r")
        person.sees("/rename NAME gives this session a name")
        person.types("/cost\r")
        person.sees("claude-sonnet-4-5: $")
        assert not re.search("branch", person.seen)
        person.types("/exit\r")

        assert person.ends() == 0
