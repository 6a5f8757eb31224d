"""The session at a terminal: typed at a real pseudo-terminal, answered by a scripted model."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import subprocess
import termios
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest
from attrs import define

from interlock.scripted import Answer, ServerThread, reply, tool_use
from tests.cli.shell import REAL, Shell

PATIENCE_S = 30


@define
class Person:
    """Who sits at the terminal."""

    screen: int
    process: subprocess.Popen[bytes]
    seen: str = ""

    def sees(self, words: str) -> None:
        """Wait until these words have come, and forget what stood before them."""
        until = time.monotonic() + PATIENCE_S
        while words not in self.seen:
            assert time.monotonic() < until, f"never came: {words!r}; but: {self.seen[-2000:]}"
            if select.select([self.screen], [], [], 0.2)[0]:
                try:
                    self.seen += os.read(self.screen, 65536).decode(errors="replace")
                except OSError:  # the other side is closed
                    raise AssertionError(f"gone before {words!r}: {self.seen}") from None
        self.seen = self.seen.partition(words)[2]

    def types(self, keys: str) -> None:
        os.write(self.screen, keys.encode())

    def ends(self) -> int:
        """The exit code; reads on meanwhile, as a terminal does."""
        until = time.monotonic() + PATIENCE_S
        while self.process.poll() is None:
            assert time.monotonic() < until, f"does not end: {self.seen[-2000:]}"
            if select.select([self.screen], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self.screen, 65536).decode(errors="replace")
                except OSError:
                    break
        return self.process.wait(PATIENCE_S)


def _take_terminal() -> None:
    """In the child: questions are asked at its controlling terminal."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@contextmanager
def seated(
    shell: Shell, answers: Sequence[Answer], *argv: str
) -> Iterator[tuple[Person, ServerThread]]:
    screen, terminal = pty.openpty()
    with ServerThread(answers) as server:
        env = {"ANTHROPIC_BASE_URL": server.base_url, "TERM": "xterm", "COLUMNS": "200"}
        process = subprocess.Popen(
            [*REAL, *argv],
            cwd=shell.folder,
            env=shell.environ(**env),
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            start_new_session=True,
            preexec_fn=_take_terminal,
        )
        os.close(terminal)
        try:
            yield Person(screen, process), server
        finally:
            process.kill()
            process.wait()
            os.close(screen)


def test_prompts_are_answered_one_after_another_in_one_session(shell: Shell) -> None:
    with seated(shell, [reply("Hello there."), reply("Still here.")]) as (person, server):
        person.sees("/help lists the commands")
        person.types("hi\r")
        person.sees("Hello there.")
        person.types("and now?\r")
        person.sees("Still here.")
        person.types("/exit\r")

        assert person.ends() == 0
        assert len(server.requests[1].body["messages"]) == 3
        assert len(shell.transcripts) == 1


def test_the_prompt_of_the_command_line_is_the_first(shell: Shell) -> None:
    with seated(shell, [reply("Hello there.")], "hi") as (person, _):
        person.sees("Hello there.")
        person.types("/exit\r")

        assert person.ends() == 0


def test_what_is_typed_while_tools_run_is_read_at_the_next_stop(shell: Shell) -> None:
    waits = "touch here; until test -e go; do sleep 0.05; done; echo went"
    answers = [reply(tool_use("Bash", {"command": waits})), reply("As you wish.")]
    with seated(shell, answers, "--permission-mode", "bypassPermissions") as (person, server):
        person.sees("/help lists the commands")
        person.types("work\r")
        person.sees("● Bash")
        person.types("in blue, please\r")
        person.sees("reads it at its next stop")
        (shell.folder / "go").touch()
        person.sees("As you wish.")
        person.types("/exit\r")

        assert person.ends() == 0
        assert "in blue, please" in str(server.requests[1].body["messages"][-1])
        assert len(server.requests) == 2


def test_ctrl_c_stops_the_run_and_not_the_session(shell: Shell) -> None:
    waits = "touch here; sleep 600"
    answers = [reply(tool_use("Bash", {"command": waits})), reply("Better now.")]
    with seated(shell, answers, "--permission-mode", "bypassPermissions") as (person, server):
        person.sees("/help lists the commands")
        person.types("work\r")
        person.sees("● Bash")
        person.types("\x03")
        person.sees("Interrupted")
        person.types("again\r")
        person.sees("Better now.")
        person.types("/exit\r")

        assert person.ends() == 0
        assert server.verdict() == ()


