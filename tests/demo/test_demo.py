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


INTERLOCK = (sys.executable, "-m", "interlock")


def environment(home: Path) -> dict[str, str]:
    left_out = ("ANTHROPIC_", "INTERLOCK_", "CLAUDE_")
    kept = {name: told for name, told in os.environ.items() if not name.startswith(left_out)}
    return kept | {"INTERLOCK_HOME": str(home), "PYTHONPATH": str(ROOT)}


def interlock(
    home: Path, *words: str, folder: Path = ROOT, **more: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*INTERLOCK, *words],
        cwd=folder,
        env=environment(home) | more,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def as_typed(line: str, home: Path, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", line],
        cwd=folder,
        env=environment(home),
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
    named = re.findall(r"^  (.+ (trace|explain|replay|diagram) .*)$", demo.stdout, re.M)

    assert [name for _, name in named] == ["trace", "explain", "replay", "diagram"]
    for line, _ in named:
        looked = as_typed(line, tmp_path)
        assert looked.returncode == 0, looked.stderr
        assert looked.stdout


def test_looking_at_the_diagram_leaves_no_files_where_one_stands(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    demo = interlock(tmp_path, "demo", "--fast", folder=folder)
    (line,) = re.findall(r"^  (.+ diagram .*)$", demo.stdout, re.M)

    looked = as_typed(line, tmp_path, folder)

    assert looked.stdout.startswith("stateDiagram-v2")
    assert list(folder.iterdir()) == []


def test_a_repository_that_will_not_stay_is_said_to_be_deleted(tmp_path: Path) -> None:
    for_now = interlock(tmp_path / "home", "demo", "--fast")
    kept = interlock(tmp_path / "home", "demo", "--fast", "--keep", str(tmp_path / "kept"))

    (root,) = re.findall(r"^  (/.+)\n  \(deleted at the end; --keep DIR ", for_now.stdout, re.M)
    assert not Path(root).exists()
    assert "deleted" not in kept.stdout


def test_in_a_folder_that_is_gone_the_demo_comes_to_its_end(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()

    demo = subprocess.run(
        ["sh", "-c", 'rmdir "$PWD" && exec "$@"', "sh", *INTERLOCK, "demo", "--fast"],
        cwd=gone,
        env=environment(tmp_path / "home"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert demo.returncode == 0, demo.stderr
    assert "the demo succeeded" in demo.stdout


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


def test_a_tool_that_is_not_there_cannot_be_switched_off(tmp_path: Path) -> None:
    demo = interlock(tmp_path, "demo", "--without", "Edit, Nope")

    assert (demo.returncode, demo.stdout) == (1, "")
    assert demo.stderr == (
        "interlock: demo: no such tool: Nope; there are Read, Write, Edit, MultiEdit, "
        "NotebookEdit, Bash, TaskOutput, TaskStop, Glob, Grep, WebFetch, TodoWrite, "
        "AskUserQuestion, Skill (--without)\n"
    )


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
