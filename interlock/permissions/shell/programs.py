"""Programs and builtins that run commands which their own options or arguments name.

`awk 'BEGIN{system(...)}'`, `tar --to-command`, `git -c alias.x=!...`: what they run is written in
languages that are not read here, so a line with one may hold any command. Where the code is in a
file (a script, a Makefile), it is not looked for: that is the file's affair.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from attrs import frozen

from interlock.permissions.shell.line import Word

Words = tuple[Word, ...]


@frozen
class Hiding:
    """Why a command may run others, and which of its words says so."""

    why: str
    at: int


# Programs and their options that name what is run; GNU takes any beginning of long ones. These and
# those of interpreters are compiled when a line has such a program, not with each start (10 ms).
_OPTIONS: Sequence[tuple[str, str]] = (
    ("alias", r"[^=]+=.*"),
    ("bind", r"-\w*x.*"),
    ("compgen|complete", r"-\w*[CF].*"),
    ("enable", r"-\w*f.*"),
    ("fc", r"-\w*[es].*"),
    ("hash", r"-\w*p.*"),
    ("jobs", r"-\w*x.*"),
    ("mapfile|readarray", r"-\w*C.*"),
    (r"\.|source", r"/dev/.*|/proc/.*|<\(.*"),
    ("at|batch|ed|ex|red", r".*"),
    ("bat", r"--pager.*"),
    ("crontab", r"-"),
    ("dc", r".*!.*"),
    ("emacs|emacsclient", r"-(?:e|f|l|-eval|-exec|-func|-load|-script|-batch).*"),
    ("expect", r"-\w*c.*"),
    ("fd|fdfind", r"-\w*[xX].*|--exec.*"),
    ("g?make", r"--ev.*|-\w*f/dev/.*|(?:\.?SHELL\w*|MAKEFLAGS)[:?+]*=.*|\w+[:?+]*=.*\$[({].*"),
    ("gcc|g\\+\\+|cc|c\\+\\+|clang", r"-wrapper"),
    ("gdb|lldb", r"-{1,2}(?:ex|ix|x|iex|eval|init|comm|o|O|s|S|one-line).*"),
    ("go", r"-{1,2}(?:exec|toolexec)(?:=.*)?"),
    ("ip", r"exec"),
    ("less|more|most", r"\+.*!.*"),
    ("man", r"-\w*[PH].*|--(?:pa|ht|br).*"),
    ("mysql|mariadb", r".*(?:\\!|system).*"),
    ("nc|ncat|netcat", r"-\w*[ec].*|--(?:exec|sh-exec|lua-exec).*"),
    ("psql|sqlite3?", r".*(?:\\!|\.shell|\.system|\.sh ).*"),
    ("rg", r"--(?:pre|hostname-bin).*"),
    ("scp|sftp", r"-S.*|-D.*|-F.*"),
    ("sdiff", r"--diff-p.*"),
    ("socat", r".*(?:EXEC|SYSTEM|SHELL|exec|system|shell):.*"),
    ("sort", r"--comp.*"),
    ("split", r"--fi.*"),
    (
        "tar|gtar|bsdtar",
        r"--(?:to-c|checkpoint-a|us|info-s|new-v|rsh|rmt).*|-\w*[IF].*",
    ),
    ("cpio", r"--rsh.*"),
    ("rview|rvim|vi|view|vim|vimdiff|nvim|gvim", r"-[cSsu].*|-es.*|--cmd.*|\+.*"),
    ("wget", r"--use-a.*"),
    ("zip", r"-\w*T\w*|--unzip-c.*"),
)  # fmt: skip

# Interpreters: the options that hold code, and those with a value in a word of its own.
_CODE: Sequence[tuple[str, str, str]] = (
    (r"python[\d.]*|pypy[\d.]*", r"-[A-Za-z]*c.*", "-W|-X|-Q"),
    (r"perl[\d.]*", r"-[A-Za-z0-9]*[eE].*", "-I"),
    (r"ruby[\d.]*", r"-[A-Za-z]*e.*", "-I|-r|-C"),
    ("node|nodejs|bun", r"-(?:e|p|pe|-eval|-print)(?:=.*)?", "-r|--require|--import|--loader"),
    (r"php[\d.]*", r"-[rBRE].*", "-c|-d"),
    (r"lua[\d.]*|luajit", r"-e.*", "-l"),
    (r"R|Rscript|julia|ghc|osascript|groovy|scala|tclsh[\d.]*", r"-{1,2}[eE].*", ""),
    ("deno", "eval|repl", ""),
)
_TELLS = re.compile(r"--version|-V|-VV|-v|--help|-h|-m")

_AWK = re.compile(r"[gmn]?awk|original-awk")
_AWK_RUNS = re.compile(
    r"\bsystem\b|\bgetline\b|\|&|@\s*\w+\s*[(\"]|\bprintf?\b[^;}\n]*[^|]\|(?!\|)", re.DOTALL
)
_SED = re.compile(r"g?sed")
_SED_RUNS = re.compile(
    r"(?:^|[;{}\n!,\d$]|[^\w\s][IM]*)\s*e(?:[\s;}]|$)"
    r"|s([^\w\s])(?:\\.|(?!\1).)*\1(?:\\.|(?!\1).)*\1[gpiImMw\d]*e",
    re.DOTALL,
)
_SSH = re.compile(r"ssh|scp|sftp")
_SSH_SAFE = re.compile(
    r"(?i)(?:StrictHostKeyChecking|BatchMode|ConnectTimeout|Port|User|LogLevel|IdentityFile"
    r"|IdentitiesOnly|UserKnownHostsFile|ServerAlive\w+|ForwardAgent|Compression)[= ].*"
)
_RSYNC_SHELL = re.compile(r"ssh(?: -(?:p ?\d+|i ?[\w./~-]+|q|4|6|C))*")

# Variables in which programs look for commands, and values that are harmless for them.
_RUNNERS = (
    r"BASH_ENV|BROWSER|EDITOR|ENV|GIT_\w*(?:ASKPASS|COMMAND|CONFIG\w*|DIFF|EDITOR|PAGER|SSH)"
    r"|LD_(?:AUDIT|PRELOAD)|LESSOPEN|LESSCLOSE|MAKEFLAGS|MANPAGER|NODE_OPTIONS|PAGER|PERL5OPT"
    r"|PERL5LIB|PROMPT_COMMAND|PS[0-4]|PYTHONSTARTUP|RSYNC_RSH|RUBYOPT|SHELL|SSH_ASKPASS"
    r"|SUDO_ASKPASS|TAR_OPTIONS|VISUAL"
)
_IS_RUNNER = re.compile(_RUNNERS)
_SETS_RUNNER = re.compile(
    rf"(?:-v)?(?:{_RUNNERS})(?!=['\"]?(?:cat|true|:|less|more|nano|vim?|)['\"]?$)(?:\+?=.*)?",
    re.DOTALL,
)
# Where the shell itself runs what is hidden, no rule about its builtin can have meant that.
OF_SHELL = frozenset(
    {
        ".", "alias", "bind", "compgen", "complete", "declare", "enable", "export", "fc", "hash",
        "jobs", "local", "mapfile", "printf", "read", "readarray", "source", "typeset",
    }
)  # fmt: skip
_SETTERS = frozenset(
    {"declare", "env", "export", "local", "mapfile", "printf", "read", "readarray", "typeset"}
)


def sets_runner(assignment: str) -> bool:
    """Whether `NAME=value` gives a program something to run."""
    return _SETS_RUNNER.fullmatch(assignment) is not None


def hiding(words: Words, assignments: tuple[str, ...], source: str) -> Hiding | None:
    """How a command may run others that none of its words is."""
    for each in assignments:
        plain = re.search(
            rf"(?:^|\s){each}=['\"]?(?:cat|true|:|less|more|nano|vim?)?['\"]?\s", source
        )
        if _IS_RUNNER.fullmatch(each) and plain is None:
            return Hiding(f"{each} can hold commands", 0)
    name = (words[0].text or "").rpartition("/")[2]
    at = _place(name, words)
    if at is None:
        return None
    said = words[at].source if at else name
    return Hiding(f"{name} may run commands by what it is given ({_short(said)})", at)


def _place(name: str, words: Words) -> int | None:
    if _AWK.fullmatch(name):
        return _program(words, _AWK_RUNS, ("-f", "--file"), ("-e", "--source"), "vF")
    if _SED.fullmatch(name):
        return _program(words, _SED_RUNS, ("-f", "--file"), ("-e", "--expression"), "l")
    if name == "git":
        from interlock.permissions.shell.git import runs_at

        return runs_at(words)
    if name == "rsync":
        return _rsync(words)
    if name in ("npm", "npx", "pnpm"):
        return _npx(words)
    if name in _SETTERS:
        found = _first(words, _SETS_RUNNER)
        if found is not None:
            return found
    if (
        name in ("tar", "gtar")
        and len(words) > 1
        and re.fullmatch(r"[a-zA-Z]*[IF]\w*", words[1].text or "")
    ):
        return 1
    if _SSH.fullmatch(name):
        found = _ssh(words)
        if found is not None:
            return found
    if name in ("make", "gmake") and _reads_input(words):
        return _reads_input(words)
    for names, code, valued in _CODE:
        if re.fullmatch(names, name):
            return _interpreter(words, re.compile(code, re.DOTALL), re.compile(valued))
    if re.fullmatch(r"at|batch|ed|ex|red", name):
        return 0
    for names, form in _OPTIONS:
        if re.fullmatch(names, name):
            return _first(words, re.compile(form, re.DOTALL))
    return None


def _first(words: Words, form: re.Pattern[str]) -> int | None:
    for at, word in enumerate(words[1:], 1):
        if form.fullmatch(word.text if word.text is not None else word.source):
            return at
    return None


def _program(
    words: Words,
    runs: re.Pattern[str],
    of_file: tuple[str, str],
    of_text: tuple[str, str],
    valued: str,
) -> int | None:
    """The word with a program that runs commands or is not known: awk's and sed's are words."""
    given, at = False, 1
    while at < len(words):
        text = words[at].text
        option = (text or "").partition("=")[0]
        if text is not None and (option in of_file or re.fullmatch(r"-[a-z]*f.*", text)):
            given, at = True, at + (1 if "=" in text else 2)
            continue
        if text is not None and (option in of_text or re.fullmatch(r"-[A-Za-z]*e.*", text)):
            given = True
            attached = "=" in text or re.fullmatch(r"-[A-Za-z]*e.+", text) is not None
            holder = at if attached else at + 1
            code = text.partition("=")[2] or text.partition("e")[2] if attached else None
            if not attached and holder < len(words):
                code = words[holder].text
            if code is None or runs.search(code):
                return min(holder, len(words) - 1)
            at = holder + 1
            continue
        if text is not None and text.startswith("-") and text != "-":
            at += 2 if len(text) == 2 and text[1] in valued else 1
            continue
        if not given and (text is None or runs.search(text)):
            return at
        given, at = True, at + 1
    return None


def _interpreter(words: Words, code: re.Pattern[str], valued: re.Pattern[str]) -> int | None:
    """The option with code; the program itself, where it reads code from its input."""
    at = 1
    while at < len(words):
        text = words[at].text
        if text is None or (not text.startswith("-") and not code.fullmatch(text)):
            return at if text and re.match(r"/dev/|/proc/", text) else _from_words(words, at)
        if text == "-" or code.fullmatch(text):
            return at
        if _TELLS.fullmatch(text):
            return None
        at += 2 if valued.fullmatch(text) else 1
    return 0


def _from_words(words: Words, at: int) -> int | None:
    return at if words[at].source.startswith("<(") else None


def _ssh(words: Words) -> int | None:
    for at, word in enumerate(words[1:], 1):
        text = word.text
        if text is None or not re.match(r"-[46AaCfgKkMNnqsTtVvXxYy]*o", text):
            continue
        value = text.partition("o")[2]
        if not value and at + 1 < len(words):
            value = words[at + 1].text or ""
        if not _SSH_SAFE.fullmatch(value):
            return at
    return None


def _rsync(words: Words) -> int | None:
    for at, word in enumerate(words[1:], 1):
        text = word.text or ""
        if re.fullmatch(r"--rsync-path.*", text):
            return at
        short = re.fullmatch(r"-[A-Za-z]*?e(.*)", text, re.DOTALL)
        long = re.fullmatch(r"--rsh?(?:=(.*))?", text, re.DOTALL)
        found = short or long
        if found is None:
            continue
        value = found[1] or (words[at + 1].text if at + 1 < len(words) else None)
        if value is None or not _RSYNC_SHELL.fullmatch(value):
            return at
    return None


def _npx(words: Words) -> int | None:
    """`npx -c text`; behind the program's name a `-c` is that program's."""
    at = 1 if words[0].text == "npx" else 2
    if at == 2 and (len(words) < 2 or words[1].text not in ("exec", "x")):
        return None
    for place in range(at, len(words)):
        text = words[place].text or ""
        if re.match(r"-c|--call", text):
            return place
        if not text.startswith("-"):
            return None
    return None


def _reads_input(words: Words) -> int | None:
    """Where make is told to read its rules from its input."""
    for at, word in enumerate(words[1:], 1):
        text = word.text or ""
        following = words[at + 1].source if at + 1 < len(words) else ""
        if re.fullmatch(r"-\w*f|--(?:file|makefile)", text) and re.match(
            r"-$|/dev/|<\(", following
        ):
            return at
        if re.fullmatch(r"-\w*f-|--(?:file|makefile)=(?:-|/dev/.*)", text):
            return at
    return None


def _short(text: str) -> str:
    return text if len(text) <= 40 else text[:40] + "..."
