"""Inside a sandbox without network: a port on its loopback that leads to the proxy's socket.

Standard library only: run by itself in place of the command (`python -I -S -c TEXT SOCKET PORT --
ARGV...`). A child forwards, this process becomes the command; they end together.
"""

from __future__ import annotations

import os
import socket
import sys
import threading

_CHUNK = 1 << 16


def forward(listener: socket.socket, target: str) -> None:
    """Serve for ever: each connection goes to the Unix socket `target`."""
    while True:
        client, _ = listener.accept()
        server = socket.socket(socket.AF_UNIX)
        try:
            server.connect(target)
        except OSError:
            client.close()
            continue
        for one, other in ((client, server), (server, client)):
            threading.Thread(target=_pump, args=(one, other), daemon=True).start()


def _pump(one: socket.socket, other: socket.socket) -> None:
    try:
        while data := one.recv(_CHUNK):
            other.sendall(data)
        other.shutdown(socket.SHUT_WR)
    except OSError:
        for each in (one, other):
            each.close()


def _main(arguments: list[str]) -> None:
    target, port = arguments[0], int(arguments[1])
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(64)
    if os.fork() == 0:
        # Nobody may wait for an output that only this process still holds.
        os.closerange(0, listener.fileno())
        os.closerange(listener.fileno() + 1, 1 << 16)
        forward(listener, target)
    listener.close()
    os.execvp(arguments[3], arguments[3:])


if __name__ == "__main__":
    _main(sys.argv[1:])
