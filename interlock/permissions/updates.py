"""Changes of rules, mode and folders while a session runs.

In the form in which agent SDKs send them. Where a change is to be kept beyond the session is
told, not done: settings files are another's affair.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from interlock.options import PermissionMode
from interlock.permissions.decide import Judge
from interlock.permissions.decision import Verdict
from interlock.permissions.paths import expanded_home, real_or_written
from interlock.permissions.rules import BadRule, Rule, Rules


class UpdateKind(StrEnum):
    """What is changed."""

    ADD_RULES = "addRules"
    REPLACE_RULES = "replaceRules"
    REMOVE_RULES = "removeRules"
    SET_MODE = "setMode"
    ADD_DIRECTORIES = "addDirectories"
    REMOVE_DIRECTORIES = "removeDirectories"


class Destination(StrEnum):
    """Whose settings are changed. Rules of other origins, managed ones say, are out of reach."""

    SESSION = "session"
    LOCAL = "localSettings"
    PROJECT = "projectSettings"
    USER = "userSettings"

    @property
    def words(self) -> str:
        """How the origin of its rules begins."""
        return {
            Destination.SESSION: "this session",
            Destination.LOCAL: "local settings",
            Destination.PROJECT: "project settings",
            Destination.USER: "user settings",
        }[self]


class BadUpdate(ValueError):
    """A change that cannot be understood; nothing of it was done."""


@frozen(kw_only=True)
class Update:
    """One change."""

    kind: UpdateKind
    destination: Destination = Destination.SESSION
    behavior: Verdict = Verdict.ALLOW  # of the rules
    rules: tuple[Rule, ...] = ()
    mode: PermissionMode | None = None
    directories: tuple[Path, ...] = ()

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Update:
        """From JSON. Raises BadUpdate."""
        try:
            kind = UpdateKind(said["type"])
            destination = Destination(said.get("destination", Destination.SESSION))
            mode = PermissionMode(said["mode"]) if kind is UpdateKind.SET_MODE else None
            return cls(
                kind=kind,
                destination=destination,
                behavior=Verdict(said.get("behavior", Verdict.ALLOW)),
                rules=tuple(_rule(each, destination.words) for each in said.get("rules") or ()),
                mode=mode,
                directories=tuple(Path(each) for each in said.get("directories") or ()),
            )
        except (BadRule, ValueError, KeyError, TypeError, AttributeError) as error:
            raise BadUpdate(f"a permission update that means nothing: {error}") from error

    def json(self) -> dict[str, Any]:
        """As a suggestion to whoever is asked."""
        said: dict[str, Any] = {"type": self.kind.value, "destination": self.destination.value}
        if self.rules:
            said["behavior"] = self.behavior.value
            said["rules"] = [
                {"toolName": rule.tool, "ruleContent": rule.specifier}
                if rule.specifier is not None
                else {"toolName": rule.tool}
                for rule in self.rules
            ]
        if self.mode is not None:
            said["mode"] = self.mode.value
        if self.directories:
            said["directories"] = [str(each) for each in self.directories]
        return said


def _rule(said: Mapping[str, Any], origin: str) -> Rule:
    content = said.get("ruleContent")
    tool = str(said["toolName"])
    return Rule.parse(tool if content is None else f"{tool}({content})", origin)


def updated(judge: Judge, update: Update) -> Judge:
    """The judge after the change; the working folder itself stays."""
    match update.kind:
        case UpdateKind.SET_MODE:
            return evolve(judge, mode=update.mode or judge.mode)
        case UpdateKind.ADD_DIRECTORIES:
            return evolve(judge, folders=_unique((*judge.folders, *_real(judge, update))))
        case UpdateKind.REMOVE_DIRECTORIES:
            gone = _real(judge, update)
            left = (each for each in judge.folders[1:] if each not in gone)
            return evolve(judge, folders=(judge.folders[0], *left))
        case _:
            return evolve(judge, rules=_changed(judge.rules, update))


def _changed(rules: Rules, update: Update) -> Rules:
    old: tuple[Rule, ...] = getattr(rules, update.behavior.value)
    mine = [rule for rule in old if (rule.origin or "").startswith(update.destination.words)]
    match update.kind:
        case UpdateKind.REPLACE_RULES:
            gone, new = mine, update.rules
        case UpdateKind.REMOVE_RULES:
            gone, new = [rule for rule in mine if rule in update.rules], ()
        case _:
            gone, new = [], update.rules
    kept = [rule for rule in old if not any(rule is each for each in gone)]
    added = [rule for rule in new if rule not in kept]
    return evolve(rules, **{update.behavior.value: (*kept, *added)})


def _real(judge: Judge, update: Update) -> tuple[Path, ...]:
    return tuple(
        real_or_written(judge.folders[0] / expanded_home(each)) for each in update.directories
    )


def _unique(paths: Iterable[Path]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(paths))
