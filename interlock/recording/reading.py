"""Find a recording and read it whole: with the transcript, the trace and the earlier recordings
that it names in place of repeating them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from attrs import evolve

from interlock.recording.form import (
    UPGRADES,
    Line,
    Lines,
    Recording,
    RecordingError,
    Upgrade,
    lines_of,
    upgraded,
    version_of,
)
from interlock.sessions.runs import PACKED, RECORDING, run_of

_TRACE = ".trace.jsonl"
_MOST = 1 << 30  # bytes of one that is unpacked: no recording of ours comes near
_PIECE = 1 << 14  # bytes unpacked at once: so much may be lost where the packing is damaged


def beside(trace: Path) -> Path:
    """Where the recording of the run with this trace lies: packed, once the run was over."""
    packed = trace.with_name(run_of(trace) + PACKED)
    return packed if packed.exists() else trace.with_name(run_of(trace) + RECORDING)


def read_recording(path: Path, upgrades: Mapping[int, Upgrade] = UPGRADES) -> Recording:
    """The recording in this file, brought up to date; of a damaged one, what stands before.

    Raises RecordingError, OSError.
    """
    file = _lines(path)
    version = version_of(file.lines, str(path))
    header, *rest = upgraded(file.lines, str(path), upgrades)
    if "session" in header:
        return _beside_its_run(path, version, header, rest, upgrades, file.damage)
    written = file.last if {"transcript", "trace"} <= file.last.keys() else None
    damage = file.damage
    if damage is None and written is None:
        damage = f"{path}:{len(file.lines) + 1}: is cut off"
    if damage is None:
        rest.pop()
    written = written or {"transcript": "", "trace": ""}
    return Recording(
        name=run_of(path),
        version=version,
        header=header,
        lines=tuple(rest),
        before=header["before"],
        transcript=written["transcript"],
        trace=written["trace"],
        over=damage is None and written.get("over", True),
        damage=damage,
        bare=not written["trace"],
    )


def _beside_its_run(
    path: Path,
    version: int,
    header: Line,
    rest: list[Line],
    upgrades: Mapping[int, Upgrade],
    damage: str | None,
) -> Recording:
    over = damage is None and bool(rest) and "to" in rest[-1]
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
        damage=damage,
    )


def _earlier(path: Path, header: Line, upgrades: Mapping[int, Upgrade]) -> list[Line]:
    """The messages that earlier recordings of the session hold already, in order.

    All are needed: they are named by their numbers.
    """
    found: list[list[Line]] = []
    seen = {run_of(path)}
    while (name := header.get("after")) is not None:
        earlier = beside(path.with_name(f"{name}{_TRACE}"))
        if name in seen or not earlier.exists():
            words = f"the history it begins with is in the recording of run {name}, which is gone"
            raise RecordingError(str(path), words)
        seen.add(name)
        file = _lines(earlier)
        if file.damage is not None:
            words = f"the history it begins with cannot be read: {file.damage}"
            raise RecordingError(str(path), words)
        header, *rest = upgraded(file.lines, str(earlier), upgrades)
        found.append([line for line in rest if "message" in line])
    return [line for lines in reversed(found) for line in lines]


def _lines(path: Path) -> Lines:
    data = path.read_bytes()
    if not data.startswith(b"\x1f\x8b"):
        return lines_of(data, str(path))
    data, problem = _unpacked(data)
    file = lines_of(data, str(path))
    if problem is None or file.damage is not None:
        return file
    where = f"{path}:{len(file.lines) + 1}"
    return evolve(file, damage=f"{where}: cannot be unpacked: {problem}")


def _unpacked(data: bytes) -> tuple[bytes, str | None]:
    """As much as can be unpacked, and what stands in the way of more."""
    import zlib

    unpacking, whole = zlib.decompressobj(wbits=31), bytearray()
    try:
        for at in range(0, len(data), _PIECE):
            if len(whole) >= _MOST:
                return bytes(whole), "it is too large"
            whole += unpacking.decompress(data[at : at + _PIECE], _MOST - len(whole))
    except zlib.error as error:
        return bytes(whole), str(error)
    return bytes(whole), None if unpacking.eof else "it is cut off"


def _bytes(path: Path, recording: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise RecordingError(str(recording), f"belongs to {path}, which is gone") from error


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
