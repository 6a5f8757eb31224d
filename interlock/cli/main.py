"""Where a command begins: which one it is, and what its exit code will be.

Each command is imported only when it is the one: `--help` and `--version` cost nothing more.
No traceback ever reaches a user; INTERLOCK_DEBUG=1 shows the one behind an internal error.
"""

from __future__ import annotations

import gc
import importlib
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from errno import ENOENT
from typing import TYPE_CHECKING, NoReturn

from interlock import __version__
from interlock.cli.place import insist_on_stdout
from interlock.errors import ConfigurationError, InterlockError
from interlock.visible import harmless, harmless_output

if TYPE_CHECKING:
    from interlock.cli.headless import Opener

LOOKING = ("trace", "explain", "replay", "record", "context", "diagram", "check")
COMMANDS = {  # and where each `run` is
    "agents": "interlock.cli.agents",
    "config": "interlock.cli.config",
    "demo": "interlock.demo",
    "mcp": "interlock.cli.mcp",
    "memory": "interlock.cli.memory",
    "permissions": "interlock.cli.permissions",
    "rewind": "interlock.cli.rewind",
    "serve": "interlock.cli.serve",
    "sessions": "interlock.cli.sessions",
    "skills": "interlock.cli.skills",
    "worktrees": "interlock.cli.worktrees",
}
INTERRUPTED = 130
PIPE_CLOSED = 141


def program() -> NoReturn:
    """The process `interlock`: one command, and gone."""
    # Python looks for cycles after every 700 new objects. Imports make a quarter of a million that
    # all stay: looking less often saves a tenth of the start.
    gc.set_threshold(50_000, 20, 20)
    code = main()
    # Nor is anything looked for at the exit: what is left goes with the process. Saves 0.3 s.
    gc.freeze()
    sys.exit(code)


def main(argv: Sequence[str] | None = None, *, opener: Opener | None = None) -> int:
    """Run one command and return its exit code. `opener` builds the agent, if not our own."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    _open_streams()
    try:
        code = _dispatch(arguments, opener)
        if sys.stdout is not None:
            sys.stdout.flush()
    except ConfigurationError as error:
        for problem in error.problems:
            complain(problem)
        code = 1
    except InterlockError as error:
        complain(str(error))
        code = 1
    except KeyboardInterrupt as signal:
        complain("interrupted before anything was asked")
        code = getattr(signal, "code", INTERRUPTED)
    except BrokenPipeError:
        code = PIPE_CLOSED
    except OSError as error:
        # Two things have no name: the working folder once it is gone, and standard output.
        nameless = "the working folder" if error.errno == ENOENT else "standard output"
        complain(f"{error.filename or nameless}: {error.strerror or error}")
        code = 1
    except Exception as error:  # the last there is: no traceback reaches a user
        code = _bug(error)
    _quiet_exit()
    return code


def complain(line: str) -> None:
    """One line on stderr, whatever its encoding, even if nobody reads it."""
    text = harmless(" ".join(f"interlock: {line}".split()))
    with suppress(OSError):
        os.write(2, text.encode("utf-8", "replace") + b"\n")


def _dispatch(arguments: list[str], opener: Opener | None) -> int:
    with harmless_output():
        code = _command(arguments)
    return _run(arguments, opener) if code is None else code


def _command(arguments: list[str]) -> int | None:
    """The exit code of a command that begins with its name; None if it is none of these."""
    command = arguments[0] if arguments else ""
    if command in LOOKING:
        from interlock.cli import looking

        return looking.run(command, arguments[1:])
    if command not in COMMANDS:
        return None
    module = importlib.import_module(COMMANDS[command])
    return int(module.run(arguments[1:]))


def _run(arguments: list[str], opener: Opener | None) -> int:
    from interlock.cli import flags

    if any(each in ("-h", "--help") for each in _before_dashes(arguments)):
        insist_on_stdout()
        flags.run_parser().print_help()
        return 0
    asked = flags.parse(arguments)
    insist_on_stdout()
    if asked.version:
        print(f"{__version__} (Interlock)")
        return 0
    if asked.input_format == "stream-json":
        from interlock.cli import driven

        return driven.run(asked)
    from interlock.cli import headless

    if opener is None and headless.at_a_terminal(asked) and os.isatty(0):
        from interlock.cli import talk

        return talk.run(asked)
    return headless.run(asked, opener)


def _before_dashes(arguments: list[str]) -> list[str]:
    return arguments[: arguments.index("--")] if "--" in arguments else arguments


def _open_streams() -> None:
    # A descriptor that is closed would be given to the next file: the transcript as stdout.
    for wanted in (0, 1, 2):
        try:
            os.fstat(wanted)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free one, which is this
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # in every locale


def _bug(error: Exception) -> int:
    line = f"internal error: {type(error).__name__}: {error}"
    if os.environ.get("INTERLOCK_DEBUG"):
        import traceback

        traceback.print_exc()
        complain(line)
    else:
        complain(f"{line} (set INTERLOCK_DEBUG=1 to see where)")
    return 1


def _quiet_exit() -> None:
    # Python flushes stdout once more at exit, and would tell of a reader that has left.
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