def test_a_question_is_answered_where_it_is_asked(shell: Shell) -> None:
    answers = [reply(tool_use("Bash", {"command": "echo made > made.txt"})), reply("Made.")]
    with seated(shell, answers) as (person, _):
        person.sees("/help lists the commands")
        person.types("make it\r")
        person.sees("[y] yes")
        person.types("y\n")
        person.sees("Made.")
        person.types("/exit\r")

        assert person.ends() == 0
        assert (shell.folder / "made.txt").read_text() == "made\n"


def test_the_conversation_can_be_summarised_looked_at_and_begun_anew(shell: Shell) -> None:
    answers = [
        reply("First."),
        reply("We said hello."),
        reply("Second."),
        reply("Third."),
    ]
    with seated(shell, answers) as (person, server):
        person.sees("/help lists the commands")
        person.types("hello\r")
        person.sees("First.")
        person.types("/context\r")
        person.sees("system prompt, tools, notes")
        person.types("/compact the greeting\r")
        person.sees("the conversation is summarised")
        person.types("go on\r")
        person.sees("Second.")
        person.types("/cost\r")
        person.sees("tokens in")
        person.types("/clear\r")
        person.sees("/help lists the commands")
        person.types("new\r")
        person.sees("Third.")
        person.types("/exit\r")

        assert person.ends() == 0
        assert "the greeting" in str(server.requests[1].body)
        assert "We said hello." in str(server.requests[2].body["messages"])
        assert len(server.requests[3].body["messages"]) == 1
        assert len(shell.transcripts) == 2


def test_what_is_typed_behind_a_command_is_for_what_comes_after_it(shell: Shell) -> None:
    waits = "touch here; until test -e go; do sleep 0.05; done"
    answers = [reply(tool_use("Bash", {"command": waits})), reply("First."), reply("Second.")]
    with seated(shell, answers, "--permission-mode", "bypassPermissions") as (person, server):
        person.sees("/help lists the commands")
        person.types("work\r")
        person.sees("● Bash")
        person.types("/clear\r")
        person.sees("done when the agent has finished")
        person.types("something new\r")
        person.sees("read when that command is done")
        (shell.folder / "go").touch()
        person.sees("First.")
        person.sees("Second.")
        person.types("/exit\r")

        assert person.ends() == 0
        assert "something new" not in str(server.requests[1].body)
        assert len(server.requests[2].body["messages"]) == 1
        assert len(shell.transcripts) == 2


def test_the_permission_mode_can_be_changed_on_the_way(shell: Shell) -> None:
    answers = [
        reply(tool_use("Bash", {"command": "echo made > made.txt"})),
        reply("It was refused."),
        reply(tool_use("Bash", {"command": "echo made > made.txt"})),
        reply("Made."),
    ]
    with seated(shell, answers, "--permission-mode", "dontAsk") as (person, _):
        person.sees("/help lists the commands")
        person.types("make it\r")
        person.sees("It was refused.")
        person.types("/mode nonsense\r")
        person.sees("there are default, acceptEdits")
        person.types("/mode bypassPermissions\r")
        person.sees("permission mode: bypassPermissions")
        person.types("make it\r")
        person.sees("Made.")
        person.types("/exit\r")

        assert person.ends() == 0
        assert (shell.folder / "made.txt").read_text() == "made\n"


def test_a_mistyped_command_is_no_prompt(shell: Shell) -> None:
    with seated(shell, []) as (person, server):
        person.sees("/help lists the commands")
        person.types("/compat\r")
        person.sees("did you mean /compact?")
        person.sees("\x1b[?25h")  # the line to type on is back
        person.types("/help\r")
        person.sees("Ctrl-C stops what runs")
        person.sees("\x1b[?25h")
        person.types("\x04")

        assert person.ends() == 0
        assert not server.requests


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_ends_the_session_and_saves_it(shell: Shell, number: int, code: int) -> None:
    waits = "sleep 600"
    answers = [reply(tool_use("Bash", {"command": waits}))]
    with seated(shell, answers, "--permission-mode", "bypassPermissions") as (person, _):
        person.sees("/help lists the commands")
        person.types("work\r")
        person.sees("● Bash")
        person.process.send_signal(number)

        assert person.ends() == code
        assert "Interrupted by the user" in shell.transcripts[0].read_text()
