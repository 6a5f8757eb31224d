"""What settings may say, and what is done with what they may not."""

from __future__ import annotations

import re
from pathlib import Path

import attrs
import pytest

from interlock.configuration import Source
from interlock.configuration.known import UNENFORCED, WITHOUT_EFFECT
from interlock.configuration.schema import KEYS, table
from interlock.options import PermissionMode, RemotePlace
from phases.world.limits import Limits
from phases.world.loop import Features
from phases.world.messages import Json
from tests.configuration.places import Place

DOCUMENTATION = Path(__file__).parents[2] / "docs" / "settings.md"
EVERYTHING = {
    "$schema": "https://json.schemastore.org/claude-code-settings.json",
    "permissions": {
        "allow": ["Read"],
        "ask": ["Bash(git push:*)"],
        "deny": ["Read(./.env)"],
        "defaultMode": "acceptEdits",
        "additionalDirectories": ["../docs"],
        "disableBypassPermissionsMode": "disable",
        "disableAutoMode": "disable",
    },
    "env": {"COLOUR": "green", "NUMBER": 1.50, "SWITCH": True},
    "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]},
    "disableAllHooks": False,
    "sandbox": {"enabled": True},
    "model": "m",
    "fallbackModel": ["a", "b"],
    "apiKeyHelper": "echo key",
    "remotes": {"gpu": {"url": "https://gpu:7411/", "tokenEnv": "GPU"}},
    "interlock": {"limits": {"max_retries": 2}, "features": {"snip": True}},
    "cleanupPeriodDays": 20,
    "statusLine": {"type": "command", "command": "x"},
}


