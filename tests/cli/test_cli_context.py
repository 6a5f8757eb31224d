"""What fills the window, and the story of a run, from the command line."""

from __future__ import annotations

import re
from pathlib import Path

from interlock.scripted import ServerThread, reply, text, thinking, tool_use
from tests.cli.shell import REAL, ROOT, Ran, Shell

REACTIVE = str(ROOT / "tests" / "golden" / "reactive_compact.trace.jsonl")
SMALL = {
    "INTERLOCK_CONTEXT_WINDOW": "12000",
    "INTERLOCK_MICROCOMPACT_KEEP_TURNS": "2",
    "INTERLOCK_MICROCOMPACT_LEAST_TURNS": "1",
}


def interlock(shell: Shell, *arguments: str) -> Ran:
    return shell.run(*arguments, program=REAL)


def reads(shell: Shell, times: int, env: dict[str, str]) -> Ran:
    """A run that reads a file of some 1,500 tokens so many times, then answers."""
    (shell.folder / "a.txt").write_text("one line of some length, and then the next\n" * 120)
    call = tool_use("Read", {"file_path": "a.txt"})
    answers = [reply("I look", call) for _ in range(times)]
    thought = reply(thinking("hm", "sig-1"), text("Done."))
    with ServerThread([*answers, thought]) as server:
        return shell.run(
            *("-p", "read it", "--model", "of-ours", "--tools", "Read"),
            program=REAL,
            env={"ANTHROPIC_BASE_URL": server.base_url, **env},
        )


def parts(said: str) -> dict[str, int]:
    rows = re.findall(r"^  (\S.*?)  +([\d,]+)  +\d+%", said, re.M)
    return {name: int(tokens.replace(",", "")) for name, tokens in rows}


def test_the_gauge_shows_what_is_in_the_window_and_what_made_room(shell: Shell) -> None:
    assert reads(shell, 9, SMALL).code == 0

    ran = interlock(shell, "context", "last")

    assert (ran.code, ran.err) == (0, "")
    first, size, *lines = ran.out.splitlines()
    assert first.endswith("ended: completed")
    counted = int(size.split()[0].replace(",", ""))
    found = parts(ran.out)
    assert set(found) >= {
        *("system prompt, tools, notes", "results of Read", "calls of tools", "thinking"),
        *("replies", "the user's messages"),
    }
    # Cleared outputs are not counted as if they stood there still: 9 results do not fit.
    assert found["results of Read"] < 12_000
    assert 0.7 < sum(found.values()) / counted < 1.4
    assert any(line.startswith("heaviest: ") for line in lines)
    assert "thresholds: warning from 8,400 (70%), autocompact from 9,000 (75%), hard" in ran.out
    assert re.search(r"^  microcompact +[\d,]+ tokens, ", ran.out, re.M)
    assert "compactions: 0 automatic, 0 reactive" in ran.out


def test_a_run_in_which_nothing_had_to_go_says_so(shell: Shell) -> None:
    reads(shell, 1, {})

    ran = interlock(shell, "context", "last")

    assert "no level of the context pipeline had to free anything" in ran.out


def test_a_trace_without_its_transcript_tells_what_it_knows(shell: Shell) -> None:
    ran = interlock(shell, "context", REACTIVE)

    assert (ran.code, ran.err) == (0, "")
    first, unknown, thresholds, *rest = ran.out.splitlines()
    assert first == "run reactive_compact; ended: completed"
    assert unknown.startswith("what fills the window is not known: ")
    assert thresholds.endswith("hard limit from 197,000 (98%)")
    assert rest == [
        "fullest in this run: 197 tokens",
        "compactions: 0 automatic, 1 reactive",
        "no level of the context pipeline had to free anything",
    ]


def test_a_trace_that_this_table_does_not_follow_is_told_as_far_as_it_does(
    shell: Shell,
) -> None:
    bent = shell.folder / "bent.trace.jsonl"
    whole = Path(REACTIVE).read_text()
    bent.write_text(whole.replace('"outcome":"Drained"', '"outcome":"Drowned"'))

    ran = interlock(shell, "context", str(bent))

    assert ran.code == 1
    assert ran.out.splitlines()[1].startswith("as it was after 12 of 26 steps: ")
    assert ran.err == f"interlock: {bent}: no outcome is called Drowned\n"


# --- explain, without a step -----------------------------------------------------------------


def test_a_reactive_compaction_reads_as_a_story(shell: Shell) -> None:
    ran = interlock(shell, "explain", REACTIVE)

    assert (ran.code, ran.err) == (0, "")
    paragraphs = ran.out.split("\n\n")
    assert paragraphs[0] == "run reactive_compact, 26 steps in 0.00 s; ended: completed"
    way, *told = [each for each in paragraphs if re.match(r"#1[3-8] ", each)]
    assert way == (
        "#13 to #16  preprocess (128 tokens), blocking_check, api_call (prompt_too_long), "
        "abort_check"
    )
    assert told[0].startswith(
        "#17  recovery.classify went to recovery.reactive_compact, because compaction_may_help "
        "and\n    reactive_compact_left held. Not to recovery.collapse_drain, although\n"
        "    prompt_too_long_withheld held: collapses_staged was False.\n"
    )
    assert "reactive_compact_left: The step is configured and has not been used" in told[0]
    assert "reactive_compact_retry: Ask again with a summary in place of the history." in told[1]
    assert "state.has_attempted_reactive_compact: now True" in told[1]


def test_one_step_says_what_each_guard_asks(shell: Shell) -> None:
    ran = interlock(shell, "explain", REACTIVE, "--step", "17")

    assert "      True   reactive_compact_left: The step is configured and has not" in ran.out
    assert "      False  collapses_staged" in ran.out
    assert "passed over because guard collapses_staged was False" in ran.out
