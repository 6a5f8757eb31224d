"""`interlock config`: what is in force, where it comes from, and whether it can be used."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import attrs
import pytest

from interlock.cli.config import shown
from interlock.configuration import CHOSEN, Flags
from interlock.configured import configured
from interlock.options import Options
from phases.world.limits import Limits
from phases.world.loop import Features
from tests.cli.shell import REAL, Shell


def lines(folder: Path, environ: Mapping[str, str], *, origin: bool = True) -> list[str]:
    whole = {"HOME": str(folder), "INTERLOCK_HOME": str(folder / "home"), **environ}
    flags = Flags(sources=CHOSEN)
    found = configured(Options(cwd=folder), flags, whole, managed=(), key=False)
    return list(shown(found, origin=origin))


def test_every_limit_and_every_feature_is_shown_with_its_reason(tmp_path: Path) -> None:
    told = lines(tmp_path, {})

    for limit in attrs.fields(Limits):
        (line,) = [each for each in told if each.split() and each.split()[0] == limit.name]
        assert limit.metadata["reason"] in line
        assert "default" in line
    for feature in attrs.fields(Features):
        assert any(each.split()[:1] == [feature.name] for each in told)


def test_what_the_environment_sets_is_shown_as_such(tmp_path: Path) -> None:
    told = lines(tmp_path, {"INTERLOCK_MAX_RETRIES": "3", "INTERLOCK_SNIP": "on"})

    retries = ["max_retries", "3", "environment,", "INTERLOCK_MAX_RETRIES"]
    assert any(each.split()[:4] == retries for each in told)
    assert any(each.split() == ["snip", "on", "environment,", "INTERLOCK_SNIP"] for each in told)


def test_where_it_comes_from_is_shown_when_asked_for(tmp_path: Path) -> None:
    assert not any("environment" in each for each in lines(tmp_path, {}, origin=False))


@pytest.fixture
def settings(shell: Shell) -> Path:
    path = shell.folder / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(
        '{\n "permissions": {\n  "deny": ["Read(./.env)"]\n },\n'
        ' "env": {"MY_TOKEN": "hush", "COLOUR": "green"},\n'
        ' "model": "claude-x",\n "outputStyle": "terse"\n}\n'
    )
    return path


def test_every_setting_of_a_file_is_shown_with_file_and_line(shell: Shell, settings: Path) -> None:
    ran = shell.run("config", "show", "--origin", program=REAL)

    told = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert (ran.code, ran.err) == (0, "")
    assert "project read .claude/settings.json" in told
    assert "model claude-x project settings, .claude/settings.json:6" in told
    assert "permissions.deny Read(./.env) project settings, .claude/settings.json:3" in told
    assert "env.COLOUR green project settings, .claude/settings.json:5" in told
    assert "outputStyle ignored project settings, .claude/settings.json:7" in told


def test_a_secret_is_shown_as_set_and_not_as_what_it_is(shell: Shell, settings: Path) -> None:
    ran = shell.run("config", "show", program=REAL)
    programs = shell.run("config", "show", "--json", program=REAL)

    assert "env.MY_TOKEN" in ran.out
    assert "hush" not in ran.out + programs.out


def test_programs_get_the_same_as_json(shell: Shell, settings: Path) -> None:
    ran = shell.run("config", "show", "--json", program=REAL)

    (row,) = [each for each in _json(ran.out)["settings"] if each["name"] == "model"]
    assert row["value"] == "claude-x"
    assert row["origin"] == {
        "source": "project",
        "where": ".claude/settings.json",
        "line": 6,
        "column": 11,
    }


def test_check_says_which_files_can_be_used(shell: Shell, settings: Path) -> None:
    ran = shell.run("config", "check", program=REAL)

    assert (ran.code, ran.out) == (0, ".claude/settings.json: can be used\n")


def test_check_tells_everything_that_is_wrong_a_line_each(shell: Shell, settings: Path) -> None:
    settings.write_text('{"permissons": {},\n "model": 7,\n "hooks": []}')

    ran = shell.run("config", "check", program=REAL)

    assert (ran.code, ran.out) == (1, "")
    where = "interlock: .claude/settings.json"
    assert ran.err.splitlines() == [
        f"{where}:1:2: permissons is no setting; did you mean permissions?",
        f'{where}:2:11: model is 7; write a string: "…"',
        f'{where}:3:11: hooks is a list; write an object: {{"PreToolUse": […]}}',
    ]


def _json(text: str) -> dict[str, list[dict[str, object]]]:
    import json

    found: dict[str, list[dict[str, object]]] = json.loads(text)
    return found
