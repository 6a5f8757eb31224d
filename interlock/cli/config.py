"""`interlock config show`: every setting in force, where it comes from, and why it is as it is.
`interlock config check`: whether all settings files can be used.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence

import attrs
import orjson

from interlock.cli.flags import Parser, decoded
from interlock.cli.main import complain
from interlock.cli.place import folder_of, insist_on_stdout
from interlock.configuration import (
    Configuration,
    Flags,
    sources_of,
)
from interlock.configured import Configured, configured
from interlock.in_force import in_force
from interlock.options import Options


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
    for row in in_force(found):
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
            for row in in_force(found)
        ],
        "warnings": list(found.configuration.warnings),
    }
