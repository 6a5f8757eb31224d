"""Looking at recorded runs and at the machine, from the command line."""

from __future__ import annotations

import shutil
from pathlib import Path

import orjson
import pytest

from fsm import Step, TraceWriter, header_of, record_of
from interlock import records
from interlock.home import SessionPaths
from interlock.table import LOOP
from phases.world.loop import Loop
from tests.cli.shell import REAL, Ran, Shell
from tests.sessions.test_records import fresh, turn

RUN = "00000000-0000-4000-8000-0000000000aa"
SESSION = "10000000-0000-4000-8000-0000000000bb"


def write_trace(path: Path, steps: list[Step[Loop]]) -> None:
    start = records.start(steps[0].before)
    with TraceWriter(header_of(LOOP, chain_id="c", depth=0, start=start), path) as writer:
        for number, step in enumerate(steps):
            writer.write(
                record_of(
                    step,
                    sequence=number,
                    time=1_700_000_000.0 + number / 2,
                    payload=records.payload(step.outcome, step.before),
                    changed=records.changes(step.before, step.after),
                    chain_id="c",
                    depth=0,
                )
            )


@pytest.fixture
def trace(shell: Shell) -> Path:
    path = SessionPaths.of(shell.home, shell.folder, SESSION).trace(RUN)
    path.parent.mkdir(parents=True)
    write_trace(path, turn(fresh()))
    return path


def interlock(shell: Shell, *arguments: str) -> Ran:
    return shell.run(*arguments, program=REAL)


@pytest.mark.usefixtures("trace")
def test_a_trace_tells_the_run_edge_by_edge(shell: Shell) -> None:
    ran = interlock(shell, "trace", "last")

    assert (ran.code, ran.err) == (0, "")
    assert ran.out == (
        f"run {RUN}, session {SESSION}, 2023-11-14 22:13:20 UTC\n"
        "   0     0.00  preprocess                 -> blocking_check      7 tokens\n"
        "   1     0.50  blocking_check             -> api_call\n"
        "   2     1.00  api_call                   -> abort_check         1,027 in, 47 out\n"
        "   3     1.50  abort_check                -> tools               needs_follow_up\n"
        "   4     2.00  tools                      -> attachments         1 result\n"
        "   5     2.50  attachments                -> continuation\n"
        "   6     3.00  continuation               -> preprocess          next_turn\n"
        "7 steps; not over: the trace stops at preprocess\n"
    )


def test_json_prints_the_records_as_they_are(shell: Shell, trace: Path) -> None:
    ran = interlock(shell, "trace", RUN[:30], "--json")

    assert ran.out == trace.read_text()
    assert orjson.loads(ran.out.splitlines()[0])["machine"] == "loop"


@pytest.mark.usefixtures("trace")
def test_a_step_is_explained_with_the_edges_that_were_not_taken(shell: Shell) -> None:
    ran = interlock(shell, "explain", SESSION, "--step", "3")

    assert ran.code == 0
    assert ran.out.startswith("#3 abort_check, told Checked, went to tools\n")
    assert "passed over because guard aborted was False" in ran.out


@pytest.mark.usefixtures("trace")
def test_a_step_that_is_not_there_is_refused(shell: Shell) -> None:
    ran = interlock(shell, "explain", "last", "--step", "7")

    assert (ran.code, ran.out) == (1, "")
    assert ran.err == f"interlock: run {RUN} has no step 7: its steps are 0 to 6\n"


def test_a_recorded_run_takes_its_decisions_again(shell: Shell, trace: Path) -> None:
    ran = interlock(shell, "replay", "last", str(trace))

    told = [line for line in ran.out.splitlines() if "cannot be run again" not in line]
    assert (ran.code, told) == (0, [f"{RUN}: 7 steps, all agree; not over"] * 2)


@pytest.mark.parametrize("payload", [None, [], "x"])
def test_a_record_whose_payload_is_no_object_ends_what_can_be_decided(
    shell: Shell, trace: Path, payload: object
) -> None:
    lines = trace.read_bytes().splitlines()
    lines[1] = orjson.dumps(orjson.loads(lines[1]) | {"payload": payload})
    trace.write_bytes(b"\n".join(lines) + b"\n")

    again, filled = (interlock(shell, command, str(trace)) for command in ("replay", "context"))

    problem = "no Prepared of this version: it is no JSON object"
    assert (again.code, again.err) == (1, "")
    assert again.out.startswith(
        f"{RUN}: 0 of 7 steps agree\nfrom step 0 on nothing can be decided: {problem}\n"
    )
    assert (filled.code, filled.out) == (1, "")
    assert filled.err == f"interlock: {trace}: {problem}\n"


