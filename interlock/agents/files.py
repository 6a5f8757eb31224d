"""Agent types in files: `agents/*.md` of the user's folder and of the project.

In a project `.claude/agents` is read as its users wrote it, and `.interlock/agents` goes over it;
of two folders the one nearer to the working folder. A file that cannot be used costs one line,
with file and line, and the others go on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any

from attrs import define, evolve, field

from interlock.agents.definition import KNOWN, AgentDefinition, BadDefinition, definition_of
from interlock.errors import UsageError
from interlock.front_matter import fronted
from interlock.json_flag import object_in
from interlock.memory.withheld import Withheld, told_freely
from interlock.regular_files import read_regular
from phases.world.messages import Json

LARGEST = 200_000  # bytes; a prompt that is longer leaves no room to work in
_MOST = 500  # files of one folder; a folder with more holds something else
_NOT_SHIPPED = ("hooks", "mcpServers", "permissionMode")  # have no effect in a plugin's agent
_PROJECT_FOLDERS = (".claude", ".interlock")  # the later goes over the earlier


@define
class Found:
    """Definitions by name, and what is odd in files, a line each."""

    types: dict[str, AgentDefinition] = field(factory=dict)
    warnings: list[str] = field(factory=list)  # what may do something else than was meant
    notes: list[str] = field(factory=list)  # keys that do nothing here: told on request
    denied: list[str] = field(factory=list)  # keys of a plugin's agents that are not its to set
    withheld: Withheld = told_freely


def found(
    cwd: Path,
    home: Path,
    *,
    user: bool = True,
    project: bool = True,
    withheld: Withheld = told_freely,
) -> Found:
    """The agent types in files, for a session in `cwd`, but for what is withheld: the model is
    told what they are for, and an agent its whole text."""
    result = Found(withheld=withheld)
    if user:
        _take(home / "agents", "user", home, result)
    for folder in _from_the_top(cwd) if project else ():
        for name in _PROJECT_FOLDERS:
            place = folder / name / "agents"
            if not (user and place == home / "agents"):
                _take(place, "project", cwd, result)
    return result


def shipped(files: Mapping[str, Path], origin: str, variables: Mapping[str, str]) -> Found:
    """The agent types of a plugin: its files by the names they go by, whatever these say.

    Rights, hooks and servers are not a plugin's to give to an agent: its own are looked at where
    it is chosen, these would come with a call of the model's. `variables` stand in their texts.
    """
    result = Found()
    for name, path in files.items():
        try:
            made = _read(path, origin, result, {"name": name}, without=_NOT_SHIPPED)
        except OSError as error:
            result.warnings.append(f"{path}: it cannot be read: {error.strerror or error}")
            continue
        if made is not None:
            prompt = made.prompt
            for variable, value in variables.items():
                prompt = prompt.replace(f"${{{variable}}}", value)
            result.types[name] = evolve(made, prompt=prompt)
    return result


def from_json(given: str, flag: str = "--agents") -> tuple[AgentDefinition, ...]:
    """The types of `{"name": {"description": ..., "prompt": ...}}`, or of a file that holds such:
    `@path`. Raises UsageError."""
    raw = object_in(given, flag, '{"name": {"description": …, "prompt": …}}')
    return tuple(_from_object(name, fields, flag) for name, fields in raw.items())


def _from_object(name: str, fields: Any, flag: str) -> AgentDefinition:
    if not isinstance(fields, dict):
        raise UsageError(f"{flag}: {name} is no object with description and prompt")
    try:
        return definition_of({**fields, "name": name}, origin=flag)
    except BadDefinition as error:
        raise UsageError(f"{flag}: {name}: {error}") from None


def _take(folder: Path, whose: str, root: Path, result: Found) -> None:
    """Read the files of one folder; what they define goes over what is there by that name."""
    here: dict[str, Path] = {}
    for path in _files(folder, result):
        if (why := result.withheld(path)) is not None:
            result.warnings.append(f"{path}: left out: {why}")
            continue
        try:
            made = _read(path, f"{whose}, {_shown(path, root)}", result)
        except OSError as error:
            result.warnings.append(f"{path}: it cannot be read: {error.strerror or error}")
            continue
        if made is None:
            continue
        if made.name in here:
            line = f"{path}: a second agent called {made.name}; {here[made.name]} counts"
            result.warnings.append(line)
            continue
        here[made.name] = path
        result.types[made.name] = made


def _files(folder: Path, result: Found) -> Sequence[Path]:
    try:
        paths = sorted(path for path in folder.rglob("*.md") if not path.is_dir())
    except OSError as error:
        result.warnings.append(f"{folder}: it cannot be read: {error.strerror or error}")
        return ()
    if len(paths) > _MOST:
        line = f"{folder}: {len(paths):,} files, of which the first {_MOST} are read"
        result.warnings.append(line)
    return paths[:_MOST]


def _read(
    path: Path,
    origin: str,
    result: Found,
    fixed: Mapping[str, Json] = MappingProxyType({}),
    without: Sequence[str] = (),
) -> AgentDefinition | None:
    """`fixed` fields go over those of the file; those it is read `without` have no effect."""
    data = read_regular(path)
    if len(data) > LARGEST:
        result.warnings.append(f"{path}: {len(data):,} bytes; an agent has at most {LARGEST:,}")
        return None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        result.warnings.append(f"{path}:{line}: it is no UTF-8 text, and is left out")
        return None
    parts = fronted(text)
    if not parts.fields:
        why = parts.problem or "it has no front matter: name and description between two ---"
        result.warnings.append(f"{path}:1: {why}; it is left out")
        return None
    try:
        fields = {key: value for key, value in parts.fields.items() if key not in without}
        made = definition_of({**fields, **fixed}, prompt=parts.body, origin=origin)
    except BadDefinition as error:
        result.warnings.append(f"{path}:{_line(text, error.field)}: {error}; it is left out")
        return None
    for key in (key for key in without if parts.fields.get(key)):
        where = f"{path}:{_line(text, key)}"
        result.denied.append(f"{where}: {key} has no effect in an agent of a plugin")
    for key in made.unheard:
        result.notes.append(f"{path}:{_line(text, key)}: {key} has no effect here")
    for key in made.unknown:
        near = get_close_matches(key, KNOWN, n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        said = result.warnings if near else result.notes
        said.append(
            f"{path}:{_line(text, key)}: {key} is no key of an agent, it has no effect{hint}"
        )
    return made


def _line(text: str, key: str | None) -> int:
    """The line on which a field stands; the first where it is not known."""
    if key is None:
        return 1
    found = re.search(rf"^{re.escape(key)}[ \t]*:", text, re.MULTILINE)
    return 1 if found is None else text.count("\n", 0, found.start()) + 1


def _shown(path: Path, root: Path) -> str:
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def _from_the_top(cwd: Path) -> Iterator[Path]:
    """The folders from the top of the git working tree down to `cwd`; without git, `cwd` alone."""
    folders = [cwd, *cwd.parents]
    tops = [at for at, folder in enumerate(folders) if (folder / ".git").exists()]
    yield from folders[tops[0] :: -1] if tops else [cwd]


def over(
    types: Mapping[str, AgentDefinition], more: Sequence[AgentDefinition]
) -> dict[str, AgentDefinition]:
    """`types`, and over them `more` by their names."""
    return {**types, **{one.name: one for one in more}}
