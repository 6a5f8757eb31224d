"""Folders in, plugins out: each with its parts, in the layout that users know, or as its
manifest says.

    .claude-plugin/plugin.json      name, version, description, and where parts lie elsewhere
    commands/*.md  agents/*.md      in place of which the manifest may name others
    skills/NAME/SKILL.md            beside which it may
    hooks/hooks.json  .mcp.json     beside which it may
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from interlock.configuration.json_text import Object, kind
from interlock.errors import ConfigurationError
from interlock.plugins.contained import Contained
from interlock.plugins.manifest import FILE, BadManifest, Manifest, manifest_of
from interlock.plugins.parts import at, document_of, parts
from interlock.plugins.plugin import Part, Plugin, Plugins, Problem, Sort, Text

_SKILL = "SKILL.md"
_HOOKS = Path("hooks") / "hooks.json"
_SERVERS = Path(".mcp.json")
_LAYOUT = ("commands", "agents", "skills", _SKILL, str(_HOOKS), str(_SERVERS))


def read_plugins(folders: Iterable[Path]) -> Plugins:
    """The plugins that lie in these folders. What cannot be used of one is a problem of it."""
    given = tuple(folders)
    loaded: dict[str, Plugin] = {}
    problems, notes = list[Problem](), list[str]()
    for folder in dict.fromkeys(given):
        place = Contained(folder=folder)
        try:
            found = _read(place, notes)
        except BadManifest as error:
            place.refuse(str(error), error.sort)
        except OSError as error:  # a folder in it that is closed to us
            where = error.filename or folder
            words = f"{where}: cannot be read ({error.strerror}); make it readable"
            place.refuse(words, Sort.FOLDER)
        else:
            if found.name in loaded:
                there = loaded[found.name].folder
                words = f"{folder}: {there} is called {found.name} too, and counts; rename one"
                place.refuse(words, Sort.NAME)
            else:
                loaded[found.name] = found
        problems += place.problems
    return Plugins(
        folders=given,
        loaded=tuple(loaded.values()),
        problems=tuple(problems),
        notes=tuple(notes),
    )


def _read(place: Contained, notes: list[str]) -> Plugin:
    if not place.folder.is_dir():
        words = f"{place.folder}: no such folder; name the folder of a plugin"
        raise BadManifest(words, Sort.FOLDER)
    if not any((place.folder / name).exists() for name in (FILE, *_LAYOUT)):
        raise BadManifest(
            f"{place.folder}: holds no {FILE}, commands, agents, skills, {_HOOKS} or {_SERVERS}; "
            "name the plugin's own folder",
            Sort.COMPONENT,
        )
    manifest = manifest_of(place)
    place.plugin = manifest.name
    notes += (f"plugin {manifest.name}: {note}" for note in manifest.notes)
    _misplaced(place)
    return Plugin(
        name=manifest.name,
        folder=place.folder,
        version=manifest.version,
        description=manifest.description,
        commands=_texts(place, "commands", manifest.commands),
        agents=_texts(place, "agents", manifest.agents),
        skills=_skills(place, manifest.skills),
        hooks=_parts(place, _HOOKS, "hooks", manifest.hooks),
        servers=_servers(place, manifest),
    )


def _misplaced(place: Contained) -> None:
    """What lies beside the manifest is found by nobody, and is a common mistake."""
    beside = place.folder / FILE.parent
    for name in ("commands", "agents", "skills", "hooks"):
        if (beside / name).is_dir():
            place.refuse(f"{beside / name}: is not looked at there; move it into {place.folder}")


# --- texts ------------------------------------------------------------------------------------


def _texts(place: Contained, usual: str, named: tuple[Path, ...] | None) -> tuple[Text, ...]:
    """Commands or agents; a name that stands twice is the first one's."""
    found: dict[str, Text] = {}
    for path in (place.folder / usual,) if named is None else named:
        for text in _below(place, path):
            first = found.setdefault(text.name, text)
            if first.path != text.path:
                place.refuse(f"{text.path}: {first.path} is {text.name} too; rename one")
    return tuple(found.values())


def _below(place: Contained, path: Path) -> Iterator[Text]:
    if not path.is_dir():
        if path.exists() and place.keeps(path):
            yield Text(path=path, name=f"{place.plugin}:{path.stem}")
        return
    for file in place.files(path, "**/*.md"):
        words = (place.plugin, *file.relative_to(path).with_suffix("").parts)
        yield Text(path=file, name=":".join(words))


def _skills(place: Contained, named: tuple[Path, ...] | None) -> tuple[Text, ...]:
    """Called like the folder they lie in; a plugin that is a skill itself, like the plugin."""
    found: dict[Path, Text] = {}
    for path in (place.folder / "skills", *(named or ())):
        own = (path / _SKILL,) if (path / _SKILL).is_file() else ()
        for file in own or place.files(path, f"*/{_SKILL}"):
            if place.keeps(file):
                found[file] = Text(path=file, name=f"{place.plugin}:{_called(file, place)}")
    whole = place.folder / _SKILL
    if not found and named is None and whole.is_file() and place.keeps(whole):
        found[whole] = Text(path=whole, name=f"{place.plugin}:{place.plugin}")
    return tuple(found.values())


def _called(file: Path, place: Contained) -> str:
    folder = Path(file.parent.resolve())
    return place.plugin if folder == place.folder.resolve() else folder.name


# --- JSON -------------------------------------------------------------------------------------


def _servers(place: Contained, manifest: Manifest) -> tuple[Part, ...]:
    """Of two servers of one name the manifest's counts: it is what was written on purpose."""
    found = {one.name: one for one in _parts(place, _SERVERS, "mcpServers", manifest.servers)}
    return tuple(found.values())


def _parts(
    place: Contained, usual: Path, key: str, written: tuple[Part | Path, ...]
) -> tuple[Part, ...]:
    """Those of the usual file, those of other files that the manifest names, those in itself."""
    found = list[Part]()
    files = dict.fromkeys((place.folder / usual, *(p for p in written if isinstance(p, Path))))
    for path in files:
        found += _of_file(place, path, key)
    return (*found, *(one for one in written if isinstance(one, Part)))


def _of_file(place: Contained, path: Path, key: str) -> Iterator[Part]:
    sort = Sort.HOOKS if key == "hooks" else Sort.SERVERS
    try:
        document = document_of(path) if place.keeps(path) else None
    except ConfigurationError as error:
        place.refuse(str(error), sort)
        return
    root = None if document is None else document.root
    if document is None or root is None:
        return
    if not isinstance(root, Object):
        place.refuse(f'{at(document, root)}: is {kind(root)}; write {{"{key}": {{…}}}}', sort)
        return
    yield from parts(document, root, key)
