"""Runs decided again, run again and kept, from the command line."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from interlock.scripted import ServerThread, reply, tool_use
from interlock.what_if import Verdict, change_of, told
from tests.cli.shell import REAL, ROOT, Ran, Shell

UNRECORDED = Verdict(steps=3, of=3, divergence=None, was=(0.8,), decided_only=True)
GOLDEN = ROOT / "tests" / "golden"


def interlock(shell: Shell, *arguments: str) -> Ran:
    return shell.run(*arguments, program=REAL)


@pytest.fixture
def recorded(shell: Shell) -> Shell:
    """A shell in which one run was recorded."""
    (shell.folder / "notes.txt").write_text("remember the milk\n" + "and the rest\n" * 900)
    answers = [
        reply("I look", tool_use("Read", {"file_path": "notes.txt"})),
        reply("There is milk."),
    ]
    with ServerThread(answers) as server:
        ran = shell.run(
            *("-p", "what is in notes.txt?"),
            program=REAL,
            env={"ANTHROPIC_BASE_URL": server.base_url},
        )
    assert (ran.code, ran.err) == (0, "")
    return shell


def test_a_recorded_run_is_decided_again_and_run_again(recorded: Shell) -> None:
    ran = interlock(recorded, "replay", "last")

    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[0].endswith(": 14 steps, all agree")
    assert ran.out.splitlines()[-1].endswith(": run again, 14 steps, the same to the byte")


def test_a_run_is_kept_as_a_golden_test_in_one_command(recorded: Shell, tmp_path: Path) -> None:
    kept = interlock(recorded, "record", "last", "--out", "milk.recording.jsonl")
    shutil.rmtree(recorded.home)
    ran = interlock(recorded, "replay", "milk.recording.jsonl")
    again = interlock(recorded, "record", "last", "--out", "milk.recording.jsonl")

    assert kept.out == (
        "milk.recording.jsonl: 14 steps; "
        "run it again with: interlock replay milk.recording.jsonl\n"
    )
    assert ran.out == "milk: run again, 14 steps, the same to the byte\n"
    assert again.code == 1


def test_a_recording_tells_its_run_like_a_trace(recorded: Shell) -> None:
    interlock(recorded, "record", "last", "--out", "milk.recording.jsonl")
    (beside,) = recorded.home.glob("projects/*/*/runs/*.recording.jsonl*")

    for name in ("milk.recording.jsonl", str(beside)):
        told, why, filled = (
            interlock(recorded, command, name) for command in ("trace", "explain", "context")
        )

        assert (told.code, told.err, why.code, why.err) == (0, "", 0, "")
        assert told.out.splitlines()[-1].startswith("14 steps in ")
        assert "abort_check went to tools, because needs_follow_up held" in why.out
        assert (filled.code, filled.err) == (0, "")


def test_a_kept_recording_is_never_overwritten_and_the_way_out_is_said(recorded: Shell) -> None:
    first = interlock(recorded, "record", "last")
    second = interlock(recorded, "record", "last")
    third = interlock(recorded, "record", "last", "--out", "other.recording.jsonl")

    (kept,) = [
        each.name for each in recorded.folder.glob("*.recording.jsonl") if "other" not in each.name
    ]
    assert (first.code, second.code, third.code) == (0, 1, 0)
    assert second.err == (
        f"interlock: {kept} is there already and is never overwritten; "
        "name another with --out FILE, or remove it first\n"
    )


def test_a_recording_that_is_cut_off_is_run_again_up_to_there(recorded: Shell) -> None:
    interlock(recorded, "record", "last", "--out", "milk.recording.jsonl")
    path = recorded.folder / "milk.recording.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: len(lines) // 2]) + b'{"torn')

    again, told, kept = (
        interlock(recorded, *command, "milk.recording.jsonl")
        for command in (["replay"], ["trace"], ["record", "--out", "new.recording.jsonl"])
    )

    where = f"interlock: milk.recording.jsonl:{len(lines) // 2 + 1}: is cut off"
    assert again.code == 1
    assert again.err == f"{where}; it is run again up to there\n"
    assert "nothing to compare them with, up to where the recording is damaged" in again.out
    assert (told.code, told.out) == (1, "")
    assert told.err == (
        f"{where}; the trace stood behind that; try: interlock replay milk.recording.jsonl\n"
    )
    assert kept.code == 1


def test_a_run_whose_trace_is_damaged_is_run_again_all_the_same(recorded: Shell) -> None:
    (trace,) = recorded.home.glob("projects/*/*/runs/*.trace.jsonl")
    lines = trace.read_bytes().splitlines(keepends=True)
    trace.write_bytes(b"".join([*lines[:5], b"{damaged\n", *lines[6:]]))

    again = interlock(recorded, "replay", "last")
    supposed = interlock(recorded, "replay", "--what-if", "--set", "max_recoveries=1", "last")

    assert (again.code, supposed.code) == (1, 0)
    assert "from step 4 on nothing can be decided" in again.out
    assert again.out.endswith(
        "run again, 14 steps, the same to the byte but for line 6, which is damaged in its trace\n"
    )
    assert supposed.out.endswith("0 of 1 run differ\n")


def test_a_run_is_kept_without_its_secrets(recorded: Shell) -> None:
    out = ("--out", "milk.recording.jsonl", "--scrub", "--secret", "milk")
    kept = interlock(recorded, "record", "last", *out)
    ran = interlock(recorded, "replay", "milk.recording.jsonl")

    assert "14 steps, 1 secret taken out; run it again" in kept.out
    assert "the same to the byte" in ran.out
    assert "milk" not in (recorded.folder / "milk.recording.jsonl").read_text()


def test_a_recording_that_was_changed_is_shown_side_by_side(recorded: Shell) -> None:
    interlock(recorded, "record", "last", "--out", "milk.recording.jsonl")
    path = recorded.folder / "milk.recording.jsonl"
    first, rest = path.read_text().split('"Text","text":"There is milk."', 1)
    path.write_text(f'{first}"Text","text":"There is mold."{rest}')

    ran = interlock(recorded, "replay", "milk.recording.jsonl")

    assert ran.code == 1
    assert ran.out.startswith("milk: run again, it is another run\nthe transcript parts at line ")
    recorded_line, now_line, mark = ran.out.splitlines()[-3:]
    assert "There is milk." in recorded_line
    assert "There is mold." in now_line
    assert now_line[mark.index("^")] == "o"


def test_a_run_that_was_not_recorded_is_decided_again_and_says_why_no_more(shell: Shell) -> None:
    with ServerThread([reply("Hello.")]) as server:
        env = {"ANTHROPIC_BASE_URL": server.base_url}
        shell.run("-p", "hi", "--no-record", program=REAL, env=env)

    kept, ran = interlock(shell, "record", "last"), interlock(shell, "replay", "last")

    assert (kept.code, kept.out) == (1, "")
    assert "cannot be kept: what the world answered was not recorded" in kept.err
    assert ran.code == 0
    assert "steps, all agree\n" in ran.out
    assert ran.out.endswith(", so it cannot be run again\n")


def test_what_if_names_the_runs_that_would_have_gone_elsewhere(shell: Shell) -> None:
    ran = interlock(shell, "replay", "--what-if", "--set", "recoveries=1", str(GOLDEN))

    *told, count = ran.out.splitlines()
    assert ran.code == 1
    assert told[0] == "truncated: 19 of 27 steps stay as they were"
    assert "  guard recoveries_left changed its mind: True -> False" in told
    assert count.startswith("with max_recoveries 1 instead of 3: 1 of ")
    assert count.endswith(" runs differs")


def test_what_if_takes_features_and_budgets_by_their_names(shell: Shell) -> None:
    changes = ("--set", "output_cap=off", "--set", "max_turns=5")
    files = [str(GOLDEN / f"{name}.trace.jsonl") for name in ("truncated", "worked_example")]

    ran = interlock(shell, "replay", "--what-if", *changes, *files)

    assert ran.out.splitlines()[-1] == (
        "with output_cap off instead of on, max_turns 5 instead of none: 2 of 2 runs differ"
    )
    assert "guard can_escalate changed its mind: True -> False" in ran.out
    assert "guard turn_limit_reached changed its mind: False -> True" in ran.out


def test_what_if_runs_a_recorded_run_again_under_another_threshold(recorded: Shell) -> None:
    ran = interlock(
        recorded, "replay", "--what-if", "--set", "compact_threshold=0.01", str(recorded.home)
    )

    step, then, now, unknown, _, count = ran.out.splitlines()[1:]
    assert ran.code == 1
    assert step == "in step 7 of 14, preprocess:"
    assert then == "  recorded  goes on to the next step"
    assert now == "  now       is about to compact the history"
    assert "cannot be known" in unknown
    assert count == "with compact_threshold 0.01 instead of 0.9: 1 of 1 run differs"


def test_what_if_says_which_runs_cannot_show_it() -> None:
    changes, verdicts = [change_of("compact_threshold=0.5")], [UNRECORDED]

    assert told(changes, None, verdicts).endswith(
        "1 run cannot show it: compact_threshold is read where nothing was recorded"
    )


@pytest.mark.parametrize(
    "name", ["permission_mode", "permissions", "hooks", "sandbox", "allowedTools", "allow"]
)
def test_what_if_refuses_what_no_replay_can_judge(shell: Shell, name: str) -> None:
    ran = interlock(shell, "replay", "--what-if", "--set", f"{name}=x", str(GOLDEN))

    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        f"interlock: --set {name}=x: no replay can judge that: "
        "what permissions, hooks and tools answered is played as it was then\n"
    )


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ("max_concurrent_tools=1", "what permissions, hooks and tools answered is played"),
        ("stream_idle_s=3", "what the model answered, and how long it took, is played"),
    ],
)
def test_what_if_says_that_a_run_which_stays_the_same_says_nothing_of_a_setting(
    shell: Shell, change: str, why: str
) -> None:
    ran = interlock(shell, "replay", "--what-if", "--set", change, str(GOLDEN))

    name, _, _ = change.partition("=")
    assert ran.code == 0
    assert f"differ; that says nothing about {name}: {why}" in ran.out


def test_what_if_takes_another_table(shell: Shell) -> None:
    (shell.folder / "mine.py").write_text(
        "from attrs import evolve\n"
        "from fsm import name_of\n"
        "from interlock.table import LOOP\n"
        "def kept(edge):\n"
        "    return tuple(g for g in edge.guards if name_of(g) != 'blocks_left')\n"
        "TABLE = LOOP.with_edges(evolve(edge, guards=kept(edge)) for edge in LOOP.edges)\n"
    )

    ran = interlock(shell, "replay", "--what-if", "--table", "mine:TABLE", str(GOLDEN))

    assert ran.code == 1
    assert "with the table mine:TABLE: " in ran.out.splitlines()[-1]
    assert "stop_hooks: 24 of 25 steps" in ran.out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["--what-if", "--set", "recovery=1"],
            (
                "--set recovery=1: no setting of a run is called recovery; "
                "did you mean max_recoveries?"
            ),
        ),
        (
            ["--what-if", "--set", "max_recoveries=x"],
            "--set max_recoveries=x: max_recoveries is 'x'; set a whole number from 0 up",
        ),
        (
            ["--what-if", "--set", "nope=1"],
            "--set nope=1: no setting of a run is called nope; see: interlock config show",
        ),
        (
            ["--what-if", "--set", "window_reserve=900000"],
            (
                "--set window_reserve=900000: context_window is 200000, which the reserve of "
                "900000 uses up; set a larger window or a smaller INTERLOCK_WINDOW_RESERVE"
            ),
        ),
        (["--set", "recoveries=1"], "--set and --table ask what if: add --what-if"),
        (["--what-if", "--table", "mine"], "--table mine: write MODULE:NAME, like my_table:LOOP"),
    ],
)
def test_what_cannot_be_asked_is_one_line(shell: Shell, arguments: list[str], line: str) -> None:
    ran = interlock(shell, "replay", *arguments, str(GOLDEN))

    assert (ran.code, ran.out, ran.err) == (1, "", f"interlock: {line}\n")
