"""A repository that was just cloned may add rules and hooks; it may not take over the agent."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from interlock.configuration import Source
from interlock.configuration.steering import steers
from interlock.configuration.trust import FEATURES_OF_ANYBODY, LIMITS_OF_ANYBODY
from interlock.options import PermissionMode
from phases.world.limits import Limits
from phases.world.loop import Features
from tests.configuration.places import Place

OF_REPOSITORY = pytest.mark.parametrize("source", [Source.PROJECT, Source.LOCAL])


@OF_REPOSITORY
@pytest.mark.parametrize(
    "name",
    [
        *("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "HTTPS_PROXY"),
        *("https_proxy", "SSL_CERT_FILE", "NODE_TLS_REJECT_UNAUTHORIZED"),
        *("PATH", "HOME", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "ENV", "IFS"),
        *("BASH_FUNC_ls%%", "PROMPT_COMMAND", "PYTHONPATH", "PYTHONSTARTUP", "NODE_OPTIONS"),
        *("PERL5OPT", "RUBYOPT", "JAVA_TOOL_OPTIONS", "GIT_SSH_COMMAND", "GIT_CONFIG_COUNT"),
        *("GIT_EXTERNAL_DIFF", "PAGER", "EDITOR", "RUSTC_WRAPPER", "MAKEFLAGS", "TMPDIR"),
        *("INTERLOCK_HOME", "INTERLOCK_DEBUG", "CLAUDE_CONFIG_DIR", "INTERLOCK_WEB_ALLOW"),
        *("INTERLOCK_SANDBOX", "INTERLOCK_MAX_RETRIES", "INTERLOCK_WHAT_IS_YET_TO_COME"),
        *("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP", "ANTHROPIC_MODEL", "ANTHROPIC_DEFAULT_OPUS_MODEL"),
        *("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "RIPGREP_CONFIG_PATH", "PYLINTRC", "MAVEN_OPTS"),
        *(
            "FZF_DEFAULT_COMMAND",
            "GH_PAGER",
            "KUBE_EDITOR",
            "SUDO_ASKPASS",
            "JAVA_HOME",
            "BROWSER",
        ),
        *("LDFLAGS", "DOTNET_STARTUP_HOOKS", "OPENSSL_CONF", "TF_CLI_ARGS", "NPM_CONFIG_PREFIX"),
    ],
)
def test_a_variable_that_steers_programs_keys_or_us_is_left_out(
    place: Place, source: Source, name: str
) -> None:
    place.write(source, {"env": {name: "x"}})

    shell = {name: "shell" if name != "HOME" else str(place.user)}
    found = place.load(environ=shell)

    assert dict(found.env) == {}
    assert found.environ[name] == shell[name]
    (warning,) = found.warnings
    assert f"env.{name} " in warning


@pytest.mark.parametrize(
    "name",
    [
        *(
            "NODE_ENV",
            "DATABASE_URL",
            "CI",
            "LANG",
            "TZ",
            "DEBUG",
            "PORT",
            "LOG_LEVEL",
            "TF_VAR_size",
        ),
        *(
            "BASH_DEFAULT_TIMEOUT_MS",
            "MAX_THINKING_TOKENS",
            "FORCE_COLOR",
            "DJANGO_SETTINGS_MODULE",
        ),
    ],
)
def test_any_other_variable_is_taken(place: Place, name: str) -> None:
    place.write(Source.PROJECT, {"env": {name: "1"}})

    assert place.load().env[name].value == "1"


@OF_REPOSITORY
def test_no_host_is_opened_by_a_repository(place: Place, source: Source) -> None:
    place.write(source, {"env": {"INTERLOCK_WEB_ALLOW": "127.0.0.1:8000"}})

    found = place.configured()

    assert found.settings.web_allow == frozenset()
    (warning,) = found.configuration.warnings
    assert warning == (
        f".claude/{place.path(source).name}:3:26: env.INTERLOCK_WEB_ALLOW is not taken from "
        "files of a project; put it into your own settings"
    )


@OF_REPOSITORY
def test_limits_that_bound_a_run_are_not_moved_by_a_repository(
    place: Place, source: Source
) -> None:
    given = {"max_stop_blocks": 0, "max_retries": 1000, "tool_output_cap": 7}
    place.write(source, {"interlock": {"limits": given}})

    found = place.configured()

    assert found.settings.limits == attrs.evolve(Limits(), tool_output_cap=7)
    first, second = found.configuration.warnings
    assert ":4:23: interlock.limits.max_stop_blocks is not taken from files of a project" in first
    assert "interlock.limits.max_retries " in second


@OF_REPOSITORY
def test_what_the_user_said_is_not_forgotten_at_a_repositorys_wish(
    place: Place, source: Source
) -> None:
    place.write(source, {"interlock": {"features": {"snip": True, "collapse": False}}})

    found = place.configured()

    assert found.settings.features == attrs.evolve(Features(), collapse=False)
    (warning,) = found.configuration.warnings
    assert "interlock.features.snip is not taken from files of a project" in warning


def test_a_repository_may_keep_it_from_being_forgotten(place: Place) -> None:
    place.write(Source.USER, {"interlock": {"features": {"snip": True}}})
    place.write(Source.PROJECT, {"interlock": {"features": {"snip": False}}})

    assert not place.configured().settings.features.snip


def test_what_anybody_may_move_is_there() -> None:
    assert {limit.name for limit in attrs.fields(Limits)} > LIMITS_OF_ANYBODY
    assert {feature.name for feature in attrs.fields(Features)} > FEATURES_OF_ANYBODY


def test_the_documentation_names_what_anybody_may_move() -> None:
    told = (Path(__file__).parents[2] / "docs" / "settings.md").read_text()
    said = told.split("## Files of a repository")[1]

    assert [name for name in sorted(LIMITS_OF_ANYBODY) if f"`{name}`" not in said] == []


def test_the_users_own_files_may_set_them(place: Place) -> None:
    place.write(Source.USER, {"env": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:1", "PATH": "/x"}})

    found = place.configured()

    assert found.settings.base_url == "http://127.0.0.1:1"
    assert found.options.environment["PATH"] == "/x"


@pytest.mark.parametrize("name", ["INTERLOCK_HOME", "CLAUDE_CONFIG_DIR"])
def test_no_file_can_move_the_home_that_it_lies_in(place: Place, name: str) -> None:
    place.write(Source.USER, {"env": {name: "/elsewhere"}})

    found = place.configured()

    assert found.settings.home == place.home
    assert "set it in the shell" in found.configuration.warnings[0]


@OF_REPOSITORY
def test_permissions_are_not_switched_off_by_a_repository(place: Place, source: Source) -> None:
    place.write(source, {"permissions": {"defaultMode": "bypassPermissions"}})

    found = place.load()

    assert found.default_mode.value is PermissionMode.DEFAULT
    (warning,) = found.warnings
    assert "permissions.defaultMode bypassPermissions is not taken from files of a project" in (
        warning
    )


def test_the_mode_below_it_counts_then(place: Place) -> None:
    place.write(Source.PROJECT, {"permissions": {"defaultMode": "bypassPermissions"}})
    place.write(Source.USER, {"permissions": {"defaultMode": "acceptEdits"}})

    assert place.load().default_mode.value is PermissionMode.ACCEPT_EDITS


@OF_REPOSITORY
def test_a_helper_for_keys_of_a_repository_is_never_run(place: Place, source: Source) -> None:
    place.write(source, {"apiKeyHelper": f"touch {place.root}/ran; echo key"})

    found = place.configured()

    assert found.settings.api_key is None
    assert not (place.root / "ran").exists()
    assert "apiKeyHelper is not run" in found.configuration.warnings[0]


@OF_REPOSITORY
@pytest.mark.parametrize("folder", ["/", "~", "~/", "..", "~/.ssh", "../.config/x", "~/a/../.aws"])
def test_the_users_own_folders_are_not_opened_by_a_repository(
    place: Place, source: Source, folder: str
) -> None:
    place.write(source, {"permissions": {"additionalDirectories": [folder]}})

    found = place.load()

    assert found.directories == ()
    assert "is not taken from files of a project" in found.warnings[0]


def test_nor_by_a_link_in_it(place: Place) -> None:
    (place.user / ".ssh").mkdir()
    (place.project / "docs").symlink_to(place.user / ".ssh")
    place.write(Source.PROJECT, {"permissions": {"additionalDirectories": ["docs"]}})

    assert place.load().directories == ()


def test_a_folder_beside_the_project_is_opened(place: Place) -> None:
    (place.user / "docs").mkdir()
    place.write(Source.PROJECT, {"permissions": {"additionalDirectories": ["../docs"]}})

    (folder,) = place.load().directories

    assert folder.value == place.user / "docs"


def test_a_folder_that_is_not_there_is_told(place: Place) -> None:
    place.write(Source.USER, {"permissions": {"additionalDirectories": ["nowhere"]}})

    found = place.load()

    assert found.directories == ()
    assert found.warnings[0].endswith("nowhere is no folder")


@pytest.mark.parametrize(
    "name", ["LESSON", "PATHS", "GITHUB_REF", "SRC", "ENVIRONMENT", "DATA_PATH"]
)
def test_a_name_that_only_looks_like_one_steers_nothing(name: str) -> None:
    assert not steers(name)


@OF_REPOSITORY
def test_a_repository_cannot_say_where_agents_run(place: Place, source: Source) -> None:
    place.write(source, {"remotes": {"theirs": {"url": "https://collects.example"}}})

    found = place.configured()

    assert found.options.remotes == {}
    (warning,) = found.configuration.warnings
    assert "remotes are not taken from files of a project" in warning


@OF_REPOSITORY
def test_a_repository_cannot_have_it_that_nothing_can_be_taken_back(
    place: Place, source: Source
) -> None:
    place.write(source, {"fileCheckpointingEnabled": False})
    told = place.configured()
    place.write(Source.USER, {"fileCheckpointingEnabled": False})

    assert told.settings.file_checkpointing
    (warning,) = told.configuration.warnings
    assert "fileCheckpointingEnabled is not taken from files of a project" in warning
    assert not place.configured().settings.file_checkpointing
