"""What a person gave a session, as JSON and back: so that it is still given after a resume.

Rules are written part by part, never as text: a command line that was allowed as it stands must
not come back as a pattern. What cannot be read is not given.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from interlock.permissions.decision import Verdict
from interlock.permissions.gate import Gate
from interlock.permissions.rules import Rule
from interlock.permissions.updates import Update, UpdateKind


def given_to(gate: Gate) -> dict[str, Any]:
    """All that the session has been given, as JSON."""
    return {
        "changes": [_data(each) for each in gate.changes],
        "granted": [_data(each) for each in gate.grants],
    }


def give(gate: Gate, data: Mapping[str, Any]) -> None:
    """Give a session again what one before it had. Raises ValueError, and then gives nothing."""
    try:
        changes = [_update(each) for each in data["changes"]]
        granted = [_update(each) for each in data["granted"]]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"permissions that mean nothing: {error!r}") from error
    for update in changes:
        gate.apply(update)
    for update in granted:
        gate.grant(update)


def _data(update: Update) -> dict[str, Any]:
    return {
        "kind": update.kind.value,
        "behavior": update.behavior.value,
        "rules": [
            [rule.tool, rule.specifier, rule.origin, rule.verbatim] for rule in update.rules
        ],
        "directories": [str(each) for each in update.directories],
    }


def _update(data: Mapping[str, Any]) -> Update:
    return Update(
        kind=UpdateKind(data["kind"]),
        behavior=Verdict(data["behavior"]),
        rules=tuple(
            Rule(str(tool), specifier, origin=origin, verbatim=bool(verbatim))
            for tool, specifier, origin, verbatim in data["rules"]
        ),
        directories=tuple(Path(each) for each in data["directories"]),
    )
