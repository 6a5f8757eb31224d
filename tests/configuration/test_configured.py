"""Settings reach what they are for: rules, options, the API key."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from interlock.configuration import Flags, Source
from interlock.errors import ConfigurationError
from interlock.options import GivenRule, Options
from interlock.permissions import Rules
from interlock.permissions.paths import covers
from tests.configuration.places import ALL, Place
from tests.waiting import wait_until


def rules(place: Place, cwd: Path | None = None) -> list[tuple[str, str]]:
    found = place.configured(options=Options(cwd=cwd or place.project))
    return [(rule.behaviour, rule.text) for rule in found.options.rules]


def test_a_rule_carries_where_it_stands(place: Place) -> None:
    place.write(Source.PROJECT, {"permissions": {"deny": ["Read(./.env)"]}})

    assert place.configured().options.rules == (
        GivenRule(
            behaviour="deny",
            text="Read(./.env)",
            origin="project settings, .claude/settings.json:4",
        ),
    )


def test_a_path_in_a_file_above_the_working_folder_counts_from_there(place: Place) -> None:
    below = place.project / "a"
    below.mkdir()
    texts = ["Read(./.env)", "Edit(src/**)", "Read(.key)", "Read(//etc/**)", "Bash(rm:*)", "Write"]
    place.write(Source.PROJECT, {"permissions": {"deny": texts}})

    top = f"/{place.project}"
    assert rules(place, below) == [
        *[("deny", "Read(./.env)"), ("deny", f"Read({top}/.env)")],
        *[("deny", "Edit(src/**)"), ("deny", f"Edit({top}/src/**)")],
        *[("deny", "Read(.key)"), ("deny", f"Read({top}/**/.key)")],
        *[("deny", "Read(//etc/**)"), ("deny", "Bash(rm:*)"), ("deny", "Write")],
    ]


def test_an_allow_rule_of_such_a_file_allows_nothing_below_that_it_did_not_name(
    place: Place,
) -> None:
    below = place.project / "a"
    below.mkdir()
    place.write(Source.PROJECT, {"permissions": {"allow": ["Edit(src/**)"]}})

    assert rules(place, below) == [("allow", f"Edit(/{place.project}/src/**)")]
    assert rules(place) == [("allow", "Edit(src/**)")]


def test_letters_of_a_folder_that_mean_something_in_patterns_are_quoted(place: Place) -> None:
    project = place.user / "a[1]*{b,c}\\"
    below = project / "b"
    (project / ".git").mkdir(parents=True)
    below.mkdir()
    place.write(
        project / ".claude" / "settings.json", {"permissions": {"allow": ["Edit(src/**)"]}}
    )

    ((_, rule),) = rules(place, below)

    assert rule == f"Edit(/{place.user}/a\\[1]\\*\\{{b\\,c\\}}\\\\/src/**)"
    (parsed,) = Rules.parse(allow=[rule]).allow
    assert parsed.specifier is not None
    assert covers(parsed.specifier, project / "src" / "x.py", below)


@pytest.mark.parametrize("rule", ["Bash(rm", "Read(a), Edit(b)", "(x)", "Read([)", "Edit(../x)"])
def test_a_rule_that_cannot_be_read_is_refused_with_its_place(place: Place, rule: str) -> None:
    place.write(Source.USER, {"permissions": {"deny": ["Read", rule]}})

    if rule == "Read([)":
        assert place.configured().options.rules[1].text == rule  # a lone bracket is a letter
        return
    with pytest.raises(ConfigurationError) as caught:
        place.configured()

    (problem,) = caught.value.problems
    assert problem.startswith("~/.interlock/settings.json:5:4: permissions.deny: ")


def test_what_flags_say_stays_beside_what_files_say(place: Place) -> None:
    place.write(Source.USER, {"permissions": {"allow": ["Read"]}})
    options = Options(cwd=place.project, allowed_tools=("Bash",), disallowed_tools=("Edit",))

    found = place.configured(options=options).options

    assert (found.allowed_tools, found.disallowed_tools) == (("Bash",), ("Edit",))
    assert [rule.text for rule in found.rules] == ["Read"]


def test_without_files_options_stay_as_they_are(place: Place) -> None:
    options = Options(cwd=place.project, model=None)

    found = place.configured(options=options).options

    assert not found.mcp  # it knows where answers are kept, and names no server
    assert attrs.evolve(found, mcp=None) == options


# --- the key ----------------------------------------------------------------------------------


def test_what_the_helper_prints_is_the_key(place: Place) -> None:
    place.write(Source.USER, {"apiKeyHelper": 'echo "  $PREFIX-key "'})

    assert place.configured(environ={"PREFIX": "sk"}).settings.api_key == "sk-key"


@pytest.mark.parametrize("name", ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"])
def test_a_key_in_the_environment_spares_the_helper(place: Place, name: str) -> None:
    place.write(Source.USER, {"apiKeyHelper": "exit 7"})

    found = place.configured(environ={name: "k"})

    assert "k" in (found.settings.api_key, found.settings.auth_token)


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("exit 3", "ended with 3"),
        ("true", "printed no key"),
        ("printf 'a\\nb'", "printed what can be no key"),
        ("no-such-program-of-ours 2>/dev/null", "ended with 127"),
    ],
)
def test_a_helper_that_fails_is_refused_with_its_place(
    place: Place, command: str, problem: str
) -> None:
    place.write(Source.USER, {"apiKeyHelper": command})

    with pytest.raises(ConfigurationError) as caught:
        place.configured()

    assert caught.value.problems == (
        f"~/.interlock/settings.json:2:18: apiKeyHelper {problem}; run it by hand to see why",
    )


def test_nothing_that_the_helper_started_outlives_it(place: Place) -> None:
    pid = place.root / "pid"
    command = f"sleep 60 >/dev/null & echo $! > {pid}; echo key"
    place.write(Source.USER, {"apiKeyHelper": command})

    place.configured()

    stat = Path(f"/proc/{pid.read_text().strip()}/stat")
    wait_until(lambda: not stat.exists() or ") Z " in stat.read_text())


def test_sources_that_are_not_chosen_do_not_count(place: Place) -> None:
    place.write(Source.USER, {"model": "m"})

    assert place.configured(Flags()).options.model is None
    assert place.configured(ALL).options.model == "m"
