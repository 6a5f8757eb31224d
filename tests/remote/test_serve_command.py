"""`interlock serve` at the command line: who may come in, and one clear line where it cannot."""

from __future__ import annotations

import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import httpx2

from interlock.remote.wire import RUNS
from tests.remote.serving import command, environment, served

NOWHERE = "http://127.0.0.1:9"


def complaint(folder: Path, *words: str, token: str | None = "t") -> tuple[int, str]:
    env = environment(folder, NOWHERE) | {"INTERLOCK_SERVE_TOKEN": token or ""}
    done = subprocess.run(command(*words), env=env, capture_output=True, text=True, timeout=120)
    assert done.stdout == ""
    return done.returncode, done.stderr


def test_a_busy_port_costs_one_clear_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        code, said = complaint(tmp_path, "--port", str(port))

    assert code == 1
    assert said == f"interlock: cannot listen on 127.0.0.1:{port}: Address already in use\n"


def test_other_machines_come_in_only_with_a_token_that_was_chosen(tmp_path: Path) -> None:
    code, said = complaint(tmp_path, "--host", "0.0.0.0", token=None)

    assert code == 1
    assert said.count("\n") == 1
    assert "choose a token and put it into INTERLOCK_SERVE_TOKEN" in said


def test_without_a_chosen_token_one_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    env = environment(tmp_path, NOWHERE) | {"INTERLOCK_SERVE_TOKEN": ""}
    process = subprocess.Popen(
        command("--port", "0"), env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    assert process.stdout is not None
    with process:
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)

    path = tmp_path / "there" / "home" / "serve-token"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(path.read_text().strip()) > 30


def test_nobody_comes_in_without_it(tmp_path: Path) -> None:
    with served(tmp_path, NOWHERE) as box, httpx2.Client(trust_env=False) as client:
        for headers in ({}, {"Authorization": "Bearer wrong"}):
            answer = client.post(f"{box.url}{RUNS}", json={}, headers=headers)
            assert answer.status_code == 401
        code, said = box.end()

    assert (code, said) == (143, "")


def agents_with_a_remote(folder: Path, url: str) -> subprocess.CompletedProcess[str]:
    """What `interlock agents` says where settings name this place."""
    env = environment(folder, NOWHERE)
    settings = Path(env["INTERLOCK_HOME"]) / "settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'{{"remotes": {{"gpu": {{"url": "{url}"}}}}}}')
    return subprocess.run(
        [sys.executable, "-m", "interlock", "agents"],
        env=env,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_remotes_of_settings_are_listed_with_the_agents(tmp_path: Path) -> None:
    done = agents_with_a_remote(tmp_path, "https://gpu:7411")

    assert done.returncode == 0
    assert "isolation remote:gpu" in done.stdout
    assert "https://gpu:7411, its token in INTERLOCK_SERVE_TOKEN" in done.stdout


def test_a_remote_that_would_be_sent_its_token_in_the_clear_is_refused(tmp_path: Path) -> None:
    done = agents_with_a_remote(tmp_path, "http://gpu:7411")

    assert done.returncode == 1
    assert "in the clear: http is for this machine only" in done.stderr
