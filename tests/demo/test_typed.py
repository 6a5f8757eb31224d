"""How the command is written down for someone who wants to type it again."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.demo.typed import typed


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The command as `make install` leaves it, seen from the folder of the Makefile."""
    made = executable(tmp_path / "repo" / ".venv" / "bin" / "interlock")
    monkeypatch.chdir(tmp_path / "repo")
    return made


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def python(script: Path) -> str:
    return str(script.with_name("python"))


def test_on_path_it_is_its_bare_name(script: Path) -> None:
    assert typed(str(script), python(script), str(script.parent)) == "interlock"


def test_a_link_on_path_is_as_good(script: Path, tmp_path: Path) -> None:
    (tmp_path / "interlock").symlink_to(script)

    assert typed(str(script), python(script), str(tmp_path)) == "interlock"


@pytest.mark.parametrize("argv0", [".venv/bin/interlock", "/repo/interlock/__main__.py"])
def test_not_on_path_it_is_the_script_seen_from_here(script: Path, argv0: str) -> None:
    assert typed(argv0, python(script), "/nowhere") == ".venv/bin/interlock"


def test_another_one_on_path_is_not_named(script: Path, tmp_path: Path) -> None:
    executable(tmp_path / "interlock")

    assert typed(str(script), python(script), str(tmp_path)) == ".venv/bin/interlock"


def test_beside_the_script_it_is_still_a_path(
    script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(script.parent)

    assert typed(str(script), python(script), "/nowhere") == "./interlock"


def test_far_away_or_in_a_folder_that_is_gone_it_is_the_whole_path(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    far = tmp_path.joinpath(*"a folder far down below all the others" * 3)
    far.mkdir(parents=True)
    monkeypatch.chdir(far)

    from_far = typed(str(script), python(script), "/nowhere")
    far.rmdir()
    from_nowhere = typed(str(script), python(script), "/nowhere")

    assert (from_far, from_nowhere) == (str(script), str(script))


def test_without_a_script_it_is_the_interpreter_with_the_module(tmp_path: Path) -> None:
    interpreter = str(tmp_path / "my python")

    assert typed("__main__.py", interpreter, "/nowhere") == f"'{interpreter}' -m interlock"
