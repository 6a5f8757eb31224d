"""What is known of single programs: which only look, which only read, which change only files.

Three questions, and three lists, since each is asked for another reason.

- `harmless`: may it run without a person having been asked? Very short. `cat` shows any file, and
  even `git status` runs what the repository's own configuration names (fsmonitor, filters, an
  external diff): a list that is judged by the first word lets such things through.
- `reads_only`: would it leave the world as it is, so that it may run beside others, or before a
  plan is approved? Here `git status` counts: who may run it is another question.
- `changed_files`: which files do the plain file commands change, where file changes are accepted?
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from itertools import islice
from pathlib import Path, PurePath

from interlock.permissions.paths import inside, is_folder, real
from interlock.permissions.shell import Command, Word, read

_ECHOED = re.compile(r"[\w.,:+=@%/-]*")
_NOTHING = re.compile(r"(?!)")
_MAX_GLOBBED = 10_000  # names that a glob stands for; a person types no more
NO_FILES = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr"})

# --- harmless --------------------------------------------------------------------------------


def harmless(command: Command, cwd: Path, folders: tuple[Path, ...]) -> bool:
    """Whether the command only looks, and only inside `folders`."""
    words = command.literal
    if words is None or command.assignments or not inside(cwd, folders):
        return False
    match words:
        case ("pwd",) | ("true",) | ("false",) | (":",):
            return True
        case ("echo", *said):
            return all(_ECHOED.fullmatch(word) for word in said)
        case ("ls", *rest):
            return all(_is_listed(word, cwd, folders) for word in rest)
    return False


def _is_listed(word: str, cwd: Path, folders: tuple[Path, ...]) -> bool:
    if word.startswith("-"):
        return re.fullmatch(r"-[A-Za-z1]+", word) is not None
    path = real(cwd / word)
    return path is not None and inside(path, folders)


# --- reads only ------------------------------------------------------------------------------

# Programs that change nothing, whatever they are told.
_READ = re.compile(
    r"basename|cat|cmp|cut|df|diff|dirname|du|egrep|false|fgrep|grep|head|id|jq|ls|md5sum|nl|od"
    r"|paste|printf|pwd|readlink|realpath|rev|seq|sha1sum|sha256sum|sleep|stat|strings|tac|tail|tr"
    r"|true|uname|wc|which|whoami|echo|:|\[|\[\[|test|comm|column|fold|expand"
)
# Programs that change nothing but with these options; GNU takes any beginning of a long one.
_READ_BUT: dict[str, re.Pattern[str]] = {
    "date": re.compile(r"-[a-zA-Z]*s.*|--s.*|[^-+].*"),
    "file": re.compile(r"-[a-zA-Z]*C.*|--c.*"),
    "find": re.compile(r"-(?:exec|execdir|ok|okdir|delete|fprint.*|fls)"),
    "rg": re.compile(r"-[a-zA-Z]*z.*|--(?:pre|hostname|search-zip).*"),
    "sort": re.compile(r"-[a-zA-Z]*o.*|--o.*|--comp.*"),
    "tree": re.compile(r"-[a-zA-Z]*[oR].*|--o.*"),
}
_RUN_MORE = frozenset({"file", "git", "rg", "sort"})
_GIT_READS = frozenset(
    {
        "blame", "cat-file", "describe", "diff", "grep", "log", "ls-files", "ls-tree",
        "merge-base", "name-rev", "rev-list", "rev-parse", "shortlog", "show", "status",
    }
)  # fmt: skip
_GIT_WRITES = re.compile(r"--o(?!neline).*|-O.*|--ext-diff|--textconv|--filters")


def reads_only(line: str) -> bool:
    """Whether running the line leaves the world as it was: no file, no process, no network.

    Says nothing about permission. What it does not know, it takes for a change.
    """
    reading = read(line)
    if reading.doubt is not None or reading.altered is not None or reading.moves:
        return False
    if any(file.writes and file.word.text not in NO_FILES for file in reading.files):
        return False
    return bool(reading.commands) and all(_reads(command) for command in reading.commands)


def runs_nothing(line: str) -> bool:
    """Whether, besides, nothing but the programs that are named runs: then the line may be run
    before it is certain that it is meant. Git runs what a repository configures, even for
    `status`; some others run what unpacks or packs.
    """
    return reads_only(line) and not any(_runs_more(command) for command in read(line).commands)


def _runs_more(command: Command) -> bool:
    return command.words[0].text in _RUN_MORE or any(map(_runs_more, command.inner))


def _reads(command: Command) -> bool:
    name = command.words[0].text
    if name is None or command.assignments or command.opaque:
        return False
    if command.inner:
        # `timeout 5 ls` does what `ls` does; `find -exec ls` reads, if `find` itself does.
        if command.transparent:
            return all(_reads(inner) for inner in command.inner)
        return False
    arguments = command.words[1:]
    if _READ.fullmatch(name):
        sets = name == "printf" and arguments
        return not sets or not (arguments[0].text or "-v").startswith("-v")
    literal = command.literal
    if literal is None:  # an option could hide in what is not known
        return False
    if name == "git":
        return _git_reads(literal[1:])
    if name == "uniq":
        return sum(not word.startswith("-") for word in literal[1:]) <= 1
    forbidden = _READ_BUT.get(name, _NOTHING)
    return name in _READ_BUT and not any(forbidden.fullmatch(word) for word in literal[1:])


def _git_reads(arguments: tuple[str, ...]) -> bool:
    rest = list(arguments)
    while rest and rest[0] in ("--no-pager", "-C"):
        rest = rest[2:] if rest[0] == "-C" else rest[1:]
    return bool(rest) and rest[0] in _GIT_READS and not any(map(_GIT_WRITES.fullmatch, rest))


# --- file commands ---------------------------------------------------------------------------

_Targets = Callable[[list[Path]], list[Path | None]]


def _each(paths: list[Path]) -> list[Path | None]:
    return [*paths]


def _into_last(paths: list[Path]) -> list[Path | None]:
    """What `cp` and `mv` write: the last path, or in it the names of the others."""
    *sources, target = paths
    if not is_folder(target):
        return [target]
    return [real(target / source.name) for source in sources]


_FILE_COMMANDS: dict[str, tuple[str, int, _Targets]] = {
    "cp": ("-[abdfinpPrRuvx]+", 2, _into_last),
    "mkdir": ("-[pv]+", 1, _each),
    "mv": ("-[finuv]+", 2, _into_last),
    "touch": ("-[acm]+", 1, _each),
}


def changed_files(command: Command, cwd: Path) -> tuple[Path, ...] | None:
    """All real paths that a plain file command touches, what it reads included; else None.

    `rm` is not among them: what is overwritten can be got back from an editor or from git more
    often than what is gone.
    """
    words = command.literal
    if words is None or command.assignments or words[0] not in _FILE_COMMANDS:
        return None
    options, least, targets = _FILE_COMMANDS[words[0]]
    named = list(words[1:])
    while named and named[0].startswith("-"):
        option = named.pop(0)
        if option == "--":
            break
        if not re.fullmatch(options, option):
            return None
    if len(named) < least or any(not word or word.startswith("-") for word in named):
        return None
    # Whoever moves a link moves the link and not what it leads to; both must lie inside.
    written = [Path(os.path.normpath(cwd / word)) for word in named]
    led_to = _known(real(path) for path in written)
    folders = _known(real(path.parent) for path in written)
    if led_to is None or folders is None:
        return None
    holders = [folder / path.name for folder, path in zip(folders, written, strict=True)]
    changed = _known(targets(led_to))
    return None if changed is None else tuple(dict.fromkeys((*led_to, *holders, *changed)))


def _known(paths: Iterable[Path | None]) -> list[Path] | None:
    """The paths, None if one of them is not known."""
    every = [*paths]
    known = [path for path in every if path is not None]
    return known if len(known) == len(every) else None


# --- what a command names --------------------------------------------------------------------

_SHOWS = re.compile(
    r"\.|awk|base32|base64|bat|cat|cmp|column|comm|cp|cut|dd|diff|egrep|expand|fgrep|file|fold|gawk"
    r"|gpg|grep|head|hexdump|install|jq|less|ln|mawk|more|mv|nano|nl|od|openssl|paste|perl|python3?"
    r"|rev|rg|rsync|scp|sed|sort|source|split|strings|tac|tail|tar|tee|tr|uniq|vi|vim|wc|xxd|zip"
)


def shows_files(command: Command) -> bool:
    """Whether the command is known to show or copy the files that it is given."""
    return bool(command.name and _SHOWS.fullmatch(command.name))


def named_files(words: tuple[Word, ...], folders: tuple[Path, ...]) -> tuple[Path, ...]:
    """Each path that a literal word could be, as written; globs that match files are those."""
    found: list[Path] = []
    for word in words:
        for text in _texts(word, folders):
            value = text.partition("=")[2] if "=" in text else text.lstrip("@")
            for each in dict.fromkeys((text, value)):
                if each and "\0" not in each:
                    found += [folder / each for folder in folders]
    return tuple(dict.fromkeys(found))


def _texts(word: Word, folders: tuple[Path, ...]) -> list[str]:
    if word.text is not None:
        return [word.text]
    if not is_glob(word):
        return []
    pattern, found = PurePath(word.source), list[str]()
    for folder in folders:
        base = Path(pattern.anchor) if pattern.is_absolute() else folder
        try:
            matching = base.glob(str(pattern.relative_to(pattern.anchor)))
            # For bash a star stands for no name that begins with a dot.
            found += [
                str(path)
                for path in islice(matching, _MAX_GLOBBED)
                if pattern.name.startswith(".") or not path.name.startswith(".")
            ]
        except (ValueError, OSError):
            continue
    return found


def is_glob(word: Word) -> bool:
    """Whether the word is not known only since it stands for the names of files."""
    return word.text is None and word.raw and re.search(r"[$`'\"\\{<>(]", word.source) is None
