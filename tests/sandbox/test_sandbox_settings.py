"""What users write under `sandbox`: read strictly, files over files."""

from __future__ import annotations

from typing import Any

import pytest

from interlock.sandbox import BadSandbox, SandboxSettings, parse


def test_lists_add_up_and_flags_replace() -> None:
    first = parse({"enabled": True, "network": {"allowedDomains": ["pypi.org"]}})
    both = parse(
        {
            "enabled": False,
            "autoAllowBashIfSandboxed": False,
            "network": {"allowedDomains": ["*.github.com"]},
            "filesystem": {"denyRead": ["./.env"]},
        },
        first,
    )

    assert both == SandboxSettings(
        enabled=False,
        auto_allow=False,
        domains=("pypi.org", "*.github.com"),
        deny_read=("./.env",),
    )


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ({"enable": True}, "sandbox.enable is not known; did you mean enabled?"),
        ({"enabled": "yes"}, "sandbox.enabled is true or false, not 'yes'"),
        ({"filesystem": {"denyread": []}}, "sandbox.filesystem.denyread is not known; did you"),
        ({"filesystem": []}, "sandbox.filesystem is an object"),
        ({"network": {"allowedDomains": "x"}}, "sandbox.network.allowedDomains is a list of str"),
    ],
)
def test_a_typing_error_is_no_less_safety(raw: dict[str, Any], words: str) -> None:
    with pytest.raises(BadSandbox) as told:
        parse(raw)

    assert str(told.value).startswith(words)
