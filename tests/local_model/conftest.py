"""The model that the tests run with, or why there is none.

INTERLOCK_LOCAL_MODEL is the path of a GGUF file, for which a server is started, or the URL of a
server that speaks the Messages API and runs already. `make local-model` sets it.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from interlock.model import preload
from tests.agent.support import Room
from tests.local_model.serving import missing

ROOT = Path(__file__).parents[2]
VARIABLE = "INTERLOCK_LOCAL_MODEL"
_START_S = 120.0


@pytest.fixture(scope="session")
def model_url() -> Iterator[str]:
    given = os.environ.get(VARIABLE, "")
    if not given:
        pytest.skip(f"{VARIABLE} names no model: make local-model MODEL=file.gguf")
    if given.startswith(("http://", "https://")):
        yield given
        return
    if not Path(given).is_file():
        pytest.fail(f"{VARIABLE}: there is no file {given}")
    if (why := missing()) is not None:
        pytest.skip(why)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tests.local_model.serving", given, str(port)]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL) as process:
        try:
            yield _ready(process, f"http://127.0.0.1:{port}")
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def _ready(process: subprocess.Popen[bytes], url: str) -> str:
    until = time.monotonic() + _START_S
    with httpx2.Client(trust_env=False) as client:
        while time.monotonic() < until and process.poll() is None:
            try:
                if client.get(f"{url}/health").status_code == 200:
                    return url
            except httpx2.TransportError:
                pass
            time.sleep(0.1)
    pytest.fail("the model's server did not come up")


@pytest.fixture(scope="session", autouse=True)
def loaded() -> None:
    preload().join()


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room.made(tmp_path)
