"""A rule put into a settings file, or taken out, with every other byte left as it was.

For "always allow" and the like. A file that is broken is refused: what cannot be read cannot be
kept. The change is made all at once and under a lock, so that two sessions lose nothing.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

from attrs import frozen

from interlock.configuration.files import Document, SettingsFile, project_file, read
from interlock.configuration.json_text import Array, Node, Object, Scalar, parse
from interlock.configuration.origin import Source
from interlock.configuration.schema import checked
from interlock.errors import ConfigurationError

_INDENT = "  "


class Behaviour(StrEnum):
    """What a rule does to the calls that it names."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


def destination(source: Source, cwd: Path, home: Path, environ: Mapping[str, str]) -> SettingsFile:
    """The file of a source that a rule is written to."""
    if source is Source.USER:
        path = home / "settings.json"
    elif source.from_repository:
        path = project_file(source, cwd, environ)
    else:
        raise ValueError(f"nothing is written to {source} settings")
    return SettingsFile(source=source, path=path, shown=str(path), folder=path.parent.parent)


def add_rule(file: SettingsFile, behaviour: Behaviour, rule: str) -> bool:
    """Put a rule into the file, which is made if need be. False: it stands there already.

    Raises ConfigurationError if the file cannot be understood, OSError if it cannot be written.
    """
    return _changed(file, lambda text: added(text, behaviour, rule))


def remove_rule(file: SettingsFile, behaviour: Behaviour, rule: str) -> bool:
    """Take a rule out of the file. False: it does not stand there. Raises as `add_rule` does."""
    if not os.path.lexists(file.path):
        return False
    return _changed(file, lambda text: removed(text, behaviour, rule))


# --- in the text ------------------------------------------------------------------------------


def added(text: str, behaviour: Behaviour, rule: str) -> str:
    """`text`, which is an object or nothing, with the rule at the end of its list."""
    rules = _list(text, behaviour)
    quoted = json.dumps(rule, ensure_ascii=False)
    if rules is not None:
        return text if _standing(rules, rule) else inserted(text, rules, Piece(quoted))
    member = Piece.member(behaviour.value, Piece.list(quoted))
    root = parse(text)
    if root is None:
        whole = Piece.object(Piece.member("permissions", Piece.object(member)))
        return text + whole.written("", "\n") + "\n"
    assert isinstance(root, Object)
    permissions = root.get("permissions")
    if isinstance(permissions, Object):
        return inserted(text, permissions, member)
    return inserted(text, root, Piece.member("permissions", Piece.object(member)))


def removed(text: str, behaviour: Behaviour, rule: str) -> str:
    """`text` without the rule, wherever in its list it stands."""
    while True:
        rules = _list(text, behaviour)
        standing = None if rules is None else _standing(rules, rule)
        if rules is None or standing is None:
            return text
        at = rules.items.index(standing)
        if at + 1 < len(rules.items):
            start, end = standing.start, rules.items[at + 1].start
        elif at > 0:
            start, end = rules.items[at - 1].end, standing.end
        else:
            start, end = rules.start + 1, rules.end - 1
        text = text[:start] + text[end:]


def _list(text: str, behaviour: Behaviour) -> Array | None:
    root = parse(text)
    permissions = root.get("permissions") if isinstance(root, Object) else None
    rules = permissions.get(behaviour.value) if isinstance(permissions, Object) else None
    return rules if isinstance(rules, Array) else None


def _standing(rules: Array, rule: str) -> Node | None:
    return next(
        (one for one in rules.items if isinstance(one, Scalar) and one.value == rule), None
    )


@frozen
class Piece:
    """New JSON, as lines that are indented to where it goes."""

    text: str

    @classmethod
    def list(cls, item: str) -> Piece:
        return cls(f"[\n{_INDENT}{item}\n]")

    @classmethod
    def object(cls, member: Piece) -> Piece:
        return cls(member.written(f"{{\n{_INDENT}", f"\n{_INDENT}") + "\n}")

    @classmethod
    def member(cls, name: str, value: Piece) -> Piece:
        return cls(f'"{name}": {value.text}')

    def written(self, before: str, line: str) -> str:
        return before + self.text.replace("\n", line)

    @property
    def on_one_line(self) -> str:
        return "".join(part.strip() for part in self.text.split("\n"))


def inserted(text: str, into: Array | Object, piece: Piece) -> str:
    """The piece behind the last of its siblings, written as they are."""
    siblings: list[tuple[int, int]]
    if isinstance(into, Array):
        siblings = [(item.start, item.end) for item in into.items]
    else:
        siblings = [(one.key.start, one.value.end) for one in into.members]
    end_of_line = "\r\n" if "\r\n" in text else "\n"
    if siblings:
        start, end = siblings[-1]
        line = _line_of(text, start)
        if line is None:
            return f"{text[:end]}, {piece.on_one_line}{text[end:]}"
        new = end_of_line + line
        return text[:end] + piece.written("," + new, new) + text[end:]
    outer = _indentation(text, into.start)
    inside = text[into.start + 1 : into.end - 1]
    if "\n" not in text.strip() and not inside:
        return text[: into.start + 1] + piece.on_one_line + text[into.end - 1 :]
    new = end_of_line + outer + _INDENT
    body = piece.written(new, new) + end_of_line + outer
    return text[: into.start + 1] + body + text[into.end - 1 :]


def _line_of(text: str, at: int) -> str | None:
    """The indentation of what stands at `at`; None if it does not begin its line."""
    before = text[text.rfind("\n", 0, at) + 1 : at]
    begins = not before.strip() and "\n" in text[:at]
    return before if begins else None


def _indentation(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


# --- in the file ------------------------------------------------------------------------------


def _changed(file: SettingsFile, change: Callable[[str], str]) -> bool:
    """Change a settings file, which must be one."""
    return change_text(file, change, lambda document: checked(document).problems)


def change_text(
    file: SettingsFile,
    change: Callable[[str], str],
    wrong: Callable[[Document], Sequence[str]] = lambda document: (),
) -> bool:
    """Change the text of a JSON file, all at once and under a lock; whether it is another now.

    Raises ConfigurationError with what is `wrong` with it, OSError if it cannot be written.
    """
    path = Path(os.path.realpath(file.path))  # a link stays one: its target changes
    path.parent.mkdir(parents=True, exist_ok=True)
    with _locked(path.parent):
        document = read(file) or Document(file=file, text="", root=None)
        problems = wrong(document)
        if problems:
            raise ConfigurationError(problems)
        text = change(document.text)
        if text == document.text:
            return False
        _replace(path, ("\ufeff" if document.bom else "") + text)
    return True


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    # The folder, not the file: that one is replaced, and a lock file would lie about for ever.
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _replace(path: Path, text: str) -> None:
    """Write beside the file and rename: a crash leaves the old one or the new one."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o600
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(text.encode())
            os.fchmod(out.fileno(), mode)
            out.flush()
            os.fsync(out.fileno())
        beside.replace(path)
    except BaseException:  # however we leave, no half file stays behind
        beside.unlink(missing_ok=True)
        raise