def test_everything_that_can_be_set_is_understood(place: Place) -> None:
    (place.user / "docs").mkdir()
    place.write(Source.USER, EVERYTHING)
    place.write(place.home / "../docs/x", "")

    found = place.load()

    assert found.warnings == ()
    assert [(rule.behaviour, rule.text) for rule in found.permissions] == [
        ("allow", "Read"),
        ("ask", "Bash(git push:*)"),
        ("deny", "Read(./.env)"),
    ]
    assert found.default_mode.value is PermissionMode.ACCEPT_EDITS
    assert [folder.value for folder in found.directories] == [place.user / "docs"]
    assert {name: each.value for name, each in found.env.items()} == {
        "COLOUR": "green",
        "NUMBER": "1.5",
        "SWITCH": "true",
    }
    assert [hook.json for hook in found.hooks] == [EVERYTHING["hooks"]]
    assert [sandbox.json for sandbox in found.sandbox] == [{"enabled": True}]
    assert found.model is not None
    assert found.model.value == "m"
    assert found.fallback_models is not None
    assert found.fallback_models.value == ("a", "b")
    assert found.api_key_helper is not None
    assert found.api_key_helper.value == "echo key"
    assert found.remotes["gpu"].value == RemotePlace(url="https://gpu:7411", token_env="GPU")
    assert {name: each.value for name, each in found.numbers.items()} == {
        "INTERLOCK_MAX_RETRIES": "2",
        "INTERLOCK_SNIP": "on",
        "INTERLOCK_CLEANUP_DAYS": "20",
    }
    assert {key.value for key in found.ignored} == {
        "$schema",
        "permissions.disableAutoMode",
        "statusLine",
    }


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (7, ":1:1: the whole is a number; write {…}"),
        ([], ":1:1: the whole is a list; write {…}"),
        ({"model": None}, ':2:11: model is null; write a string: "…"'),
        ({"model": " "}, ':2:11: model is empty; write a string: "…"'),
        ({"permissions": []}, ':2:17: permissions is no object; write "permissions": {…}'),
        (
            {"permissions": {"deny": "Read"}},
            ":3:11: permissions.deny is 'Read'; write a list of strings: [\"…\"]",
        ),
        (
            {"permissions": {"deny": [{"tool": "Read"}]}},
            ':4:4: permissions.deny is an object; write a string: "…"',
        ),
        (
            {"permissions": {"deny": [""]}},
            ':4:4: permissions.deny is empty; write a string: "…"',
        ),
        (
            {"permissions": {"defaultMode": "yolo"}},
            ":3:18: permissions.defaultMode is 'yolo'; write one of " + ", ".join(PermissionMode),
        ),
        (
            {"permissions": {"disableBypassPermissionsMode": True}},
            (
                ":3:35: permissions.disableBypassPermissionsMode is true; "
                'write "disable", or leave it out'
            ),
        ),
        ({"env": ["A=1"]}, ':2:9: env is a list; write an object of variables: {"NAME": "value"}'),
        ({"env": {"A": None}}, ':3:8: env.A is null; write a string: "…"'),
        (
            {"env": {"A=B": "1"}},
            ":3:3: env holds a name that is none; name it with letters, digits and _",
        ),
        ({"disableAllHooks": "no"}, ":2:21: disableAllHooks is 'no'; write true or false"),
        ({"sandbox": True}, ":2:13: sandbox is true; write an object: {…}"),
        ({"hooks": []}, ':2:11: hooks is a list; write an object: {"PreToolUse": […]}'),
        (
            {"interlock": {"limits": {"max_retries": -1}}},
            ":4:19: interlock.limits.max_retries is -1; write a whole number from 0 up",
        ),
        (
            {"interlock": {"limits": {"max_retries": True}}},
            ":4:19: interlock.limits.max_retries is true; write a whole number from 0 up",
        ),
        (
            {"interlock": {"limits": {"context_window": 0}}},
            ":4:22: interlock.limits.context_window is 0; write a whole number from 1 up",
        ),
        (
            {"interlock": {"limits": {"budget_mark": 1.5}}},
            ":4:19: interlock.limits.budget_mark is 1.5; write a number from 0 to 1",
        ),
        (
            {"interlock": {"limits": {"stream_idle_s": 0}}},
            ":4:21: interlock.limits.stream_idle_s is 0; write a number above 0",
        ),
        (
            {"interlock": {"limits": {"max_retrys": 1}}},
            ":4:4: interlock.limits.max_retrys does not exist; did you mean max_retries?",
        ),
        (
            {"interlock": {"features": {"snip": "on"}}},
            ":4:12: interlock.features.snip is 'on'; write true or false",
        ),
    ],
)
def test_a_value_of_the_wrong_shape_is_refused_with_place_and_mend(
    place: Place, content: Json, problem: str
) -> None:
    place.write(Source.PROJECT, content)

    assert place.refused() == (f".claude/settings.json{problem}",)


@pytest.mark.parametrize(
    ("hooks", "words"),
    [
        ({"Stop": {}}, "hooks is an object; write a list:"),
        ({"Stop": [{"matcher": "x"}]}, "hooks holds no list of hooks; write ["),
        ({"Stop": ["true"]}, "hooks holds no list of hooks; write ["),
        ({"Stop": [{"hooks": "true"}]}, "hooks is 'true'; write a list:"),
        ({"Stop": [{"hooks": ["true"]}]}, "hooks is 'true'; write an object:"),
    ],
)
def test_hooks_of_the_wrong_outer_shape_are_refused(place: Place, hooks: Json, words: str) -> None:
    place.write(Source.PROJECT, {"hooks": hooks})

    (problem,) = place.refused()

    assert words in problem


def test_every_fault_of_a_file_is_told_at_once(place: Place) -> None:
    place.write(Source.PROJECT, {"model": 1, "env": {"A": [], "B": {}}, "permission": {}})

    assert len(place.refused()) == 4


def test_whoever_reads_a_part_can_name_the_line_of_anything_in_it(place: Place) -> None:
    group = {"matcher": "(", "hooks": [{"type": "command", "command": "true"}]}
    place.write(Source.PROJECT, {"hooks": {"PreToolUse": [group]}})

    (hooks,) = place.load().hooks

    assert str(hooks.at("PreToolUse", 0, "matcher")) == (
        "project settings, .claude/settings.json:5"
    )
    assert hooks.at("PreToolUse", 0, "hooks", 0, "command").place == (".claude/settings.json:9:18")


