"""Who wins: managed, flags, environment, local, project, user, default. Lists add up."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.configuration import CHOSEN, Flags, Source
from interlock.errors import ConfigurationError, SettingsError
from interlock.options import Options, PermissionMode
from tests.configuration.places import Place, made

ORDER: list[Source] = [each for each in Source if each is not Source.DEFAULT]
FILES = (Source.MANAGED, Source.LOCAL, Source.PROJECT, Source.USER)


@given(st.sets(st.sampled_from(ORDER)))
def test_of_single_values_the_highest_source_counts(said: set[Source]) -> None:
    with TemporaryDirectory() as root:
        place = made(Path(root))
        for source in said & set(FILES):
            number = 1 + ORDER.index(source)
            place.write(
                source,
                {"model": str(source), "interlock": {"limits": {"tool_output_cap": number}}},
            )
        given_json = '{"interlock": {"limits": {"tool_output_cap": 2}}, "model": "flags"}'
        flags = Flags(sources=CHOSEN, settings=given_json if Source.FLAGS in said else None)
        environ = {"ANTHROPIC_MODEL": "environment", "INTERLOCK_TOOL_OUTPUT_CAP": "3"}

        found = place.configured(flags, environ if Source.ENVIRONMENT in said else {})

    highest = next((source for source in ORDER if source in said), None)
    model = found.configuration.model
    number_of = found.configuration.origin_of("INTERLOCK_TOOL_OUTPUT_CAP")
    if highest is None:
        assert (model, number_of.source) == (None, Source.DEFAULT)
    else:
        assert model is not None
        assert (model.value, model.origin.source) == (str(highest), highest)
        assert found.settings.limits.tool_output_cap == 1 + ORDER.index(highest)
        assert number_of.source is highest


@given(st.sets(st.sampled_from(FILES)), st.sampled_from(["allow", "ask", "deny"]))
def test_rules_of_all_sources_add_up_highest_first(said: set[Source], behaviour: str) -> None:
    with TemporaryDirectory() as root:
        place = made(Path(root))
        for source in said:
            place.write(source, {"permissions": {behaviour: [f"Read({source})"]}})

        found = place.load()

    assert [rule.text for rule in found.permissions] == [
        f"Read({source})" for source in ORDER if source in said
    ]


def test_a_flag_goes_before_all_files_but_managed_ones(place: Place) -> None:
    place.write(Source.LOCAL, {"model": "local", "permissions": {"defaultMode": "default"}})
    flags = Flags(
        sources=CHOSEN,
        model="flag",
        permission_mode=PermissionMode.ACCEPT_EDITS,
        fallback_models=("f",),
        settings=json.dumps(
            {
                "model": "of --settings",
                "fallbackModel": ["g"],
                "permissions": {"defaultMode": "bypassPermissions"},
            }
        ),
    )

    options = place.configured(flags).options

    assert (options.model, options.permission_mode, options.fallback_models) == (
        "flag",
        PermissionMode.ACCEPT_EDITS,
        ("f",),
    )


def test_a_flag_that_managed_settings_overrule_is_told(place: Place) -> None:
    path = place.write(
        Source.MANAGED, {"model": "ours", "permissions": {"defaultMode": "default"}}
    )
    flags = Flags(sources=CHOSEN, model="m", permission_mode=PermissionMode.ACCEPT_EDITS)

    found = place.configured(flags)

    assert found.options.model == "ours"
    assert found.options.permission_mode is PermissionMode.DEFAULT
    assert found.configuration.warnings == (
        f"{path}:4:18: managed settings go before --permission-mode",
        f"{path}:2:11: managed settings go before --model",
    )


# --- the environment --------------------------------------------------------------------------


def test_variables_of_files_stand_over_those_of_the_shell(place: Place) -> None:
    place.write(Source.USER, {"env": {"A": "user", "B": "user", "INTERLOCK_MAX_RETRIES": "1"}})
    place.write(Source.PROJECT, {"env": {"B": "project"}})

    found = place.configured(environ={"A": "shell", "C": "shell", "INTERLOCK_MAX_RETRIES": "9"})

    assert found.options.environment == {
        "A": "user",
        "B": "project",
        "INTERLOCK_MAX_RETRIES": "1",
    }
    assert found.settings.limits.max_retries == 1
    assert found.configuration.environ["C"] == "shell"


def test_a_known_name_of_a_limit_goes_before_files_as_ours_does(place: Place) -> None:
    place.write(Source.USER, {"interlock": {"limits": {"max_stop_blocks": 3}}})

    found = place.configured(environ={"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "2"})

    assert found.settings.limits.max_stop_blocks == 2


def test_a_variable_of_a_file_that_cannot_be_used_is_refused_with_its_place(
    place: Place,
) -> None:
    place.write(Source.USER, {"env": {"INTERLOCK_MAX_RETRIES": "many"}})

    with pytest.raises(ConfigurationError) as caught:
        place.configured()

    assert caught.value.problems == (
        (
            "~/.interlock/settings.json:3:28: INTERLOCK_MAX_RETRIES is 'many'; "
            "set a whole number from 0 up, or unset it"
        ),
    )


def test_a_variable_of_the_shell_that_cannot_be_used_is_refused_by_name(place: Place) -> None:
    with pytest.raises(SettingsError, match=r"^INTERLOCK_MAX_RETRIES is 'many'"):
        place.configured(environ={"INTERLOCK_MAX_RETRIES": "many"})


# --- modes ------------------------------------------------------------------------------------


def test_switching_bypass_off_binds_files_and_the_next_one_counts(place: Place) -> None:
    managed = {"permissions": {"disableBypassPermissionsMode": "disable"}}
    place.write(Source.MANAGED, managed)
    place.write(Source.USER, {"permissions": {"defaultMode": "bypassPermissions"}})

    found = place.load()

    assert found.default_mode.value is PermissionMode.DEFAULT
    (warning,) = found.warnings
    assert warning.startswith("~/.interlock/settings.json:3:18: bypassPermissions is switched off")


def test_switching_bypass_off_refuses_the_flag(place: Place) -> None:
    managed = {"permissions": {"disableBypassPermissionsMode": "disable"}}
    path = place.write(Source.MANAGED, managed)
    flags = Flags(sources=CHOSEN, permission_mode=PermissionMode.BYPASS_PERMISSIONS)

    assert place.refused(flags) == (
        (
            f"--permission-mode: bypassPermissions is switched off (managed settings, {path}:3); "
            "choose another mode"
        ),
    )


# --- what only managed settings may say -------------------------------------------------------


def test_where_managed_rules_alone_count_nobody_elses_allow_does(place: Place) -> None:
    place.write(
        Source.MANAGED,
        {"allowManagedPermissionRulesOnly": True, "permissions": {"allow": ["Read"]}},
    )
    rules = {"allow": ["Bash"], "ask": ["Write"], "deny": ["Edit"]}
    place.write(Source.USER, {"permissions": rules})

    found = place.configured(options=Options(cwd=place.project, allowed_tools=("Bash",)))

    assert found.options.allowed_tools == ()
    assert [(rule.behaviour, rule.text) for rule in found.options.rules] == [
        ("allow", "Read"),
        ("ask", "Write"),
        ("deny", "Edit"),
    ]


@pytest.mark.parametrize("key", ["allowManagedPermissionRulesOnly", "allowManagedHooksOnly"])
def test_such_a_setting_elsewhere_has_no_effect_and_that_is_said(place: Place, key: str) -> None:
    place.write(Source.USER, {key: True, "permissions": {"allow": ["Bash"]}})

    found = place.load()

    assert len(found.permissions) == 1
    assert found.warnings == (
        f"~/.interlock/settings.json:2:{len(key) + 6}: {key} counts in managed settings only",
    )


HOOKS = {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}


@pytest.mark.parametrize(
    ("off", "left"),
    [
        (Source.MANAGED, []),
        (Source.USER, [Source.MANAGED]),
        (Source.PROJECT, [Source.MANAGED, Source.USER]),
        (Source.LOCAL, [Source.MANAGED, Source.USER]),
    ],
)
def test_hooks_can_be_switched_off_only_down_the_line_of_trust(
    place: Place, off: Source, left: list[Source]
) -> None:
    for source in FILES:
        place.write(source, {"hooks": HOOKS, "disableAllHooks": source is off})

    assert [hooks.origin.source for hooks in place.load().hooks] == left


def test_hooks_of_all_sources_add_up(place: Place) -> None:
    for source in FILES:
        place.write(source, {"hooks": HOOKS})

    assert [hooks.origin.source for hooks in place.load().hooks] == list(FILES)


def test_where_managed_hooks_alone_count_all_others_are_left_out(place: Place) -> None:
    for source in FILES:
        place.write(source, {"hooks": HOOKS})
    place.write(Source.MANAGED, {"hooks": HOOKS, "allowManagedHooksOnly": True})

    assert [hooks.origin.source for hooks in place.load().hooks] == [Source.MANAGED]
