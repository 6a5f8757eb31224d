"""Settings read, checked and merged: the one way in.

All files are looked at before anything is refused, so that one start tells all that is wrong.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs

from interlock.configuration.files import (
    MANAGED_FOLDERS,
    Document,
    SettingsFile,
    files,
    parsed,
    read,
    unread,
)
from interlock.configuration.merging import Configuration, Flags, merged
from interlock.configuration.origin import Source
from interlock.configuration.schema import checked
from interlock.errors import ConfigurationError

_FLAG = "--settings"


def load(
    cwd: Path,
    home: Path,
    *,
    flags: Flags,
    environ: Mapping[str, str],
    managed: Sequence[Path] = MANAGED_FOLDERS,
) -> Configuration:
    """What is in force for a session in `cwd`.

    Raises ConfigurationError with a line for each thing that is wrong: settings that cannot be
    understood may hold the rule that protects something, so nothing starts without them.
    """
    places = files(cwd, home, sources=flags.sources, environ=environ, managed=managed)
    problems: list[str] = []
    flagged: tuple[Document | SettingsFile, ...] = ()
    try:
        flagged = _of_flag(flags, cwd)
    except ConfigurationError as error:
        problems += error.problems
    documents = []
    there = []
    for each in (*flagged, *places):
        try:
            document = each if isinstance(each, Document) else read(each)
        except ConfigurationError as error:
            problems += error.problems
            continue
        if isinstance(each, SettingsFile):
            there.append((each, document is not None))
        if document is not None:
            check = checked(document)
            problems += check.problems
            documents.append((document, check))
    documents.sort(key=lambda pair: pair[0].file.source.rank)  # stable: the flag behind managed
    if problems:
        raise ConfigurationError(problems)
    found = merged(documents, flags, environ)
    above = [
        f"{path}: not read, it lies above the project"
        for path in (unread(cwd, environ) if Source.PROJECT in flags.sources else ())
    ]
    return attrs.evolve(found, files=tuple(there), warnings=(*found.warnings, *above))


def _of_flag(flags: Flags, cwd: Path) -> tuple[Document | SettingsFile, ...]:
    """What `--settings` names, or holds."""
    given = flags.settings
    if given is None:
        return ()
    if given.lstrip().startswith("{"):
        file = SettingsFile(source=Source.FLAGS, path=Path(_FLAG), shown=_FLAG, folder=cwd)
        return (parsed(file, given.encode("utf-8", "surrogatepass")),)
    path = Path(given).expanduser()
    if not given.strip() or not os.path.exists(path):  # noqa: PTH110 (Path raises for odd names)
        raise ConfigurationError([f"{_FLAG}: no such file: {given!r}; name one, or write {{…}}"])
    return (SettingsFile(source=Source.FLAGS, path=path.absolute(), shown=given, folder=cwd),)
