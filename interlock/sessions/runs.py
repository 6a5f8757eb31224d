"""Find recorded runs by name: a run, a session, `last`, or the path of a trace or recording.

Knows files only; what is in them is read by `fsm.trace`.
"""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

from interlock.errors import RunNotFound
from interlock.home import project_key

_SUFFIX = ".trace.jsonl"
RECORDING = ".recording.jsonl"
PACKED = f"{RECORDING}.gz"


@frozen(kw_only=True)
class RunFile:
    """One recorded run. `session_id` is empty for a trace outside the user's folder.

    `path` is that of its trace, or of a recording that was kept for itself.
    """

    run_id: str
    session_id: str
    path: Path


def is_recording(path: Path) -> bool:
    return path.name.endswith((RECORDING, PACKED))


def run_of(path: Path) -> str:
    """The name of the run whose recording or trace this is."""
    ends = (end for end in (PACKED, RECORDING, _SUFFIX) if path.name.endswith(end))
    return path.name.removesuffix(next(ends, ""))


def find_runs(home: Path, name: str, cwd: Path) -> tuple[RunFile, ...]:
    """The runs that `name` means, oldest first: several only for a session.

    The run of a sub-agent has that one's id; `last` and a session mean the user's own runs.

    `last` is the newest run of the working folder, else the newest of all. A beginning of an id
    will do where it fits one alone. Raises RunNotFound.
    """
    if name.endswith(_SUFFIX) or "/" in name or Path(name).is_file():
        return (_at(Path(name), name),)
    runs = _all(home)
    if not runs:
        raise RunNotFound(name, f"no run is recorded under {home}; make one with: interlock -p …")
    if name == "last":
        here = [run for run in runs if run.path.parent.parent.parent.name == project_key(cwd)]
        return ((here or runs)[-1],)
    children = _all(home, "runs/agents")
    for fits in (str.__eq__, str.startswith):
        named = [run for run in (*runs, *children) if fits(run.run_id, name)]
        sessions = {run.session_id for run in runs if fits(run.session_id, name)}
        several = len({run.run_id for run in named}) + len(sessions)
        if several > 1:
            ids = sorted({*(run.run_id for run in named), *sessions})
            raise RunNotFound(name, f"fits {several} runs or sessions: {_listed(ids)}")
        if named:
            return (named[-1],)
        if sessions:
            return tuple(run for run in runs if run.session_id in sessions)
    newest = _listed([run.run_id for run in reversed(runs)])
    raise RunNotFound(name, f"there is none; the newest are: {newest}")


def one_run(home: Path, name: str, cwd: Path) -> RunFile:
    """The one run that `name` means. Raises RunNotFound, also for a session with several."""
    runs = find_runs(home, name, cwd)
    if len(runs) > 1:
        ids = _listed([run.run_id for run in reversed(runs)])
        raise RunNotFound(name, f"is a session of {len(runs)} runs, name one: {ids}")
    return runs[0]


def _at(path: Path, name: str) -> RunFile:
    if not path.is_file():
        raise RunNotFound(name, "there is no such file")
    trace = path.with_name(run_of(path) + _SUFFIX)
    if is_recording(path) and trace.is_file():  # beside its run it repeats nothing
        path = trace
    inside = path.absolute().parent
    if inside.name == "agents":
        inside = inside.parent
    session = inside.parent.name if inside.name == "runs" else ""
    return RunFile(run_id=run_of(path), session_id=session, path=path)


def _all(home: Path, under: str = "runs") -> list[RunFile]:
    found = []
    for path in (home / "projects").glob(f"*/*/{under}/*{_SUFFIX}"):
        try:
            changed = path.stat().st_mtime_ns
        except OSError:
            continue  # gone since
        run = RunFile(
            run_id=path.name.removesuffix(_SUFFIX),
            session_id=path.parents[under.count("/") + 1].name,
            path=path,
        )
        found.append((changed, path.name, run))
    return [run for _, _, run in sorted(found, key=lambda each: each[:2])]


def _listed(ids: list[str], most: int = 5) -> str:
    more = f" and {len(ids) - most} more" if len(ids) > most else ""
    return ", ".join(ids[:most]) + more
