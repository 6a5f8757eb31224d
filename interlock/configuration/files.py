"""Where settings files lie, and reading one: as text, whole, or not at all.

Project files are looked for in the working folder and in every folder above it, up to the root
of its git repository: a session that starts in a subfolder is bound by the same rules. Knows
nothing of what the files say.
"""

from __future__ import annotations

import os
import re
import stat
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from attrs import field, frozen

from interlock.configuration.json_text import Malformed, Node, parse
from interlock.configuration.origin import CHOSEN, Origin, Source
from interlock.errors import ConfigurationError

# Ours over the one that users know, as everywhere.
MANAGED_FOLDERS = (Path("/etc/interlock"), Path("/etc/claude-code"))
_PROJECT_FOLDERS = (".interlock", ".claude")
_NAMES = {Source.PROJECT: "settings.json", Source.LOCAL: "settings.local.json"}
LARGEST = 1 << 20  # bytes; the largest settings known to us have 60 KB


@frozen(kw_only=True)
class SettingsFile:
    """A place where settings may stand. `folder` is what relative paths in it count from."""

    source: Source
    path: Path
    shown: str  # as a person would write it
    folder: Path


@frozen(kw_only=True)
class Document:
    """A settings file that was read. `root` None: there is nothing in it."""

    file: SettingsFile
    text: str = field(repr=False)
    root: Node | None
    bom: bool = False

    @cached_property
    def _lines(self) -> Sequence[int]:
        """Where each line begins. Counted anew for each value, 5,000 rules took half a second."""
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def origin(self, node: Node) -> Origin:
        line = bisect_right(self._lines, node.start)
        column = node.start - self._lines[line - 1] + 1
        return Origin(source=self.file.source, where=self.file.shown, line=line, column=column)

    def source_of(self, node: Node) -> str:
        """The value as it is written."""
        return self.text[node.start : node.end]


def place(text: str, at: int) -> tuple[int, int]:
    """Line and column, from 1, of an offset."""
    return text.count("\n", 0, at) + 1, at - (text.rfind("\n", 0, at) + 1) + 1


# --- where they lie ---------------------------------------------------------------------------


def files(
    cwd: Path,
    home: Path,
    *,
    sources: Sequence[Source] = CHOSEN,
    environ: Mapping[str, str],
    managed: Sequence[Path] = MANAGED_FOLDERS,
) -> tuple[SettingsFile, ...]:
    """Every place where settings may stand, highest first; a file is named once."""
    shown = _Shown(cwd, _user_folder(environ))
    found = [*_managed(managed, shown)]
    user = home / "settings.json"
    for source in (Source.LOCAL, Source.PROJECT):
        if source in sources:
            found += _of_project(source, cwd, environ, shown)
    if Source.USER in sources:
        found.append(SettingsFile(source=Source.USER, path=user, shown=shown(user), folder=home))
    # In the home folder, `.interlock/settings.json` is the user's own, and no project's.
    return tuple(one for one in found if one.source is Source.USER or not _same(one.path, user))


