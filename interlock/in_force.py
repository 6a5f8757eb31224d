"""Every setting in force: its value, where it comes from, and why it is as it is.

Credentials are not among the values: of those it is only told that they are set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs
import orjson
from attrs import field, frozen

from interlock.configuration import Configuration, Located, Origin, Source, Sourced
from interlock.configured import Configured
from interlock.masking import masked, masked_variable
from interlock.settings import CHECKPOINTING, env_names
from phases.world.limits import Limits
from phases.world.loop import Features

_DEFAULT = Origin(source=Source.DEFAULT)


def _without_credentials(value: object) -> object:
    return masked(value) if isinstance(value, str) else value


@frozen(kw_only=True)
class Setting:
    """One setting in force. `note` says what it is for."""

    section: str
    name: str
    value: object = field(converter=_without_credentials)
    origin: Origin = _DEFAULT
    note: str = ""

    @property
    def told(self) -> str:
        match self.value:
            case bool():
                return "on" if self.value else "off"
            case int() | float():
                return f"{self.value:,}"
            case str():
                return self.value
        return orjson.dumps(self.value).decode()


def in_force(found: Configured) -> Iterator[Setting]:
    """Everything in force, in the order it is shown."""
    yield from _general(found.configuration)
    yield Setting(
        section="general",
        name="fileCheckpointingEnabled",
        value=found.settings.file_checkpointing,
        origin=_origin(found.configuration, CHECKPOINTING),
    )
    yield Setting(
        section="general",
        name="cleanupPeriodDays",
        value=found.settings.cleanup_days,
        origin=_origin(found.configuration, ("INTERLOCK_CLEANUP_DAYS",)),
        note="sessions that were not written for so many days are deleted",
    )
    yield Setting(
        section="general",
        name="interlock.fsync",
        value=found.settings.disk.policy.value,
        origin=_origin(found.configuration, ("INTERLOCK_FSYNC",)),
        note="when a session is forced onto the disk: never, prompt, request or always",
    )
    yield from _lists(found.configuration)
    yield from _numbers(found)


def _general(found: Configuration) -> Iterator[Setting]:
    said: Mapping[str, Sourced[Any] | None] = {
        "model": found.model,
        "fallbackModel": found.fallback_models,
        "apiKeyHelper": found.api_key_helper,
        "permissions.defaultMode": found.default_mode,
        "autoMemoryEnabled": found.auto_memory,
        "disableSkillShellExecution": found.skill_shell_off,
        "autoMemoryDirectory": found.memory_folder,
    }
    return (_single(name, one) for name, one in said.items() if one is not None)


def _single(name: str, setting: Sourced[object]) -> Setting:
    return Setting(section="general", name=name, value=setting.value, origin=setting.origin)


def _lists(found: Configuration) -> Iterator[Setting]:
    for behaviour in ("deny", "ask", "allow"):
        for rule in found.permissions:
            if rule.behaviour == behaviour:
                name = f"permissions.{behaviour}"
                yield Setting(section="rules", name=name, value=rule.text, origin=rule.origin)
    for folder in found.directories:
        yield Setting(
            section="rules",
            name="permissions.additionalDirectories",
            value=str(folder.value),
            origin=folder.origin,
        )
    for pattern in found.notes_excluded:
        yield Setting(
            section="memory", name="claudeMdExcludes", value=pattern.value, origin=pattern.origin
        )
    for name, variable in found.env.items():
        value = masked_variable(name, variable.value)
        yield Setting(section="env", name=f"env.{name}", value=value, origin=variable.origin)
    for hook in found.hooks:
        yield Setting(section="hooks", name="hooks", value=list(hook.json), origin=hook.origin)
    for name, place in found.remotes.items():
        yield Setting(
            section="remotes",
            name=f"remotes.{name}",
            value=attrs.asdict(place.value),
            origin=place.origin,
        )
    yield from (_whole("sandbox", each) for each in found.sandbox)
    for key in found.ignored:
        yield Setting(section="ignored", name=key.value, value="ignored", origin=key.origin)


def _whole(name: str, part: Located) -> Setting:
    return Setting(section=name, name=name, value=part.json, origin=part.origin)


def _numbers(found: Configured) -> Iterator[Setting]:
    for limit in attrs.fields(Limits):
        yield Setting(
            section="limits",
            name=limit.name,
            value=getattr(found.settings.limits, limit.name),
            origin=_origin(found.configuration, env_names(limit)),
            note=limit.metadata["reason"],
        )
    for feature in attrs.fields(Features):
        yield Setting(
            section="features",
            name=feature.name,
            value=getattr(found.settings.features, feature.name),
            origin=_origin(found.configuration, (f"INTERLOCK_{feature.name.upper()}",)),
        )


def _origin(found: Configuration, names: Sequence[str]) -> Origin:
    given = (found.origin_of(name) for name in names)
    return next((origin for origin in given if origin.source is not Source.DEFAULT), _DEFAULT)
