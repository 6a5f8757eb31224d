"""Sessions that lie on disk as ours do, of any age."""

from __future__ import annotations

import os
import time
import uuid
from pathlib import Path

import anyio
import orjson
from attrs import frozen

from interlock.sessions import Transcript, fork
from interlock.sessions.cleaning import Cleaned, clean
from interlock.sessions.retention import DAY, plan
from phases.world.messages import Kind, Message, Text

NOW = time.time()


@frozen
class Home:
    """A user's folder with sessions of one working folder."""

    path: Path

    @property
    def project(self) -> Path:
        return self.path / "projects" / "-work"

    def session(self, *, days: float, results: bool = False) -> Path:
        """One in which something was said so many days ago; its transcript."""
        name = str(uuid.uuid4())
        path = self.project / f"{name}.jsonl"

        async def say() -> None:
            transcript = Transcript(path, session_id=name, cwd=self.path)
            said = Message(
                id=str(uuid.uuid4()), role="user", kind=Kind.PROMPT, content=(Text("hello"),)
            )
            await transcript.record((said,))
            await transcript.aclose()

        anyio.run(say)
        self.beside(path, results=results)
        return aged(path, days)

    def branch(self, source: Path, *, days: float, results: bool = False) -> Path:
        """One that began as a copy of another, and may read the long results of that one."""
        name = str(uuid.uuid4())
        path = self.project / f"{name}.jsonl"
        fork(source, path, name)
        state = source.with_suffix("") / "state.json"
        readable = [
            *orjson.loads(state.read_bytes())["readable"],
            str(source.with_suffix("") / "tool-results"),
        ]
        self.beside(path, results=results, readable=readable)
        return aged(path, days)

    def beside(self, path: Path, *, results: bool, readable: list[str] | None = None) -> None:
        folder = path.with_suffix("")
        (folder / "runs").mkdir(parents=True)
        (folder / "runs" / "one.trace.jsonl").write_text("{}\n")
        (folder / "state.json").write_bytes(orjson.dumps({"readable": readable or []}))
        (folder / "checkpoints").mkdir()
        (folder / "checkpoints" / "log.jsonl").write_text("{}\n")
        if results:
            (folder / "tool-results").mkdir()
            (folder / "tool-results" / "long.txt").write_text("x" * 1000)

    @property
    def left(self) -> set[Path]:
        return set(self.project.glob("*.jsonl"))

    def cleaned(self, days: int = 30) -> Cleaned:
        before = NOW - days * DAY
        planned = plan(self.path, before=before, now=NOW)
        assert planned is not None
        return clean(self.path, planned, before=before)


def aged(path: Path, days: float) -> Path:
    """A session, a folder or a file whose last write was so many days ago."""
    folder = path.with_suffix("") if path.suffix == ".jsonl" else path
    for each in (path, folder, *folder.rglob("*")):
        if each.exists():
            os.utime(each, (NOW - days * DAY, NOW - days * DAY))
    return path
