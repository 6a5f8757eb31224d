"""`interlock config show`: every number and switch of the loop, where it comes from, and why."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

import attrs

from interlock.cli.flags import Parser, decoded
from interlock.settings import Settings, env_names
from phases.world.limits import Limits
from phases.world.loop import Features


def run(argv: Sequence[str]) -> int:
    """Run the command. Raises SettingsError for a value that cannot be used."""
    parser = Parser(prog="interlock config", allow_abbrev=False)
    parser.add_argument("what", choices=["show"], help="print the settings in force")
    parser.parse_args([decoded(each) for each in argv])
    for line in shown(os.environ):
        print(line)
    return 0


def shown(environ: Mapping[str, str]) -> Iterator[str]:
    """One line for each limit and feature: name, value, origin, reason."""
    settings = Settings.of(environ)
    yield f"home  {settings.home}"
    yield ""
    for limit in attrs.fields(Limits):
        origin = next((name for name in env_names(limit) if environ.get(name)), "default")
        value = getattr(settings.limits, limit.name)
        yield f"{limit.name:<26} {value:>10,}  {origin:<32} {limit.metadata['reason']}"
    yield ""
    for feature in attrs.fields(Features):
        name = f"INTERLOCK_{feature.name.upper()}"
        value = "on" if getattr(settings.features, feature.name) else "off"
        yield f"{feature.name:<26} {value:>10}  {name if environ.get(name) else 'default'}"