# --- names that are none ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value", "mend"),
    [
        ("permissons", {"deny": ["Read"]}, 'rules stand in "permissions"'),
        ("permissons", {}, "did you mean permissions?"),
        ("Permissions", {}, "did you mean permissions?"),
        ("permission", [], "did you mean permissions?"),
        ("policy", {"deny": ["Read"]}, 'rules stand in "permissions"'),
        ("hook", {}, "did you mean hooks?"),
        ("sandBox", {}, "did you mean sandbox?"),
        ("deny", ["Read"], "put it inside permissions"),
        ("defaultMode", "plan", "put it inside permissions"),
        ("disableAllHook", True, "did you mean disableAllHooks?"),
    ],
)
def test_a_name_that_comes_near_one_that_protects_is_refused(
    place: Place, key: str, value: Json, mend: str
) -> None:
    place.write(Source.PROJECT, {key: value})

    assert place.refused() == (f".claude/settings.json:2:2: {key} is no setting; {mend}",)


def test_an_unknown_name_among_permissions_is_refused(place: Place) -> None:
    place.write(Source.PROJECT, {"permissions": {"denied": ["Read"], "never": ["Bash"]}})

    denied, never = place.refused()

    assert "permissions.denied is no setting" in denied
    assert "permissions.never is no setting; permissions knows allow, ask, deny" in never


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("modle", "unknown setting 'modle' has no effect; did you mean model?"),
        ("favouriteColour", "unknown setting 'favouriteColour' has no effect"),
    ],
)
def test_any_other_unknown_name_is_a_warning(place: Place, key: str, words: str) -> None:
    place.write(Source.PROJECT, {key: 1})

    assert place.load().warnings == (f".claude/settings.json:2:2: {words}",)


@pytest.mark.parametrize("key", sorted(UNENFORCED))
def test_a_restriction_that_has_no_meaning_here_is_told(place: Place, key: str) -> None:
    place.write(Source.MANAGED, {key: []})

    (warning,) = place.load().warnings

    assert warning.endswith(f"{key} is not enforced here")


def test_no_name_that_others_know_is_one_of_ours() -> None:
    ours = {key.name for key in KEYS}

    assert not ours & (WITHOUT_EFFECT | UNENFORCED)
    assert not WITHOUT_EFFECT & UNENFORCED


@pytest.mark.parametrize("mode", ["auto", "delegate", "manual"])
def test_a_mode_that_is_not_offered_here_asks_as_the_default_does(place: Place, mode: str) -> None:
    place.write(Source.USER, {"permissions": {"defaultMode": mode}})

    assert place.load().default_mode.value is PermissionMode.DEFAULT


def test_every_limit_and_feature_can_be_set_in_a_file(place: Place) -> None:
    defaults = {limit.name: limit.default for limit in attrs.fields(Limits)}
    features = {feature.name: feature.default for feature in attrs.fields(Features)}
    place.write(Source.USER, {"interlock": {"limits": defaults, "features": features}})

    found = place.configured()

    assert found.settings.limits == Limits()
    assert found.settings.features == Features()
    assert len(found.configuration.numbers) == len(defaults) + len(features)


def test_the_table_in_the_documentation_is_that_of_the_schema() -> None:
    assert "\n".join(table()) in DOCUMENTATION.read_text()


def test_the_example_in_the_documentation_can_be_used(place: Place) -> None:
    (example,) = re.findall(r"```json\n(.*?)```", DOCUMENTATION.read_text(), flags=re.DOTALL)
    place.write(Source.PROJECT, example)

    found = place.configured()

    assert found.configuration.warnings == ()
    assert found.settings.limits.tool_output_cap == 20_000
    assert found.options.environment == {"NODE_ENV": "test"}
