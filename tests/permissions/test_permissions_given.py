"""What a person gave a session is the same after a resume: no wider, no narrower."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from interlock.options import Options
from interlock.permissions import (
    Gate,
    NobodyAsks,
    Rule,
    Update,
    UpdateKind,
    Verdict,
    give,
    given_to,
)
from interlock.permissions.explain import judge_of


def gate(folder: Path) -> Gate:
    return Gate(judge_of(Options(cwd=folder)), NobodyAsks())


def test_rules_folders_and_grants_come_back_as_they_were(tmp_path: Path) -> None:
    first, second = gate(tmp_path), gate(tmp_path)
    line = Rule("Bash", "echo *", "this session, an answer of yours", verbatim=True)
    first.grant(Update(kind=UpdateKind.ADD_RULES, rules=(line,)))
    denied = (Rule("Read", "secret", "this session"),)
    first.apply(Update(kind=UpdateKind.ADD_RULES, behavior=Verdict.DENY, rules=denied))
    first.apply(Update(kind=UpdateKind.ADD_DIRECTORIES, directories=(tmp_path / "more",)))

    give(second, json.loads(json.dumps(given_to(first))))

    assert second.judge == first.judge
    assert first._granted is not None
    assert second._granted is not None
    assert second._granted.rules == first._granted.rules
    assert given_to(second) == given_to(first)
    (allowed,) = second.judge.rules.allow
    assert (allowed.verbatim, allowed.origin) == (True, line.origin)


@pytest.mark.parametrize(
    "data", [{}, {"changes": 7}, {"changes": [{"kind": "everything"}], "granted": []}]
)
def test_of_data_that_means_nothing_nothing_is_given(
    tmp_path: Path, data: dict[str, object]
) -> None:
    one = gate(tmp_path)

    with pytest.raises(ValueError, match=r"mean|valid"):
        give(one, data)

    assert one.judge == gate(tmp_path).judge
