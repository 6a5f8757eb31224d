"""How long sessions are kept: who may say it, and what is no number of days."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from interlock.errors import SettingsError
from interlock.settings import Settings
from tests.cli.shell import REAL, Ran, Shell


@pytest.fixture
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    return Shell(tmp_path_factory.mktemp("work"))


def config(shell: Shell, *argv: str, **env: str) -> Ran:
    return shell.run("config", "show", "--origin", *argv, program=REAL, env=env)


def shown(ran: Ran) -> list[str]:
    (row,) = (line for line in ran.out.splitlines() if line.startswith("cleanupPeriodDays"))
    return row.split()[1:]


def test_each_source_sets_it_and_show_says_which(shell: Shell) -> None:
    assert shown(config(shell))[:2] == ["30", "default"]
    assert shown(config(shell, INTERLOCK_CLEANUP_DAYS="7"))[:2] == ["7", "environment,"]
    given = config(shell, "--settings", '{"cleanupPeriodDays": 99999}')
    assert shown(given)[:3] == ["99,999", "command", "line,"]


def test_files_of_a_project_cannot_delete_sessions(shell: Shell) -> None:
    file = shell.folder / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text('{"cleanupPeriodDays": 1, "env": {"INTERLOCK_CLEANUP_DAYS": "1"}}')

    ran = config(shell)

    assert shown(ran)[0] == "30"
    assert "cleanupPeriodDays is not taken from files of a project" in ran.err
    assert "env.INTERLOCK_CLEANUP_DAYS is not taken from files of a project" in ran.err


@pytest.mark.parametrize("value", [0, -3, 1.5, "30", True, None, [30]])
def test_what_is_no_number_of_days_is_refused_with_its_place(shell: Shell, value: object) -> None:
    file = Path(shell.home, "settings.json")
    file.parent.mkdir()
    file.write_bytes(orjson.dumps({"cleanupPeriodDays": value}))

    ran = config(shell)

    assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)
    assert "settings.json:1:22: cleanupPeriodDays is " in ran.err
    assert "write a whole number of days from 1 up; 99999 keeps all" in ran.err


@pytest.mark.parametrize("text", ["0", "-1", "2.5", "never"])
def test_so_it_is_in_the_environment(text: str) -> None:
    with pytest.raises(SettingsError, match="set a whole number from 1 up"):
        Settings.of({"HOME": "/", "INTERLOCK_CLEANUP_DAYS": text})
