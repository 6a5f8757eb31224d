"""A folder to be kept in, and commands that are run there."""

from __future__ import annotations

import socket
import subprocess
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
from attrs import frozen

from interlock.sandbox import Mode, Policy, Sandbox, bubblewrap, landlock, opened, protected

needs_bubblewrap = pytest.mark.skipif(
    bubblewrap.missing() is not None, reason=f"not tried: {bubblewrap.missing()}"
)
needs_landlock = pytest.mark.skipif(landlock.abi() == 0, reason="not tried: no Landlock here")


@frozen
class Ground:
    """A working folder and something beside it."""

    work: Path
    outside: Path

    @property
    def policy(self) -> Policy:
        return Policy(writable=(self.work,), kept=lambda: protected((self.work,)))


def run(box: Sandbox, line: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        box.wrapped(("bash", "-c", line), cwd=cwd),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
    )


@asynccontextmanager
async def boxed(policy: Policy) -> AsyncIterator[Sandbox]:
    async with opened(Mode.REQUIRED, policy) as box:
        assert box is not None
        yield box


@contextmanager
def listening(host: str = "127.0.0.1") -> Iterator[tuple[int, list[bytes]]]:
    """A server that says hello to each request, and what it was sent."""
    got: list[bytes] = []
    with socket.create_server((host, 0)) as server:

        def serve() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                with client:
                    got.append(client.recv(65536))
                    client.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1], got
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def fetch(url: str) -> str:
    """As Bash would; with or without a proxy, as the environment says."""
    code = (
        "import urllib.request as r,sys\n"
        f"try: print(r.urlopen({url!r}, timeout=5).read().decode())\n"
        "except Exception as e: print('failed', e, getattr(e, 'read', bytes)())"
    )
    return f"python3 -c {quoted(code)}"


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


async def in_thread(
    function: Callable[..., subprocess.CompletedProcess[str]], *arguments: object
) -> subprocess.CompletedProcess[str]:
    import anyio.to_thread

    return await anyio.to_thread.run_sync(function, *arguments)
