"""`interlock config show`: what is in force, and where it comes from."""

from __future__ import annotations

import attrs

from interlock.cli.config import shown
from phases.world.limits import Limits
from phases.world.loop import Features


def test_every_limit_and_every_feature_is_shown_with_its_reason() -> None:
    lines = list(shown({"HOME": "/u"}))

    for limit in attrs.fields(Limits):
        (line,) = [each for each in lines if each.split() and each.split()[0] == limit.name]
        assert limit.metadata["reason"] in line
        assert "default" in line
    for feature in attrs.fields(Features):
        assert any(each.split()[:1] == [feature.name] for each in lines)


def test_what_the_environment_sets_is_shown_as_such() -> None:
    lines = list(shown({"HOME": "/u", "INTERLOCK_MAX_RETRIES": "3", "INTERLOCK_SNIP": "on"}))

    assert any(each.split()[:3] == ["max_retries", "3", "INTERLOCK_MAX_RETRIES"] for each in lines)
    assert any(each.split() == ["snip", "on", "INTERLOCK_SNIP"] for each in lines)
