"""When a session is forced onto the disk: who may set it, and what is shown of that."""

from __future__ import annotations

import pytest

from interlock.durability import Fsync
from interlock.errors import SettingsError
from interlock.settings import Settings
from tests.cli.shell import REAL, Shell


@pytest.fixture
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(tmp_path_factory.mktemp("work"))


def shown(shell: Shell, *argv: str, **env: str) -> tuple[str, str]:
    """The row of `interlock config show`, and what was warned of."""
    ran = shell.run("config", "show", "--origin", *argv, program=REAL, env=env)
    (row,) = (line for line in ran.out.splitlines() if line.startswith("interlock.fsync"))
    return row, ran.err


def test_each_source_sets_it_and_show_says_which(shell: Shell) -> None:
    given = '{"interlock": {"fsync": "never"}}'

    assert shown(shell)[0].split()[1:3] == ["request", "default"]
    assert shown(shell, INTERLOCK_FSYNC="always")[0].split()[1:3] == ["always", "environment,"]
    assert shown(shell, "--settings", given)[0].split()[1:4] == ["never", "command", "line,"]


def test_files_of_a_project_cannot_make_sessions_less_safe(shell: Shell) -> None:
    file = shell.folder / ".interlock" / "settings.json"
    file.parent.mkdir()
    file.write_text('{"interlock": {"fsync": "never"}}')

    row, warned = shown(shell)

    assert row.split()[1] == "request"
    assert "interlock.fsync is not taken from files of a project" in warned


@pytest.mark.parametrize("policy", Fsync)
def test_every_word_is_taken_from_the_environment(policy: Fsync) -> None:
    settings = Settings.of({"HOME": "/", "INTERLOCK_FSYNC": policy.value.upper()})

    assert settings.disk.policy is policy


def test_another_word_is_refused_with_those_there_are() -> None:
    with pytest.raises(SettingsError, match="is 'often'; set one of never, prompt, request, al"):
        Settings.of({"HOME": "/", "INTERLOCK_FSYNC": "often"})
