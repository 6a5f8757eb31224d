"""The demo's one session: the scripted model in a thread, the ordinary command as a child.

Knows neither what is printed around it (`command.py`) nor whether it was any good
(`repository.py`).
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import uuid
from collections.abc import Mapping
from pathlib import Path

from attrs import evolve, field, frozen

from interlock.home import SessionPaths, home_of
from interlock.scripted import Reply, Script, ServerThread, load

SCRIPT = Path(__file__).with_name("script.json")
LIMIT_S = 120.0  # some twenty times what it takes
_LOOPBACK = "127.0.0.1"
_STOP_S = 5.0


@frozen(kw_only=True)
class Session:
    """What is to be run. The id is chosen here, so that the recorded files can be found."""

    root: Path
    prompt: str
    without: tuple[str, ...] = ()
    fast: bool = False
    id: str = field(factory=lambda: str(uuid.uuid4()))

    @property
    def arguments(self) -> tuple[str, ...]:
        """The command's words after `interlock`."""
        forbidden = ("--disallowedTools", ",".join(self.without)) if self.without else ()
        return (
            *("-p", self.prompt),
            *("--cwd", str(self.root)),
            *("--permission-mode", "acceptEdits"),
            *("--allowedTools", f"Bash({_python()} -m unittest -q)"),
            *forbidden,
            *("--session-id", self.id),
            "--verbose",
        )

    @property
    def paths(self) -> SessionPaths:
        return SessionPaths.of(home_of(os.environ), self.root, self.id)

    @property
    def trace(self) -> Path | None:
        """Where the run was recorded; None if it never began."""
        return next(iter(self.paths.runs.glob("*.trace.jsonl")), None)

    def script(self) -> Script:
        """The model's replies, for this copy of the repository and this interpreter."""
        script = load(SCRIPT, {"ROOT": str(self.root), "PYTHON": _python()})
        if not self.fast:
            return script
        replies = (
            evolve(one, drip_s=0.0) if isinstance(one, Reply) else one for one in script.replies
        )
        return evolve(script, replies=tuple(replies))


@frozen(kw_only=True)
class Played:
    """What came of it."""

    code: int | None  # of the command; None: it did not end in time
    answer: str
    requests: int
    faults: tuple[str, ...]  # of the requests, as the scripted model saw them


def play(session: Session) -> Played:
    """Run the session; it tells on stderr what happens. Ends with everything stopped."""
    with ServerThread(session.script()) as model:
        with subprocess.Popen(
            [sys.executable, "-m", "interlock", *session.arguments],
            env=_environment(os.environ, model.base_url),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,  # on a terminal the answer would stand twice
        ) as child:
            code, answer = _ended(child)
        return Played(
            code=code,
            answer=answer,
            requests=len(model.requests),
            faults=model.verdict(),
        )


def _ended(child: subprocess.Popen[bytes]) -> tuple[int | None, str]:
    try:
        said, _ = child.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        child.kill()
        return None, ""
    except KeyboardInterrupt:
        _stop(child)  # it had the same signal, and ends by itself
        raise
    return child.returncode, said.decode(errors="replace").strip()


def _stop(child: subprocess.Popen[bytes]) -> None:
    try:
        child.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        child.kill()


def _environment(environ: Mapping[str, str], base_url: str) -> dict[str, str]:
    """The child's environment: no way to a real model, no key that a person owns."""
    left_out = ("ANTHROPIC_", "FORCE_COLOR", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in environ.items() if not name.startswith(left_out)}
    never_proxied = ",".join(filter(None, (environ.get("NO_PROXY"), _LOOPBACK)))
    return kept | {
        "ANTHROPIC_BASE_URL": base_url,
        "ANTHROPIC_API_KEY": "the-demo-needs-no-key",
        "INTERLOCK_MAX_RETRIES": "0",  # a script does not change its mind
        "NO_COLOR": "1",
        "NO_PROXY": never_proxied,
        "no_proxy": never_proxied,
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _python() -> str:
    return shlex.quote(sys.executable)
