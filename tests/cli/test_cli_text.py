"""What a person sees: the answer on stdout, and with --verbose the way there on stderr."""

from __future__ import annotations

from interlock.cli.render import Live
from phases.world.failures import Failure, FailureKind
from phases.world.messages import Kind, Message, Text, ToolResult, ToolUse
from phases.world.updates import (
    AttemptDropped,
    Compaction,
    ModelSwitched,
    Notice,
    Recorded,
    Retrying,
    TextArrived,
    ToolProgress,
    ToolRunning,
    ToolStarted,
    Update,
)
from tests.cli.shell import Shell


def live(*updates: Update) -> str:
    said: list[str] = []
    watcher = Live(said.append)
    for update in updates:
        watcher.show(update)
    return "".join(said)


def test_a_verbose_run_tells_its_way_on_stderr_alone(shell: Shell) -> None:
    ran = shell.run("-p", "hi", "--verbose", env={"FAKE": "tool"})

    assert (ran.code, ran.out) == (0, "two files\n")
    assert ran.err.splitlines() == [
        "◌ overloaded; attempt 1 of 8 in 0.5 s",
        '● Bash {"command":"ls"}',
        "  └ one (+1 line)",
        "◌ looked once",
    ]


def test_text_is_told_as_it_comes_and_a_line_after_it_starts_anew() -> None:
    failure = Failure(kind=FailureKind.CUT, message="the stream broke off")

    told = live(
        TextArrived("I th"),
        TextArrived("ink"),
        AttemptDropped(),
        Retrying(failure, 2, 8, 1.0),
        ModelSwitched("a", "b"),
        Compaction("auto", 90_000, 4_000),
        ToolProgress("t", "half\n"),
        Notice("warning", "look out"),
    )

    assert told == (
        "I think\n"
        "… (does not count: the answer was not whole)\n"
        "◌ the stream broke off; attempt 2 of 8 in 1.0 s\n"
        "◌ a is overloaded; b takes over\n"
        "◌ history summarised: 90,000 tokens to 4,000\n"
        "  │ half\n"
        "! look out\n"
    )


def test_nothing_the_model_or_a_tool_says_can_steer_the_terminal() -> None:
    escape = "\x1b[2J"
    result = Message(
        id="r",
        role="user",
        kind=Kind.RESULT,
        content=(ToolResult("t", (Text(escape),), is_error=True),),
    )

    told = live(
        TextArrived(f"{escape}\n"),
        ToolStarted(ToolUse("t", "Bash", {"command": escape})),
        Recorded(result),
    )

    assert "\x1b" not in told
    assert told.count("\\x1b[2J") + told.count("\\u001b[2J") == 3


def test_a_call_that_runs_long_is_mentioned_more_and_more_rarely() -> None:
    call = ToolUse("t", "Bash", {"command": "make"})

    told = live(*(ToolRunning(call, 5.0 * n) for n in range(1, 121)))

    assert told.splitlines()[:3] == [
        "  ◌ Bash is still running, 5 s",
        "  ◌ Bash is still running, 10 s",
        "  ◌ Bash is still running, 20 s",
    ]
    assert told.count("\n") == 7  # in ten minutes
