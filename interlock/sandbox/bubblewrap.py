"""The command line that runs another one inside bubblewrap. Linux; nothing is started here.

Order matters: each mount covers what was mounted before it. First all of the system to look at,
then what may be written, then what inside of that may not, and at last what must not be seen.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from attrs import frozen

from interlock.sandbox import sockets
from interlock.sandbox.policy import Policy, removed_variables

_ISOLATED = (
    "--unshare-user",
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--die-with-parent",
    "--new-session",  # else a command could type into the terminal (TIOCSTI)
    "--cap-drop",
    "ALL",
)
_PROBE_S = 10.0
_MOST_HIDDEN = 2_000  # bubblewrap takes 9,000 words, and each mount takes milliseconds


class TooManyHidden(OSError):
    """A deny rule covers more files than can be hidden one by one."""

    def __init__(self, count: int) -> None:
        super().__init__(
            f"deny rules for Read cover {count:,} files, and the sandbox can hide"
            f" {_MOST_HIDDEN:,}: deny a folder (Read(secrets/**)) instead of single files"
        )


@cache
def missing() -> str | None:
    """Why bubblewrap cannot be used here, or None. Tried once, by running it."""
    program = shutil.which("bwrap")
    if program is None:
        return "bubblewrap (bwrap) is not installed"
    argv = [program, *_ISOLATED, "--unshare-net", "--ro-bind", "/", "/", "--proc", "/proc", "true"]
    try:
        done = subprocess.run(
            argv, capture_output=True, timeout=_PROBE_S, check=False, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap does not start: {error}"
    if done.returncode != 0:
        words = " ".join(done.stderr.decode(errors="replace").split())
        return f"bubblewrap is not allowed to make a sandbox here: {words}"
    return None


@frozen(kw_only=True)
class Bubblewrap:
    """Wraps commands. `temporary` is what they see as /tmp; `sockets` is shown as it is."""

    policy: Policy
    temporary: Path
    sockets: Path | None = None

    def wrapped(self, argv: Sequence[str], *, cwd: Path) -> tuple[str, ...]:
        return (
            # Not by bubblewrap itself: its own environment can be read from inside.
            *("env", *(part for name in removed_variables() for part in ("-u", name))),
            shutil.which("bwrap") or "bwrap",
            *_ISOLATED,
            *(() if self.policy.network else ("--unshare-net",)),
            *self._mounts(),
            *("--setenv", "TMPDIR", "/tmp"),
            *("--chdir", str(cwd)),
            "--",
            *argv,
        )

    def _mounts(self) -> Iterator[str]:
        yield from ("--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
        yield from ("--bind", str(self.temporary), "/tmp")
        if self.sockets is not None:
            yield from ("--ro-bind", str(self.sockets), str(self.sockets))
        hidden = _outermost((*self.policy.hidden(), *self._sockets()))
        if len(hidden) > _MOST_HIDDEN:
            raise TooManyHidden(len(hidden))
        # What lies around a working folder is hidden first, what lies inside it afterwards.
        around = [one for one in hidden if self._holds_a_folder(one)]
        for path in around:
            yield from _hide(path)
        for folder in sorted(self.policy.writable):
            yield from ("--bind", str(folder), str(folder))
        kept = _outermost(self.policy.kept())
        # Their folders become mounts of their own, so that they cannot be moved out of the way.
        for folder in sorted({path.parent for path in kept} - set(self.policy.writable)):
            if self._is_inside(folder):
                yield from ("--bind", str(folder), str(folder))
        for path in kept:
            yield from ("--ro-bind", str(path), str(path))
        for path in hidden:
            if path not in around:
                yield from _hide(path)

    def _sockets(self) -> Iterator[Path]:
        for path in sockets.listening():
            ours = self.sockets is not None and path.is_relative_to(self.sockets)
            if not ours and not path.is_relative_to("/tmp"):  # they have a /tmp of their own
                yield path

    def _holds_a_folder(self, path: Path) -> bool:
        return any(folder.is_relative_to(path) for folder in self.policy.writable)

    def _is_inside(self, path: Path) -> bool:
        return any(path.is_relative_to(folder) for folder in self.policy.writable)


def _hide(path: Path) -> Iterator[str]:
    if path.is_dir():
        yield from ("--perms", "0555", "--tmpfs", str(path))
    else:
        yield from ("--ro-bind", os.devnull, str(path))


def _outermost(paths: Iterable[Path]) -> list[Path]:
    """Real paths, each once, without those that lie in another of them."""
    found: list[Path] = []
    for path in sorted({path.resolve() for path in paths if path.exists()}):
        if not any(path.is_relative_to(other) for other in found):
            found.append(path)
    return found
