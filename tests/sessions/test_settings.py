"""Settings from the environment: read once, checked at the door."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest
from attrs import evolve

from interlock.errors import SettingsError
from interlock.settings import Settings, env_names, limits_of
from phases.world.limits import Limits
from phases.world.loop import Features


def test_an_empty_environment_gives_the_defaults() -> None:
    settings = Settings.of({"HOME": "/u"})

    assert settings == Settings(home=Path("/u/.interlock"), limits=Limits())


def test_every_limit_has_a_name_of_ours() -> None:
    for limit in attrs.fields(Limits):
        name = f"INTERLOCK_{limit.name.upper()}"
        share = isinstance(limit.default, float) and limit.default < 1  # or a short wait

        given = limits_of({name: "0.5" if share else "4000", "INTERLOCK_WINDOW_RESERVE": "1"})

        assert env_names(limit)[0] == name
        if limit.name != "window_reserve":
            assert getattr(given, limit.name) == (0.5 if share else 4000)


def test_names_that_users_know_are_honoured() -> None:
    settings = Settings.of(
        {
            "HOME": "/u",
            "ANTHROPIC_API_KEY": "k",
            "ANTHROPIC_BASE_URL": "http://127.0.0.1:1",
            "ANTHROPIC_MODEL": "m",
            "CLAUDE_CODE_MAX_OUTPUT_TOKENS": "1000",
            "CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "2",
            "MAX_THINKING_TOKENS": "0",
            "BASH_DEFAULT_TIMEOUT_MS": "1500",
            "BASH_MAX_TIMEOUT_MS": "2000",
            "INTERLOCK_DEBUG": "1",
        }
    )

    assert settings == Settings(
        home=Path("/u/.interlock"),
        limits=Limits(max_stop_blocks=2),
        api_key="k",
        base_url="http://127.0.0.1:1",
        tool_references=False,  # of a server that is not Anthropic's
        model="m",
        output_cap=1000,
        max_thinking_tokens=0,
        bash_default_timeout_s=1.5,
        bash_max_timeout_s=2.0,
        debug=True,
    )


def test_our_name_goes_before_the_known_one() -> None:
    both = {"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "2", "INTERLOCK_MAX_STOP_BLOCKS": "3"}

    assert limits_of(both).max_stop_blocks == 3


def test_a_default_time_limit_above_the_maximum_raises_it() -> None:
    settings = Settings.of({"HOME": "/u", "BASH_DEFAULT_TIMEOUT_MS": "900000"})

    assert settings.bash_max_timeout_s == 900.0


def test_a_key_is_not_printed() -> None:
    assert "secret" not in repr(Settings.of({"HOME": "/u", "ANTHROPIC_API_KEY": "secret"}))


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("INTERLOCK_MAX_RETRIES", "many", "is 'many'; set a whole number from 0 up, or unset it"),
        ("INTERLOCK_MAX_RETRIES", "-1", "is '-1'; set a whole number from 0 up, or unset it"),
        ("INTERLOCK_CONTEXT_WINDOW", "0", "is '0'; set a whole number from 1 up, or unset it"),
        ("INTERLOCK_STREAM_IDLE_S", "nan", "is 'nan'; set a number above 0, or unset it"),
        ("INTERLOCK_BACKOFF_CAP_S", "-1", "is '-1'; set 0 or a number above it, or unset it"),
        ("INTERLOCK_BUDGET_MARK", "1.5", "is '1.5'; set a number from 0 to 1, or unset it"),
        ("MAX_THINKING_TOKENS", "1e3", "is '1e3'; set a whole number from 0 up, or unset it"),
        (
            "ANTHROPIC_BASE_URL",
            "localhost:1",
            "is 'localhost:1'; set an address that begins with http:// or https://",
        ),
        *(
            (
                "ANTHROPIC_BASE_URL",
                url,
                f"is {url!r}; set an address with a host and, if any, a port from 1 to 65535",
            )
            for url in (
                "http://127.0.0.1:99999",
                "http://127.0.0.1:0",
                "http://127.0.0.1:port",
                "https://",
                "http://:8080/v1",
                "http://[::1",
            )
        ),
        (
            "INTERLOCK_CONTEXT_WINDOW",
            "3000",
            (
                "is 3000, which the reserve of 3000 uses up; set a larger window or a smaller "
                "INTERLOCK_WINDOW_RESERVE"
            ),
        ),
    ],
)
def test_a_bad_value_is_one_line_that_says_what_where_and_how_to_mend_it(
    name: str, value: str, line: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.of({"HOME": "/u", name: value})

    assert str(caught.value) == f"{name} {line}"


def test_an_empty_value_is_no_value() -> None:
    assert limits_of({"INTERLOCK_MAX_RETRIES": " "}) == Limits()


def test_each_feature_is_a_switch() -> None:
    settings = Settings.of({"INTERLOCK_SNIP": "on", "INTERLOCK_COLLAPSE": "off"})

    assert settings.features == evolve(Features(), snip=True, collapse=False)


def test_a_switch_that_is_neither_on_nor_off_is_refused() -> None:
    with pytest.raises(SettingsError, match="INTERLOCK_SNIP is 'maybe'; set on or off"):
        Settings.of({"INTERLOCK_SNIP": "maybe"})


def test_hosts_that_may_be_fetched_from_are_named() -> None:
    settings = Settings.of({"INTERLOCK_WEB_ALLOW": "localhost:8000, Docs.internal [::1]:80"})

    assert settings.web_allow == {"localhost:8000", "docs.internal", "[::1]:80"}


@pytest.mark.parametrize("value", ["http://localhost", "*.internal", "localhost:x"])
def test_a_host_that_is_none_is_refused(value: str) -> None:
    with pytest.raises(SettingsError, match=r"INTERLOCK_WEB_ALLOW holds .*set host names"):
        Settings.of({"INTERLOCK_WEB_ALLOW": value})
