"""A trace goes to a file and back; a damaged line costs that line, and is told."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import orjson
import pytest
import structlog
from hypothesis import example, given
from hypothesis import strategies as st
from structlog.testing import CapturingLogger

from fsm import (
    Record,
    TraceError,
    TraceWriter,
    digest,
    header_of,
    read_trace,
    record_of,
)
from tests.fsm.doors import DOOR, TURNSTILE, Door, Knocked, Waited, Walked, walk

HEADER = header_of(DOOR, chain_id="chain", depth=0, start={"tries": 0})


def records(*payloads: Any) -> tuple[Record, ...]:
    """A visit: two tries, a key, then in. Each payload replaces the plain one of its step."""
    outcomes = (
        Walked(),
        Knocked("silence"),
        Waited(),
        Knocked("locked"),
        Walked(),
        Knocked("come in"),
    )
    given = (*payloads, *({"n": n} for n in range(len(payloads), len(outcomes))))
    return tuple(
        record_of(
            step,
            sequence=n,
            time=1000.5 + n,
            payload=payload,
            changed={"tries": [step.before.tries, step.after.tries]},
            chain_id="chain",
            depth=0,
        )
        for n, (step, payload) in enumerate(
            zip(walk(DOOR, Door(0, 0, 1, 1), *outcomes), given, strict=True)
        )
    )


def written(path: Path, *wanted: Record) -> Path:
    with TraceWriter(HEADER, path) as writer:
        for record in wanted:
            writer.write(record)
    return path


def test_what_was_written_is_what_is_read(tmp_path: Path) -> None:
    trace = read_trace(written(tmp_path / "t.jsonl", *records()))

    assert trace.header == HEADER
    assert trace.records == records()
    assert (trace.damage, trace.lossy) == ((), False)


def test_a_trace_without_a_file_is_kept_in_memory() -> None:
    writer = TraceWriter(HEADER)
    for record in records():
        writer.write(record)

    assert writer.trace.records == records()


def test_a_trace_answers_where_a_run_went_and_why() -> None:
    writer = TraceWriter(HEADER)
    assert (writer.trace.path, writer.trace.ending) == (["ready"], None)

    for record in records():
        writer.write(record)
    trace = writer.trace

    assert trace.path == [
        "ready",
        "knocking",
        "waiting.pause",
        "knocking",
        "ready",
        "knocking",
        "went_in",
    ]
    assert trace.reasons == ("another_key",)
    assert trace.ending == "went_in"
    assert trace.took("knocking", "waiting.pause", "another_try")
    assert trace.took("knocking", "ready")
    assert not trace.took("knocking", "ready", "oiled")
    assert (len(trace), trace[0], list(trace)[-1]) == (6, records()[0], records()[-1])


def test_a_record_names_the_guards_that_let_its_edge_be_taken() -> None:
    assert [record.guards for record in records()] == [
        (),
        ("silent", "tries_left"),
        (),
        ("keys_left",),
        (),
        ("invited",),
    ]


def test_each_line_is_whole_on_disk_before_write_returns(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    writer = TraceWriter(HEADER, path)

    for n, record in enumerate(records()):
        writer.write(record)
        assert len(read_trace(path)) == n + 1

    writer.close()


def test_a_trace_is_private_to_its_owner(tmp_path: Path) -> None:
    assert written(tmp_path / "t.jsonl").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("cut", [1, 2, 20])
def test_a_last_line_cut_off_by_a_crash_is_left_out_and_told(tmp_path: Path, cut: int) -> None:
    path = written(tmp_path / "t.jsonl", *records())
    path.write_bytes(path.read_bytes()[:-cut])

    trace = read_trace(path)

    assert trace.records == records()[:-1]
    (damage,) = trace.damage
    assert damage.startswith(f"{path}:7: cut off after ")
    assert not trace.lossy  # what was not written whole had not happened


def test_a_torn_trace_is_continued_where_it_was_whole(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", *records())
    path.write_bytes(path.read_bytes()[:-5])

    with TraceWriter(HEADER, path) as writer:
        assert writer.next_sequence == 5
        writer.write(records()[5])

    assert read_trace(path).records == records()
    assert read_trace(path).damage == ()


def test_a_file_torn_within_its_header_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b'{"format": 1, "mach')

    assert read_trace(written(path, *records())).records == records()


def test_a_trace_that_ended_with_its_header_is_continued_from_the_first_record(
    tmp_path: Path,
) -> None:
    path = written(tmp_path / "t.jsonl")

    assert read_trace(written(path, *records())).records == records()


def test_a_trace_of_another_table_is_not_continued(tmp_path: Path) -> None:
    path = written(tmp_path / "t.jsonl", *records())

    with pytest.raises(TraceError, match="another table or chain"):
        TraceWriter(header_of(TURNSTILE, chain_id="chain", depth=0, start=None), path)


def spoilt(line: dict[str, Any], **changes: Any) -> bytes:
    return orjson.dumps({key: value for key, value in (line | changes).items() if value != "GONE"})


def damaged(path: Path, at: int, *lines: bytes) -> Path:
    """A trace of six records, with other lines in the place of one. The header is at 0."""
    whole = written(path, *records()).read_bytes().splitlines()
    whole[at : at + 1] = lines
    path.write_bytes(b"".join(line + b"\n" for line in whole))
    return path


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"source": "GONE"}, "has no source"),
        ({"edge": "three"}, "its edge is a str"),
        ({"reason": 3}, "its reason is a int"),
        ({"tried": [[1, "called"]]}, "has a guard that is not [edge, name, value]: [1, 'called']"),
        ({"sequence": 9}, "record 9 is out of its place"),
        ({"sequence": 0}, "record 0 is out of its place"),
    ],
    ids=str,
)
def test_a_record_that_cannot_be_is_left_out_and_told_with_file_and_line(
    tmp_path: Path, changes: dict[str, Any], problem: str
) -> None:
    path = written(tmp_path / "t.jsonl", *records())
    line = orjson.loads(path.read_bytes().splitlines()[2])

    trace = read_trace(damaged(tmp_path / "d.jsonl", 2, spoilt(line, **changes)))

    assert trace.records == (records()[0], *records()[2:])
    assert trace.damage == (f"{tmp_path}/d.jsonl:3: {problem}, left out",)
    assert (trace.lossy, trace.steps, trace.known) == (True, 6, records()[:1])


@given(at=st.integers(1, 6), line=st.binary(max_size=40).filter(lambda line: b"\n" not in line))
def test_whatever_a_line_has_become_it_costs_that_line_alone(
    tmp_path_factory: pytest.TempPathFactory, at: int, line: bytes
) -> None:
    path = damaged(tmp_path_factory.mktemp("trace") / "t.jsonl", at, line)

    trace = read_trace(path)

    assert trace.records == records()[: at - 1] + records()[at:]
    assert trace.known == records()[: at - 1]
    assert [told.startswith(f"{path}:{at + 1}: ") for told in trace.damage] == [True]


@pytest.mark.parametrize(
    ("first", "last", "told"),
    [
        (2, 2, ":3: step 1 is missing before it"),
        (2, 4, ":3: of steps 1 to 3 some are missing before it"),
        (1, 1, ":2: step 0 is missing before it"),
    ],
)
def test_lines_that_are_gone_are_told_where_they_stood(
    tmp_path: Path, first: int, last: int, told: str
) -> None:
    path = written(tmp_path / "t.jsonl", *records())
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:first] + lines[last + 1 :]))

    trace = read_trace(path)

    assert trace.records == records()[: first - 1] + records()[last:]
    assert trace.damage == (f"{path}{told}",)
    assert trace.known == records()[: first - 1]


def test_a_line_that_stands_twice_is_told_once(tmp_path: Path) -> None:
    line = written(tmp_path / "t.jsonl", *records()).read_bytes().splitlines()[3]

    trace = read_trace(damaged(tmp_path / "d.jsonl", 3, line, line))

    assert trace.records == records()
    assert trace.damage == (f"{tmp_path}/d.jsonl:5: record 2 is out of its place, left out",)


@pytest.mark.parametrize("header", [b"{", b"[]", b'{"format": 1}', b"", b"{}"])
def test_of_a_header_that_is_damaged_the_records_tell_what_they_can(
    tmp_path: Path, header: bytes
) -> None:
    path = damaged(tmp_path / "t.jsonl", 0, header)

    trace = read_trace(path)

    assert trace.records == records()
    assert (trace.header.machine, trace.header.initial, trace.header.chain_id) == (
        HEADER.machine,
        HEADER.initial,
        HEADER.chain_id,
    )
    assert trace.header.made_up
    assert trace.known == ()  # nobody knows the loop that it began in
    (told,) = trace.damage
    assert told.startswith(f"{path}:1: the header ")


def test_a_trace_of_another_format_is_not_taken_for_a_damaged_one(tmp_path: Path) -> None:
    path = damaged(tmp_path / "t.jsonl", 0, b'{"format": 2}')

    with pytest.raises(TraceError, match="is of format 2, known is 1"):
        read_trace(path)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "has no header"),
        (b'{"format": 1', "has no header"),
        (b"not json\n", "is no JSON"),
        (b"[]\n", "is no JSON object"),
        (b'{"format": 2}\n', "is of format 2, known is 1"),
        (b'{"format": 1}\n', "has no machine"),
        (b'{"a": 1}\n{"b": 2}\n', "is not the header of a trace: it names no format"),
    ],
)
def test_a_file_without_a_header_is_no_trace(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(content)

    with pytest.raises(TraceError) as caught:
        read_trace(path)

    assert caught.value.where == f"{path}:1"
    assert caught.value.problem.startswith(problem)


def test_a_stream_gets_the_same_lines_as_a_file_and_stays_open(tmp_path: Path) -> None:
    stream = io.BytesIO()

    with TraceWriter(HEADER, stream) as writer:
        for record in records():
            writer.write(record)

    assert stream.getvalue() == written(tmp_path / "t.jsonl", *records()).read_bytes()
    with pytest.raises(TraceError):
        _ = writer.trace


def test_a_record_also_goes_to_a_logger_without_what_was_said() -> None:
    captured = CapturingLogger()
    log = structlog.wrap_logger(captured, processors=[])
    writer = TraceWriter(HEADER, log=log.debug)

    writer.write(records({"secret": "word"})[0])

    (call,) = captured.calls
    assert (call.method_name, call.kwargs["event"]) == ("debug", "transition")
    assert (call.kwargs["source"], call.kwargs["destination"]) == ("ready", "knocking")
    assert "secret" not in repr(call)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=())),  # half surrogate pairs included
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(payload=JSON)
@example(payload=["\ud800", 2**70])
@example(payload=-(2**63) - 1)
def test_any_json_a_model_can_send_survives(
    tmp_path_factory: pytest.TempPathFactory, payload: Any
) -> None:
    path = tmp_path_factory.mktemp("trace") / "t.jsonl"

    written(path, records(payload)[0])

    assert path.read_bytes().count(b"\n") == 2
    assert read_trace(path)[0].payload == payload


def test_a_digest_is_the_same_for_the_same_table_and_differs_for_any_other() -> None:
    swapped = DOOR.with_edges([DOOR.edges[1], DOOR.edges[0], *DOOR.edges[2:]])

    assert digest(DOOR) == digest(DOOR.with_edges(DOOR.edges))
    assert len({digest(DOOR), digest(TURNSTILE), digest(swapped)}) == 3
