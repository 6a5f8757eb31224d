"""`interlock permissions explain`: the verdict, each part's reason, and the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interlock.cli.main import main

FLAGS = ["--allowedTools", "Bash(git push:*)", "--disallowedTools", "Bash(rm:*)", "Read(.env)"]


def explained(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["permissions", "explain", *arguments])
    out, err = capfd.readouterr()
    return code, out, err


def test_each_command_of_a_line_is_told_with_its_rule(capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = explained(capfd, "Bash(git push && rm -rf x)", *FLAGS)

    assert code == 1
    assert out.startswith("deny: the rule Bash(rm:*) (the flag --disallowedTools) forbids it\n")
    assert "allow  git push\n" in out
    assert "deny   rm -rf x\n" in out
    assert "only a sandbox can keep from it" in out  # what Bash can still read


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("Bash(git push)", 0),
        ("Bash(make)", 2),
        ("Bash(cat .env)", 1),
        ("Read(a.txt)", 0),
        ("Read(.env)", 1),
        ("Edit(a.txt)", 2),
        ("Grep", 0),
        ("WebFetch(domain:example.com)", 2),
        ("mcp__git__push", 2),
        ("Task(reviewer)", 0),
    ],
)
def test_the_exit_code_is_the_verdict(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, call: str, code: int
) -> None:
    assert explained(capfd, call, *FLAGS, "--cwd", str(tmp_path))[0] == code


def test_for_programs_the_same_as_json(capfd: pytest.CaptureFixture[str]) -> None:
    _, out, _ = explained(capfd, "Bash(ls; make)", "--json")

    said = json.loads(out)
    assert said["verdict"] == "ask"
    assert [part["verdict"] for part in said["parts"]] == ["allow", "ask"]
    assert said["helps"] == "--allowedTools 'Bash(ls; make)'; or a person who answers"


@pytest.mark.parametrize(
    ("mode", "code"), [("plan", 1), ("acceptEdits", 0), ("dontAsk", 1), ("bypassPermissions", 0)]
)
def test_the_mode_of_the_run_counts(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, mode: str, code: int
) -> None:
    flags = ("--permission-mode", mode, "--cwd", str(tmp_path))

    assert explained(capfd, "Edit(a.txt)", *flags)[0] == code


def test_a_further_folder_counts(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    there = tmp_path / "there"
    there.mkdir()
    cwd = ("--cwd", str(tmp_path / "here"))

    assert explained(capfd, f"Read({there}/a)", *cwd)[0] == 2
    assert explained(capfd, f"Read({there}/a)", *cwd, "--add-dir", str(there))[0] == 0


@pytest.mark.parametrize(
    "arguments", [["Bash(ls"], ["(x)"], ["Bash(ls)", "Bash(make)"], []], ids=str
)
def test_what_is_no_call_is_refused_in_one_line(
    capfd: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    code, out, err = explained(capfd, *arguments)

    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert (
        "interlock permissions explain 'Bash(git push)'" in err or "like 'Bash(git push)'" in err
    )