# --- a damaged line --------------------------------------------------------------------------


@pytest.fixture
def damaged(trace: Path) -> Path:
    """The record of step 3 was overwritten by something else."""
    lines = trace.read_bytes().splitlines()
    lines[4] = b"\x00" * 40
    trace.write_bytes(b"\n".join(lines) + b"\n")
    return trace


def told_of(damaged: Path) -> str:
    return f"interlock: {damaged}:5: is no JSON: "


def test_a_damaged_trace_is_told_with_the_step_that_is_missing(
    shell: Shell, damaged: Path
) -> None:
    ran = interlock(shell, "trace", "last")

    assert ran.code == 1
    assert ran.err.startswith(told_of(damaged))
    assert ran.err.count("\n") == 1
    assert [line.split()[0] for line in ran.out.splitlines()[1:-1]] == list("0123456")
    assert ran.out.splitlines()[4] == "   3           (cannot be read)"
    assert ran.out.splitlines()[-1] == (
        "7 steps, 1 of which cannot be read; not over: the trace stops at preprocess"
    )


def test_json_leaves_a_damaged_line_out(shell: Shell, damaged: Path) -> None:
    ran = interlock(shell, "trace", "last", "--json")

    assert (ran.code, ran.err.startswith(told_of(damaged))) == (1, True)
    assert [one.get("sequence") for one in ran.lines] == [None, 0, 1, 2, 4, 5, 6]


def test_a_damaged_trace_is_explained_without_the_step_that_is_missing(
    shell: Shell, damaged: Path
) -> None:
    ran, one = (interlock(shell, "explain", "last", *step) for step in ([], ["--step", "3"]))

    assert (ran.code, ran.err.startswith(told_of(damaged))) == (1, True)
    assert "\n#3  This step cannot be read.\n" in ran.out
    assert "\n#4 to #6  tools (1 result), attachments, continuation" in ran.out
    assert one.code == 1
    assert one.err.endswith(f"interlock: step 3 of run {RUN} cannot be read\n")


def test_of_a_damaged_trace_the_window_is_told_up_to_there(shell: Shell, damaged: Path) -> None:
    ran = interlock(shell, "context", "last")

    assert ran.code == 1
    assert ran.out.splitlines()[1] == "as it was after 3 of 7 steps: the rest cannot be followed"
    assert "fullest in this run: 7 tokens" in ran.out
    assert ran.err.startswith(told_of(damaged))


def test_of_a_damaged_trace_all_is_decided_that_can_be(shell: Shell, damaged: Path) -> None:
    again, supposed = (
        interlock(shell, "replay", *more, "last")
        for more in ([], ["--what-if", "--set", "max_recoveries=5"])
    )

    assert (again.code, supposed.code) == (1, 1)
    assert again.err.startswith(told_of(damaged))
    assert again.out.startswith(
        f"{RUN}: 3 of 7 steps agree\nfrom step 3 on nothing can be decided: it cannot be read\n"
    )
    assert "1 run could be followed in part only" in supposed.out


def test_a_damaged_header_costs_the_decisions_and_nothing_else(shell: Shell, trace: Path) -> None:
    _, *rest = trace.read_bytes().splitlines()
    trace.write_bytes(b"\n".join([b"{", *rest]) + b"\n")

    told, why, again = (
        interlock(shell, command, "last") for command in ("trace", "explain", "replay")
    )

    assert (told.code, why.code, again.code) == (1, 1, 1)
    assert f"{trace}:1: the header is no JSON" in told.err
    assert "7 steps; not over" in told.out
    assert "abort_check went to tools, because needs_follow_up held" in why.out
    assert "none of 7 steps can be decided" in again.out


def test_one_run_that_cannot_be_read_takes_nothing_from_those_beside_it(
    shell: Shell, trace: Path
) -> None:
    other = trace.with_name("00000000-0000-4000-8000-000000000000.trace.jsonl")
    other.write_bytes(b"junk\n")

    ran = interlock(shell, "replay", str(trace.parent))

    assert ran.code == 1
    assert f"{RUN}: 7 steps, all agree" in ran.out
    assert ran.err.startswith(f"interlock: {other}:1: is no JSON")


def test_a_record_that_was_changed_is_found(shell: Shell, trace: Path) -> None:
    text = trace.read_text().replace('"needs_follow_up",true', '"needs_follow_up",false')
    trace.write_text(text)

    ran = interlock(shell, "replay", "last")

    assert ran.code == 1
    assert ran.out.startswith(f"{RUN}: 3 of 7 steps agree\n")
    assert "guard needs_follow_up changed its mind: False -> True" in ran.out