def project_folders(cwd: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
    """The working folder and those above it, up to the root of its repository."""
    user = _user_folder(environ)
    passed: list[Path] = []
    for folder in (cwd, *cwd.parents):
        passed.append(folder)
        # A home folder under git (of dotfiles) does not make one project of all that is in it.
        if (folder == cwd or folder != user) and _repository_of_ours(folder, cwd):
            return tuple(passed)
    return (cwd,)


def _repository_of_ours(folder: Path, cwd: Path) -> bool:
    """Whether a repository begins here that nobody else has put above our working folder.

    Who may write into a shared folder, like /tmp, could else give rules and hooks to all below.
    """
    try:
        owner = os.lstat(folder / ".git").st_uid
        return owner in (os.geteuid(), os.stat(cwd).st_uid)  # noqa: PTH116 (beside lstat)
    except OSError:
        return False


def project_file(source: Source, cwd: Path, environ: Mapping[str, str]) -> Path:
    """Where a new project or local setting is written: at the root, so it is found from below."""
    return project_folders(cwd, environ)[-1] / ".claude" / _NAMES[source]


def unread(cwd: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    """Settings above the project, which bind nothing: their user may believe that they do."""
    user = _user_folder(environ)
    for folder in project_folders(cwd, environ)[-1].parents:
        if folder != user and not user.is_relative_to(folder):
            for name in _PROJECT_FOLDERS:
                path = folder / name / _NAMES[Source.PROJECT]
                if os.path.isfile(path):  # noqa: PTH113 (Path.is_file raises for a closed folder)
                    yield path


def _of_project(
    source: Source, cwd: Path, environ: Mapping[str, str], shown: _Shown
) -> Iterator[SettingsFile]:
    for folder in project_folders(cwd, environ):
        for name in _PROJECT_FOLDERS:
            path = folder / name / _NAMES[source]
            yield SettingsFile(source=source, path=path, shown=shown(path), folder=folder)


def _managed(folders: Sequence[Path], shown: _Shown) -> Iterator[SettingsFile]:
    for folder in folders:
        parts = folder / "managed-settings.d"
        try:
            names = sorted(os.listdir(parts), reverse=True)  # noqa: PTH208 (names, not paths)
        except (FileNotFoundError, NotADirectoryError):
            names = []
        except OSError as error:
            problem = f"cannot be read ({error.strerror}); make it readable, or remove it"
            raise ConfigurationError([f"{parts}: {problem}"]) from error
        kept = [parts / name for name in names if name.endswith(".json") and name[0] != "."]
        for path in (*kept, folder / "managed-settings.json"):
            yield SettingsFile(
                source=Source.MANAGED, path=path, shown=shown(path), folder=Path("/")
            )


def _user_folder(environ: Mapping[str, str]) -> Path:
    return Path(environ["HOME"]) if environ.get("HOME") else Path.home()


def _same(one: Path, other: Path) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


@frozen
class _Shown:
    cwd: Path
    user: Path

    def __call__(self, path: Path) -> str:
        if path.is_relative_to(self.cwd):
            return str(path.relative_to(self.cwd))
        return f"~/{path.relative_to(self.user)}" if path.is_relative_to(self.user) else str(path)


# --- reading ----------------------------------------------------------------------------------


def read(file: SettingsFile) -> Document | None:
    """The file, or None where there is none. Raises ConfigurationError, naming the place.

    What cannot be read is refused, not passed over: it may hold the rule that protects something.
    """
    try:
        data = _bytes(file.path)
    except FileNotFoundError as error:
        if os.path.islink(file.path):  # noqa: PTH114 (Path.is_link may raise)
            target = os.readlink(file.path)  # noqa: PTH115
            raise _refused(
                file, f"is a link to {target}, which is not there", "mend it"
            ) from error
        return None
    except NotADirectoryError:
        return None
    except OSError as error:
        mend = "make it readable, or leave its source out (--setting-sources)"
        raise _refused(file, f"cannot be read ({error.strerror})", mend) from error
    if data is None:
        raise _refused(file, "is no regular file", "put a file there, or nothing")
    if len(data) > LARGEST:
        raise _refused(file, f"is larger than {LARGEST >> 20} MiB", "it can hardly be settings")
    return parsed(file, data)


def parsed(file: SettingsFile, data: bytes) -> Document:
    """The bytes of a settings file, read. Raises ConfigurationError."""
    bom = data.startswith(b"\xef\xbb\xbf")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _refused(file, "is UTF-16", "save it as UTF-8")
    try:
        text = data.removeprefix(b"\xef\xbb\xbf").decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode(errors="replace").removeprefix("\ufeff")
        line, column = place(before, len(before))
        raise _refused(file, "not UTF-8 from here on", "save it as UTF-8", line, column) from error
    try:
        root = parse(text)
    except Malformed as error:
        line, column = place(text, error.at)
        raise _refused(file, error.problem, error.mend, line, column) from error
    return Document(file=file, text=text, root=root, bom=bom)


def _bytes(path: Path) -> bytes | None:
    # O_NONBLOCK: a pipe of that name would wait for a writer for ever.
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return None
        return file.read(LARGEST + 1)


def _refused(
    file: SettingsFile,
    problem: str,
    mend: str,
    line: int | None = None,
    column: int | None = None,
) -> ConfigurationError:
    where = Origin(source=file.source, where=file.shown, line=line, column=column).place
    return ConfigurationError([f"{where}: {problem}; {mend}"])
