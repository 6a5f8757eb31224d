"""Find a recording and read it whole: with the transcript, the trace and the earlier recordings
that it names in place of repeating them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from interlock.recording.form import (
    SUFFIX,
    UPGRADES,
    Line,
    Recording,
    RecordingError,
    Upgrade,
    lines_of,
    upgraded,
    version_of,
)

PACKED = f"{SUFFIX}.gz"
_TRACE = ".trace.jsonl"
_MOST = 1 << 30  # bytes of one that is unpacked: no recording of ours comes near


def is_recording(path: Path) -> bool:
    return path.name.endswith((SUFFIX, PACKED))


def run_of(path: Path) -> str:
    """The name of the run whose recording or trace this is."""
    return next(
        (
            path.name.removesuffix(end)
            for end in (PACKED, SUFFIX, _TRACE)
            if path.name.endswith(end)
        ),
        path.name,
    )


def beside(trace: Path) -> Path:
    """Where the recording of the run with this trace lies: packed, once the run was over."""
    packed = trace.with_name(run_of(trace) + PACKED)
    return packed if packed.exists() else trace.with_name(run_of(trace) + SUFFIX)


def read_recording(path: Path, upgrades: Mapping[int, Upgrade] = UPGRADES) -> Recording:
    """The recording in this file, brought up to date. Raises RecordingError, OSError."""
    lines = _lines(path)
    version = version_of(lines, str(path))
    header, *rest = upgraded(lines, str(path), upgrades)
    if "session" in header:
        return _beside_its_run(path, version, header, rest, upgrades)
    if not rest or not {"transcript", "trace"} <= rest[-1].keys():
        raise RecordingError(str(path), "is not whole: the run was not over when it ends")
    last = rest.pop()
    return Recording(
        name=run_of(path),
        version=version,
        header=header,
        lines=tuple(rest),
        before=header["before"],
        transcript=last["transcript"],
        trace=last["trace"],
        over=last.get("over", True),
    )


def _beside_its_run(
    path: Path, version: int, header: Line, rest: list[Line], upgrades: Mapping[int, Upgrade]
) -> Recording:
    over = bool(rest) and "to" in rest[-1]
    end = rest.pop()["to"] if over else None
    session = path.parent / header["session"]
    start = header["from"]
    told = _bytes(session, path) if start or end != start else b""
    if len(told) < (end or start):
        raise RecordingError(str(path), f"its transcript {session} is shorter than it was")
    trace = _bytes(path.with_name(run_of(path) + _TRACE), path)
    if not over:  # what a crash cut off there is no line
        trace = trace[: trace.rfind(b"\n") + 1]
        end = told.rfind(b"\n") + 1
    return Recording(
        name=run_of(path),
        version=version,
        header=header,
        lines=(*_earlier(path, header, upgrades), *rest),
        before=_text(told[:start]),
        transcript=_text(told[start:end]),
        trace=_text(trace),
        over=over,
    )


def _earlier(path: Path, header: Line, upgrades: Mapping[int, Upgrade]) -> list[Line]:
    """The messages that earlier recordings of the session hold already, in order."""
    found: list[list[Line]] = []
    seen = {run_of(path)}
    while (name := header.get("after")) is not None:
        earlier = beside(path.with_name(f"{name}{_TRACE}"))
        if name in seen or not earlier.exists():
            words = f"the history it begins with is in the recording of run {name}, which is gone"
            raise RecordingError(str(path), words)
        seen.add(name)
        header, *rest = upgraded(_lines(earlier), str(earlier), upgrades)
        found.append([line for line in rest if "message" in line])
    return [line for lines in reversed(found) for line in lines]


def _lines(path: Path) -> list[Line]:
    data = path.read_bytes()
    if data.startswith(b"\x1f\x8b"):
        import zlib

        try:
            unpacking = zlib.decompressobj(wbits=31)
            data = unpacking.decompress(data, _MOST)
        except zlib.error as error:
            raise RecordingError(str(path), f"cannot be unpacked: {error}") from error
        if not unpacking.eof:
            raise RecordingError(str(path), "cannot be unpacked: it is cut off")
    return lines_of(data, str(path))


def _bytes(path: Path, recording: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise RecordingError(str(recording), f"belongs to {path}, which is gone") from error


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
