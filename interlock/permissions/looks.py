"""Command lines that only read: they may run beside others, whatever those do.

One simple command from a short list, none of its options one that writes, runs something or
waits for input. This is about order, not about trust: whether a line may run at all is judged
elsewhere (decide.py), and there `cat` may well be asked about.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from interlock.permissions.lines import Words, plain

# For each program the options with which it does more than read; None: there are none.
_READERS: Mapping[str, re.Pattern[str] | None] = {
    "basename": None,
    "cat": None,
    "cmp": None,
    "comm": None,
    "cut": None,
    "df": None,
    "diff": None,
    "dirname": None,
    "du": None,
    "echo": None,
    "egrep": None,
    "false": None,
    "fgrep": None,
    "file": re.compile(r"-[^-]*[Cz]|--c|--u"),  # compiles its list; runs what unpacks
    "find": re.compile(r"-(exec|ok|delete$|f(print|ls))"),
    "grep": None,
    "head": None,
    "id": None,
    "ls": None,
    "md5sum": None,
    "nl": None,
    "od": None,
    "pwd": None,
    "readlink": None,
    "realpath": None,
    "rg": re.compile(r"-[^-]*z|--(pre|search-zip|hostname-bin)"),
    "sha1sum": None,
    "sha256sum": None,
    "sort": re.compile(r"-[^-]*[oT]|--(o|c|t)"),  # --output, --compress-program
    "stat": None,
    "tail": None,
    "test": None,
    "tr": None,
    "true": None,
    "uname": None,
    "wc": None,
    "which": None,
    "whoami": None,
}
_GIT_READERS = re.compile(
    r"blame|cat-file|describe|diff|grep|log|ls-files|ls-tree|rev-list|rev-parse|shortlog|show|status"
)
_GIT_WRITES = re.compile(r"-O|--(ou|op|ext|textc)")  # --output, a pager, an external program


def reads_only(line: str) -> bool:
    """Whether the line changes nothing that other calls could see. No, where that is unclear."""
    words = plain(line)
    return words is not None and (_reads(words) or _git_reads(words))


def runs_nothing(line: str) -> bool:
    """Whether, besides, nothing but the program that is named runs, and making the call twice is
    the same as once. Git runs what the configuration of a repository names, even for `status`.
    """
    words = plain(line)
    return words is not None and _reads(words)


def _reads(words: Words) -> bool:
    name, *rest = words
    if name not in _READERS:
        return False
    more = _READERS[name]
    return more is None or not any(more.match(word) for word in rest)


def _git_reads(words: Words) -> bool:
    match words:
        case ("git", "-C", _, command, *rest) | ("git", "--no-pager", command, *rest):
            pass
        case ("git", command, *rest):
            pass
        case _:
            return False
    return bool(_GIT_READERS.fullmatch(command)) and not any(
        _GIT_WRITES.match(word) for word in rest
    )
