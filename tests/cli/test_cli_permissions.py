"""`interlock permissions explain`: the verdict, each part's reason, and the exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from interlock.cli.main import main
from interlock.sandbox.bubblewrap import missing

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


def test_a_sandbox_that_holds_counts_as_in_a_run(
    capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    if missing() is not None:
        pytest.skip("no sandbox here")
    cwd = ("--cwd", str(tmp_path))
    own = ("--settings", '{"sandbox": {"autoAllowBashIfSandboxed": false}}')

    code, out, _ = explained(capfd, "Bash(make zz)", "--sandbox", "required", *cwd)

    assert code == 0
    assert out.startswith("allow: ")
    assert "it runs in the sandbox" in out
    assert explained(capfd, "Bash(make zz)", "--sandbox", "off", *cwd)[0] == 2
    assert explained(capfd, "Bash(make zz)", "--sandbox", "auto", *own, *cwd)[0] == 2
    assert explained(capfd, "Bash(rm x)", "--sandbox", "required", *FLAGS, *cwd)[0] == 1


def test_where_no_sandbox_is_to_be_had_that_is_said(tmp_path: Path) -> None:
    def said(mode: str) -> tuple[int, str]:
        line = ["-m", "interlock", "permissions", "explain", "Bash(make)", "--sandbox", mode]
        environment = {**os.environ, "PATH": str(tmp_path), "HOME": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, *line], env=environment, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout + done.stderr

    code, out = said("required")
    assert code == 1
    assert out.count("\n") == 1
    assert "--sandbox required: bubblewrap (bwrap) is not installed" in out
    code, out = said("auto")
    assert code == 2
    assert "bubblewrap (bwrap) is not installed" in out
    assert "not installed" not in said("off")[1]


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


@pytest.mark.parametrize(
    ("call", "hint"), [("bash(ls)", "did you mean Bash?"), ("Nope(x)", "there are")]
)
def test_a_tool_that_nobody_has_is_said_to_be_none(
    capfd: pytest.CaptureFixture[str], call: str, hint: str
) -> None:
    code, out, err = explained(capfd, call)

    assert (code, out) == (1, "")
    assert "no tool is called" in err
    assert hint in err
