"""`interlock record`: a run kept as a recording of its own, which needs no other file.

What is kept has proved to be the same run again, and a kept one is never overwritten.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from pathlib import Path

from interlock.cli.flags import Parser
from interlock.cli.looking import home
from interlock.cli.replaying import NOT_RECORDED
from interlock.counted import counted
from interlock.errors import UsageError
from interlock.recording.form import written
from interlock.recording.reading import beside, read_recording
from interlock.sessions.runs import RECORDING, one_run


def record_flags(parser: Parser) -> None:
    add = parser.add_argument
    add("run", metavar="RUN", help="a run that was recorded, or: last")
    add("--out", metavar="FILE", help="default: RUN.recording.jsonl in this folder")
    add("--scrub", action="store_true", help="take out keys, tokens, passwords; it still runs")
    add("--secret", action="append", metavar="WORD", help="take this out too")


def record(asked: object) -> int:
    """Keep a run as a recording of its own, once it has proved to be the same run again."""
    from interlock.recording.rerun import render, rerun
    from interlock.recording.scrub import scrubbed

    found = one_run(home(), str(getattr(asked, "run", "")), Path.cwd())
    source = beside(found.path)
    if not source.exists():
        raise UsageError(
            f"run {found.run_id} cannot be kept: {NOT_RECORDED}; its decisions can be replayed"
        )
    recording = read_recording(source)
    if recording.damage is not None:
        raise UsageError(f"run {found.run_id} cannot be kept: {recording.damage}")
    target = Path(getattr(asked, "out", None) or f"{found.run_id}{RECORDING}")
    if not target.name.endswith(RECORDING):
        raise UsageError(f"--out {target}: the name of a recording ends in {RECORDING}")
    words: list[str] = getattr(asked, "secret", None) or []
    hidden = ""
    if words or getattr(asked, "scrub", False):
        recording, count = scrubbed(recording, os.environ, words)
        hidden = f", {counted(count, 'secret')} taken out"
    with tempfile.TemporaryDirectory(prefix="interlock-") as folder:
        again = asyncio.run(rerun(recording, Path(folder)))
    if not again.identical:
        print(render(again), end="", file=sys.stderr)
        raise UsageError(f"run {found.run_id} is not the same when it is run again; nothing kept")
    try:
        with target.open("xb") as file:
            file.write(written(recording))
    except FileExistsError as error:
        other = "name another with --out FILE, or remove it first"
        raise UsageError(f"{target} is there already and is never overwritten; {other}") from error
    until = ", up to where its process went away" if again.went_away else ""
    print(
        f"{target}: {counted(again.steps, 'step')}{until}{hidden}; "
        f"run it again with: interlock replay {target}"
    )
    return 0
