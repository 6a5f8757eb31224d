"""Starts commands by fork: everything is imported here once, so that each begins at once.

Importing the program and the SDK takes over a second of CPU, and hundreds of tests run a command.
A forked one has arguments, environment, folder and streams of its own, and ends as the interpreter
ends. What a fork cannot have is how Python itself starts: locale, `-m`, streams that are closed.
Tests of that say `fresh` and get a process of their own.

    python -m tests.cli.zygote SOCKET     # serves until its standard input ends

Who asks is `forked.py`: a process that lends its streams and takes on the exit status.
"""

from __future__ import annotations

import gc
import importlib
import io
import json
import os
import random
import select
import signal
import socket
import sys
import threading

_MOST = 1 << 20  # bytes of a request
_MODULES = (
    "anthropic",
    "anyio._backends._asyncio",
    "httpcore2",
    "interlock.assembly",
    "interlock.cli.headless",
    "interlock.cli.looking",
    "interlock.cli.replaying",
    "interlock.cli.stream_json",
    "tree_sitter_bash",
)
_HANGS_S = 120  # who asked has given up long ago


def serve(path: str) -> socket.socket:
    """Accept requests. Returns in the child that is to answer one, never here."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        print("ready", flush=True)
        while True:
            ready, _, _ = select.select([listener, sys.stdin], [], [])
            if sys.stdin in ready:
                raise SystemExit(0)
            connection, _ = listener.accept()
            if os.fork() == 0:
                return connection
            connection.close()


def begin(connection: socket.socket) -> str:
    """Become the process that was asked for; which program, is returned. Its parent stays behind
    to tell its exit status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    message, streams, _, _ = socket.recv_fds(connection, _MOST, 3)
    while not message.endswith(b"\n"):
        message += connection.recv(_MOST)
    asked = json.loads(message)
    child = os.fork()
    if child:
        for stream in streams:
            os.close(stream)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        connection.sendall(b"%d" % status)
        os._exit(0)
    signal.alarm(_HANGS_S)
    connection.close()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), "utf-8")
    sys.stdout, sys.stderr = _writing(1, "strict"), _writing(2, "backslashreplace")
    os.environ.clear()
    os.environ.update(asked["env"])
    os.chdir(asked["cwd"])
    sys.argv[1:] = asked["argv"]
    random.seed()
    return str(asked["program"])


def _writing(descriptor: int, errors: str) -> io.TextIOWrapper:
    raw = io.FileIO(descriptor, "wb", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw), "utf-8", errors, line_buffering=descriptor == 2
    )


def warm_up() -> None:
    """Import all that a run imports, and be one thread again."""
    for name in _MODULES:
        importlib.import_module(name)
    assert threading.active_count() == 1, "a fork would leave the other threads behind"
    gc.freeze()  # else the first collection in each child would copy all of its pages


if __name__ == "__main__":
    warm_up()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody here waits for who answers
    from interlock.cli.main import main
    from tests.cli.fake_agent import open_fake

    if begin(serve(sys.argv[1])) == "fake":
        sys.exit(main(opener=open_fake))
    sys.exit(main())
