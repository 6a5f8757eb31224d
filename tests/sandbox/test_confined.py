"""From deny rules to what a sandbox hides: in the working folders and outside of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock import confined
from interlock.options import Options
from interlock.permissions import Gate, NobodyAsks
from interlock.permissions.explain import judge_of
from interlock.sandbox import Policy
from tests.tools.places import real


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = real(tmp_path) / "home"
    for name in ("private.txt", "keys/a.pem", "keys/b.txt", "work/.env", "work/sub/.env"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("x")
    (home / "work" / "secrets").mkdir()
    monkeypatch.setenv("HOME", str(home))
    return home


def policy(home: Path, *denied: str) -> Policy:
    options = Options(cwd=home / "work", disallowed_tools=denied)
    gate = Gate(judge_of(options), NobodyAsks())
    return confined.policy_of(options, home / "work", gate, home / ".interlock")


def below(home: Path, policy: Policy) -> set[str]:
    paths = (path for path in policy.hidden() if path.is_relative_to(home))
    return {str(path.relative_to(home)) for path in paths}


@pytest.mark.parametrize(
    ("rule", "hidden"),
    [
        ("Read(~/private.txt)", {"private.txt"}),
        ("Read(~/keys/*.pem)", {"keys/a.pem"}),
        ("Read(~/keys/**)", {"keys"}),
        ("Read(./.env)", {"work/.env"}),
        ("Read(**/.env)", {"work/.env", "work/sub/.env"}),
        ("Read(secrets/**)", {"work/secrets"}),
        ("Read(none.txt)", set()),
    ],
)
def test_what_a_rule_denies_to_tools_is_hidden_from_commands(
    home: Path, rule: str, hidden: set[str]
) -> None:
    assert below(home, policy(home, rule)) == hidden


def test_a_pattern_outside_is_looked_for_where_it_begins(home: Path) -> None:
    rule = f"Read(/{home}/keys/**/*.pem)"

    assert below(home, policy(home, rule)) == {"keys/a.pem"}


def test_what_may_not_be_edited_stays_as_it_is(home: Path) -> None:
    kept = set(policy(home, "Edit(./.env)").kept())

    assert home / "work" / ".env" in kept
