"""A repository that was just cloned may add rules and hooks; it may not take over the agent."""

from __future__ import annotations

import pytest

from interlock.configuration import Source
from interlock.configuration.trust import steers
from interlock.options import PermissionMode
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
        *("INTERLOCK_HOME", "INTERLOCK_DEBUG", "CLAUDE_CONFIG_DIR"),
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
    "name", ["NODE_ENV", "DATABASE_URL", "ANTHROPIC_MODEL", "INTERLOCK_MAX_RETRIES", "CI", "LANG"]
)
def test_any_other_variable_is_taken(place: Place, name: str) -> None:
    place.write(Source.PROJECT, {"env": {name: "1"}})

    assert place.load().env[name].value == "1"


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


@pytest.mark.parametrize("name", ["ANTHROPIC_DEFAULT_OPUS_MODEL", "LESSON", "PATHS", "GITHUB_REF"])
def test_a_name_that_only_looks_like_one_steers_nothing(name: str) -> None:
    assert not steers(name)
