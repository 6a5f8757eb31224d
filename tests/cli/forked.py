"""Have the zygote run a command: `python -I -S forked.py SOCKET PROGRAM ARGUMENTS...`.

Imports next to nothing, for it is started for each command.
"""

import json
import os
import signal
import socket
import sys

with socket.socket(socket.AF_UNIX) as connection:
    connection.connect(sys.argv[1])
    program, *argv = sys.argv[2:]
    here = os.getcwd()  # noqa: PTH109 - pathlib takes as long to import as all of this
    asked = {"program": program, "argv": argv, "cwd": here, "env": dict(os.environ)}
    socket.send_fds(connection, [json.dumps(asked).encode() + b"\n"], [0, 1, 2])
    status = int(connection.makefile("rb").read() or 1)
if status < 0:
    signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
sys.exit(status)