def test_a_trace_of_another_table_is_named_as_such(shell: Shell, trace: Path) -> None:
    lines = trace.read_bytes().splitlines()
    lines[0] = orjson.dumps(orjson.loads(lines[0]) | {"table": "0123456789ab"})
    trace.write_bytes(b"\n".join(lines) + b"\n")

    ran = interlock(shell, "replay", "last")

    assert ran.code == 0
    assert "7 steps, all agree (made by another table, 0123456789ab)" in ran.out


def test_what_if_compares_only_the_way(shell: Shell, trace: Path) -> None:
    lines = trace.read_bytes().splitlines()
    record = orjson.loads(lines[1])
    record["changed"]["spent.tokens"] = [0, 1]
    lines[1] = orjson.dumps(record)
    trace.write_bytes(b"\n".join(lines) + b"\n")

    whole = interlock(shell, "replay", "last")
    way = interlock(shell, "replay", "last", "--what-if")

    assert (whole.code, way.code) == (1, 0)
    assert "step 0 parts from the record" in whole.out


def test_a_torn_trace_is_told_as_far_as_it_goes(shell: Shell, trace: Path) -> None:
    trace.write_bytes(trace.read_bytes()[:-10])

    ran = interlock(shell, "trace", "last")

    assert ran.code == 0
    assert "6 steps; not over" in ran.out
    assert "cut off after" in ran.err


@pytest.mark.parametrize("command", [["trace", "last"], ["explain", "x", "--step", "0"]])
def test_no_runs_is_one_line(shell: Shell, command: list[str]) -> None:
    ran = interlock(shell, *command)

    assert (ran.code, ran.out) == (1, "")
    assert "no run is recorded under" in ran.err
    assert ran.err.count("\n") == 1


def test_a_file_that_is_no_trace_is_one_line(shell: Shell) -> None:
    (shell.folder / "x.trace.jsonl").write_text('{"a": 1}\n')

    ran = interlock(shell, "replay", "x.trace.jsonl")

    assert (ran.code, ran.out) == (1, "")
    problem = "is not the header of a trace: it names no format"
    assert ran.err == f"interlock: x.trace.jsonl:1: {problem}\n"


# --- diagrams --------------------------------------------------------------------------------


def test_diagrams_are_printed_on_request(shell: Shell) -> None:
    drawn = interlock(shell, "diagram", "loop", "--format", "mermaid")
    table = interlock(shell, "diagram", "loop", "--format", "table")

    assert drawn.out.startswith("stateDiagram-v2\n")
    assert table.out.startswith("| from | guards | to | reason |\n")
    assert not (shell.folder / "diagrams").exists()


def test_diagrams_are_written_and_compared(shell: Shell) -> None:
    missing = interlock(shell, "diagram", "--check")
    written = interlock(shell, "diagram")
    fresh_ones = interlock(shell, "diagram", "--check")
    (shell.folder / "diagrams" / "loop.md").write_text("edited by hand")
    stale = interlock(shell, "diagram", "--check")

    assert (missing.code, written.code, fresh_ones.code, stale.code) == (1, 0, 0, 1)
    assert "diagrams/loop.mmd is missing; run: interlock diagram" in missing.err
    assert written.out.splitlines()[:2] == ["diagrams/loop.mmd", "diagrams/loop.md"]
    assert stale.err == (
        "interlock: diagrams/loop.md is not what the table says; run: interlock diagram\n"
    )


def test_an_unknown_machine_or_flag_is_one_line(shell: Shell) -> None:
    machine = interlock(shell, "diagram", "lop")
    flag = interlock(shell, "trace", "last", "--jsn")

    assert (
        machine.err == "interlock: no machine is called lop; there are: loop, tool_call, "
        "queued_message, background_command, background_agent, mcp_connection\n"
    )
    assert (flag.code, flag.err) == (1, "interlock: unrecognized arguments: --jsn\n")


def test_the_demo_is_somebody_elses_and_gets_its_arguments(shell: Shell, tmp_path: Path) -> None:
    # The package is shadowed by a copy whose demo tells what it was given.
    copy = tmp_path / "copy"
    for package in ("interlock", "fsm", "phases", "recovery"):
        shutil.copytree(
            Path(shell.environ()["PYTHONPATH"]) / package,
            copy / package,
            ignore=shutil.ignore_patterns("__pycache__", "demo"),
        )
    (copy / "interlock" / "demo").mkdir()
    (copy / "interlock" / "demo" / "__init__.py").write_text(
        "def run(argv):\n    print(argv)\n    return 3\n"
    )

    ran = shell.run("demo", "--fast", program=REAL, env={"PYTHONPATH": str(copy)})

    assert (ran.code, ran.out) == (3, "['--fast']\n")
