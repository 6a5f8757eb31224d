"""`interlock config show`: every setting in force, where it comes from, and why it is as it is.
`interlock config check`: whether all settings files can be used.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence

import attrs
import orjson
from attrs import field, frozen

from interlock.cli.flags import Parser, decoded
from interlock.cli.main import complain
from interlock.cli.masking import masked, masked_variable
from interlock.cli.place import folder_of, insist_on_stdout
from interlock.configuration import (
    Configuration,
    Flags,
    Located,
    Origin,
    Source,
    Sourced,
    sources_of,
)
from interlock.configured import Configured, configured
from interlock.options import Options
from interlock.settings import CHECKPOINTING, env_names
from phases.world.limits import Limits
from phases.world.loop import Features

_DEFAULT = Origin(source=Source.DEFAULT)


def _without_credentials(value: object) -> object:
    return masked(value) if isinstance(value, str) else value


@frozen(kw_only=True)
class Row:
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


def run(argv: Sequence[str]) -> int:
    """Run the command. Raises ConfigurationError, SettingsError for what cannot be used."""
    asked = _parser().parse_args([decoded(each) for each in argv])
    insist_on_stdout()
    folder = folder_of(asked.cwd)
    found = configured(
        Options(cwd=folder),
        Flags(settings=asked.settings, sources=sources_of(asked.setting_sources)),
        os.environ,
        key=False,
    )
    if asked.what == "check":
        lines = checked(found.configuration)
    elif asked.json:
        lines = iter([orjson.dumps(as_json(found), option=orjson.OPT_INDENT_2).decode()])
    else:
        lines = shown(found, origin=asked.origin)
    for line in lines:
        print(line)
    for warning in found.configuration.warnings:
        complain(warning)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="interlock config", allow_abbrev=False)
    add = parser.add_argument
    add("what", choices=["show", "check"], help="print the settings in force, or look for faults")
    add("--origin", action="store_true", help="with the file and line each comes from")
    add("--json", action="store_true", help="for programs")
    add("--cwd", metavar="DIR", help="the working folder")
    add("--settings", metavar="FILE|JSON", help="as for a run")
    add("--setting-sources", metavar="S,S", help="as for a run")
    return parser


def shown(found: Configured, *, origin: bool) -> Iterator[str]:
    """A line for each setting: name, value, origin if wanted, reason."""
    yield f"home  {found.settings.home}"
    yield ""
    yield "settings files, highest first"
    for file, there in found.configuration.files:
        yield f"  {file.source:<12} {'read' if there else 'none'}  {file.shown}"
    section = ""
    for row in rows(found):
        if row.section != section:
            section = row.section
            yield ""
        wide = max(26, len(row.name))
        parts = [f"{row.name:<{wide}} {row.told:>10}"]
        if origin:
            parts.append(f"{row.origin!s:<32}")
        yield "  ".join([*parts, row.note]).rstrip()


def checked(found: Configuration) -> Iterator[str]:
    """What was read; that there is anything to print means that nothing was wrong."""
    read = [file for file, there in found.files if there]
    for file in read:
        yield f"{file.shown}: can be used"
    if not read:
        yield "there are no settings files"


def as_json(found: Configured) -> dict[str, object]:
    """The same for programs."""
    return {
        "home": str(found.settings.home),
        "files": [
            {"source": file.source, "path": str(file.path), "read": there}
            for file, there in found.configuration.files
        ],
        "settings": [
            {
                "section": row.section,
                "name": row.name,
                "value": row.value,
                "origin": attrs.asdict(row.origin),
            }
            for row in rows(found)
        ],
        "warnings": list(found.configuration.warnings),
    }


def rows(found: Configured) -> Iterator[Row]:
    """Everything in force, in the order it is shown."""
    yield from _general(found.configuration)
    yield Row(
        section="general",
        name="fileCheckpointingEnabled",
        value=found.settings.file_checkpointing,
        origin=_origin(found.configuration, CHECKPOINTING),
    )
    yield Row(
        section="general",
        name="cleanupPeriodDays",
        value=found.settings.cleanup_days,
        origin=_origin(found.configuration, ("INTERLOCK_CLEANUP_DAYS",)),
        note="sessions that were not written for so many days are deleted",
    )
    yield Row(
        section="general",
        name="interlock.fsync",
        value=found.settings.disk.policy.value,
        origin=_origin(found.configuration, ("INTERLOCK_FSYNC",)),
        note="when a session is forced onto the disk: never, prompt, request or always",
    )
    yield from _lists(found.configuration)
    yield from _numbers(found)


def _general(found: Configuration) -> Iterator[Row]:
    mode = found.default_mode
    if found.model is not None:
        yield _single("model", found.model)
    if found.fallback_models is not None:
        yield _single("fallbackModel", found.fallback_models)
    if found.api_key_helper is not None:
        yield _single("apiKeyHelper", found.api_key_helper)
    yield _single("permissions.defaultMode", mode)
    if found.auto_memory is not None:
        yield _single("autoMemoryEnabled", found.auto_memory)
    if found.skill_shell_off is not None:
        yield _single("disableSkillShellExecution", found.skill_shell_off)
    if found.memory_folder is not None:
        yield _single("autoMemoryDirectory", found.memory_folder)


def _single(name: str, setting: Sourced[object]) -> Row:
    return Row(section="general", name=name, value=setting.value, origin=setting.origin)


def _lists(found: Configuration) -> Iterator[Row]:
    for behaviour in ("deny", "ask", "allow"):
        for rule in found.permissions:
            if rule.behaviour == behaviour:
                name = f"permissions.{behaviour}"
                yield Row(section="rules", name=name, value=rule.text, origin=rule.origin)
    for folder in found.directories:
        yield Row(
            section="rules",
            name="permissions.additionalDirectories",
            value=str(folder.value),
            origin=folder.origin,
        )
    for pattern in found.notes_excluded:
        yield Row(
            section="memory", name="claudeMdExcludes", value=pattern.value, origin=pattern.origin
        )
    for name, variable in found.env.items():
        value = masked_variable(name, variable.value)
        yield Row(section="env", name=f"env.{name}", value=value, origin=variable.origin)
    for hook in found.hooks:
        yield Row(section="hooks", name="hooks", value=list(hook.json), origin=hook.origin)
    for name, place in found.remotes.items():
        yield Row(
            section="remotes",
            name=f"remotes.{name}",
            value=attrs.asdict(place.value),
            origin=place.origin,
        )
    yield from (_whole("sandbox", each) for each in found.sandbox)
    for key in found.ignored:
        yield Row(section="ignored", name=key.value, value="ignored", origin=key.origin)


def _whole(name: str, part: Located) -> Row:
    return Row(section=name, name=name, value=part.json, origin=part.origin)


def _numbers(found: Configured) -> Iterator[Row]:
    for limit in attrs.fields(Limits):
        yield Row(
            section="limits",
            name=limit.name,
            value=getattr(found.settings.limits, limit.name),
            origin=_origin(found.configuration, env_names(limit)),
            note=limit.metadata["reason"],
        )
    for feature in attrs.fields(Features):
        yield Row(
            section="features",
            name=feature.name,
            value=getattr(found.settings.features, feature.name),
            origin=_origin(found.configuration, (f"INTERLOCK_{feature.name.upper()}",)),
        )


def _origin(found: Configuration, names: Sequence[str]) -> Origin:
    given = (found.origin_of(name) for name in names)
    return next((origin for origin in given if origin.source is not Source.DEFAULT), _DEFAULT)
