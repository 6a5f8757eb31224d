"""The demo from end to end, as a newcomer runs it: processes, sockets, files."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from interlock.demo.repository import CODE

ROOT = Path(__file__).parents[2]


def interlock(home: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    left_out = ("ANTHROPIC_", "INTERLOCK_", "CLAUDE_")
    kept = {name: told for name, told in os.environ.items() if not name.startswith(left_out)}
    return subprocess.run(
        [sys.executable, "-m", "interlock", *words],
        cwd=ROOT,
        env=kept | {"INTERLOCK_HOME": str(home)} | more,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_demo_mends_the_test_and_proves_it(tmp_path: Path) -> None:
    home, kept = tmp_path / "home", tmp_path / "kept"

    began = time.monotonic()
    demo = interlock(home, "demo", "--keep", str(kept))
    seconds = time.monotonic() - began

    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert "All of it is true: the demo succeeded." in demo.stdout
    assert "FAILED" not in demo.stdout
    assert "+    if not payment.merchant_id.strip():" in demo.stdout
    assert "merchant_id.strip()" in (kept / CODE).read_text()
    print(f"the demo took {seconds:.1f} s")


def test_the_demo_says_what_is_scripted_and_shows_what_happens(tmp_path: Path) -> None:
    demo = interlock(tmp_path, "demo", "--fast")

    assert "the model's words" in demo.stdout
    calls = re.findall(r"● (\w+)", demo.stderr)
    assert calls == ["Read", "Read", "Bash", "Edit", "Bash"]
    assert "The failing test passes now" in demo.stderr
    assert "\x1b" not in demo.stdout + demo.stderr


def test_every_command_that_the_demo_names_works(tmp_path: Path) -> None:
    demo = interlock(tmp_path, "demo", "--fast")
    named = re.findall(r"^  interlock (trace|explain|replay|diagram)(.*)$", demo.stdout, re.M)

    assert [name for name, _ in named] == ["trace", "explain", "replay", "diagram"]
    for name, words in named:
        looked = interlock(tmp_path, name, *words.split())
        assert looked.returncode == 0, looked.stderr
        assert looked.stdout


def test_the_files_that_the_demo_names_are_there(tmp_path: Path) -> None:
    demo = interlock(tmp_path, "demo", "--fast")

    named = re.findall(r"^(?:Transcript|Trace) +(.+)$", demo.stdout, re.M)
    assert len(named) == 2
    assert all(Path(path).is_file() for path in named)


def test_without_edit_the_demo_fails_and_says_so(tmp_path: Path) -> None:
    demo = interlock(tmp_path, "demo", "--fast", "--without", "Edit")

    assert demo.returncode == 1
    assert f"FAILED  {CODE} was edited" in demo.stdout
    assert "expected the tool results to contain 'Changed" in demo.stdout
    assert "FAILED  the tests pass" in demo.stdout
    assert demo.stderr.splitlines()[-1].startswith("interlock: the demo failed; not true: ")


def test_no_key_and_no_address_of_the_user_is_used(tmp_path: Path) -> None:
    demo = interlock(
        tmp_path,
        *("demo", "--fast"),
        ANTHROPIC_API_KEY="",
        ANTHROPIC_AUTH_TOKEN="a-real-token",
        ANTHROPIC_BASE_URL="http://127.0.0.1:9",
        HTTP_PROXY="http://127.0.0.1:9",
        http_proxy="http://127.0.0.1:9",
    )

    assert demo.returncode == 0, demo.stdout + demo.stderr


def test_a_folder_with_something_in_it_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")

    demo = interlock(tmp_path / "home", "demo", "--keep", str(tmp_path))

    assert demo.returncode == 1
    assert "is not empty" in demo.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("flag", ["--wihtout", "--fas", "now"])
def test_an_unknown_flag_is_named(tmp_path: Path, flag: str) -> None:
    demo = interlock(tmp_path, "demo", flag)

    assert demo.returncode == 1
    assert flag in demo.stderr
    assert len(demo.stderr.splitlines()) == 1
