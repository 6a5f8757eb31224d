"""Commands that run a command they are given: `sudo x`, `xargs x`, `bash -c '...'`.

Where the options are understood, exactly what is run is found. Where they are not, every word
could begin it: enough for a rule that forbids, and no ground for one that allows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from attrs import evolve, frozen

from interlock.permissions.shell.line import Word

Words = tuple[Word, ...]


# What `xargs` reads: any number of words.
_INPUT = Word(None, "...", single=False, raw=False)
_ECHO = (Word("echo", "echo"),)


@frozen(kw_only=True)
class Wrapper:
    """How a wrapper's words are read: letters of options, and what comes before the command."""

    valued: str = ""  # letters of options that take a value
    flags: str = ""
    long: frozenset[str] = frozenset()  # long options without a value of their own word
    operands: int = 0
    assigns: bool = False  # takes NAME=value in front of the command
    transparent: bool = True
    appends: bool = False  # puts words of its input behind the command
    alone: str = ""  # letters of options with which it only tells, and runs nothing


_WRAPPERS: Mapping[str, Wrapper] = {
    "builtin": Wrapper(),
    "command": Wrapper(flags="p", alone="vV"),
    "doas": Wrapper(valued="uC", flags="n", transparent=False),
    "env": Wrapper(
        valued="u", flags="i0v", long=frozenset({"--ignore-environment"}), assigns=True
    ),
    "exec": Wrapper(valued="a", flags="cl"),
    "ionice": Wrapper(valued="cn", flags="t"),
    "nice": Wrapper(valued="n", flags="0123456789"),
    "nohup": Wrapper(),
    "setsid": Wrapper(flags="cfw"),
    "stdbuf": Wrapper(valued="ioe"),
    "sudo": Wrapper(valued="ugpCDhRTU", flags="nEHSkbAPB", assigns=True, transparent=False),
    "time": Wrapper(flags="p", assigns=True),  # the keyword: an assignment is one there
    "timeout": Wrapper(
        valued="ks", flags="v", operands=1, long=frozenset({"--foreground", "--preserve-status"})
    ),
    "xargs": Wrapper(valued="nPLdasEI", flags="0rtpx", long=frozenset({"--null"}), appends=True),
}
# Run commands too, in ways that are not followed word by word.
_OTHERS = re.compile(
    r"bwrap|busybox|capsh|catchsegv|choom|chroot|chronic|chrt|coproc|cpulimit|dbus-run-session"
    r"|eatmydata|entr|faketime|fakeroot|firejail|flock|hyperfine|i386|ifne|ld-linux[\w.-]*|ld\.so"
    r"|linux32|linux64|ltrace|nsenter|numactl|parallel|perf|pkexec|prlimit|proot|rlwrap|runcon"
    r"|runuser|screen|script|sem|setarch|setpriv|sg|ssh|start-stop-daemon|strace|su|systemd-run"
    r"|taskset|tmux|toybox|uclampset|unbuffer|uname26|unshare|valgrind|watch|x86_64|xvfb-run"
)
_SHELLS = re.compile(r"bash|dash|ksh|sh|zsh|rbash")
_LINES = re.compile(
    r"capsh|flock|hyperfine|parallel|runuser|screen|script|sem|sg|ssh|su|tmux|watch"
)
_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=")


@frozen(kw_only=True)
class Carried:
    """What a wrapper is given to run: `commands` as words, `lines` as text for a shell."""

    commands: tuple[Words, ...] = ()
    lines: tuple[str, ...] = ()
    assignments: tuple[str, ...] = ()
    opaque: str | None = None  # why it cannot be told; what is listed is then a guess
    hides: bool = False  # and it may be any command at all
    transparent: bool = False
    reach: int = 0


def carried(words: Words) -> Carried | None:
    """None for a command that runs nothing else."""
    name = (words[0].text or "").rpartition("/")[2]
    if name in _WRAPPERS:
        return _by_options(_WRAPPERS[name], name, words)
    if name == "find":
        return _find(words)
    if name == "eval":
        return _evaluated(words[1:])
    if name == "trap" and len(words) > 1:
        return _evaluated(words[1:2], transparent=False)
    if _SHELLS.fullmatch(name):
        return _shell(words)
    if _OTHERS.fullmatch(name):
        return _guessed(words, f"what {name} runs is not read", lines=bool(_LINES.fullmatch(name)))
    return None


def _by_options(wrapper: Wrapper, name: str, words: Words) -> Carried | None:
    at, replaced = 1, None
    while at < len(words):
        text = words[at].text
        if text is None:
            return _guessed(words, f"an option of {name} is not known", hides=True)
        if text == "--":
            at += 1
            break
        if not text.startswith("-") or text == "-":
            break
        letter = text[1:2]
        if text in wrapper.long or re.fullmatch(r"--[a-z-]+=.*", text, re.DOTALL):
            if name == "env" and text.startswith(("--split", "--chdir")):
                return _guessed(words, "env splits a word", hides=True)
            at += 1
        elif letter and letter in wrapper.alone:
            return None
        elif letter and letter in wrapper.valued:
            value = text[2:] or (words[at + 1].text if at + 1 < len(words) else None)
            if name == "xargs" and letter == "I":
                replaced = value or "{}"
            at += 1 if text[2:] else 2
        elif len(text) > 1 and all(each in wrapper.flags for each in text[1:]):
            at += 1
        else:
            # `env -S'rm x'` holds a command in the option's own word.
            split = name == "env" and "S" in text
            return _guessed(words, f"the option {text} of {name} is not known", hides=split)
    at += wrapper.operands
    names: list[str] = []
    while wrapper.assigns and at < len(words):
        match = _ASSIGNMENT.match(words[at].text or words[at].source)
        if match is None:
            break
        names.append(match[1])
        at += 1
    return _rest(wrapper, words, at, tuple(names), replaced)


def _rest(
    wrapper: Wrapper, words: Words, at: int, names: tuple[str, ...], replaced: str | None
) -> Carried | None:
    rest = words[at:]
    if wrapper.appends and replaced is None:
        rest = (*(rest or _ECHO), _INPUT)
    if not rest:
        return None
    rest = _filled_in(rest, replaced) if replaced else rest
    return Carried(commands=(rest,), assignments=names, transparent=wrapper.transparent, reach=at)


def _filled_in(words: Words, mark: str) -> Words:
    """Words in which the wrapper puts something that is not known."""
    return tuple(evolve(word, text=None) if mark in (word.text or "") else word for word in words)


def _find(words: Words) -> Carried | None:
    found: list[Words] = []
    reach, at = 0, 1
    while at < len(words):
        if words[at].text in _FIND_RUNS:
            end = at + 1
            while end < len(words) and words[end].text not in (";", "+"):
                end += 1
            if end > at + 1:
                found.append(_filled_in(words[at + 1 : end], "{}"))
                reach = reach or at + 1
            at = end
        at += 1
    loose = any(word.text is None and not word.single for word in words)
    opaque = "what find is told to do is not known" if loose else None
    if not found and opaque is None:
        return None
    return Carried(commands=tuple(found), opaque=opaque, reach=reach)


def _evaluated(words: Words, transparent: bool = True) -> Carried | None:
    if not words:
        return None
    texts = [word.text for word in words if word.text is not None]
    if len(texts) < len(words):
        return Carried(opaque="what is evaluated is not known", hides=True)
    return Carried(lines=(" ".join(texts),), transparent=transparent, reach=len(words) + 1)


def _shell(words: Words) -> Carried | None:
    """`bash -c text`; a script's file is a program like any other."""
    at = 1
    while at < len(words):
        text = words[at].text
        if text is None:
            return _guessed(words, "what the shell is given is not known", hides=True)
        if text in ("-o", "+o"):
            at += 2
        elif re.fullmatch(r"-[elux]*c[elux]*", text):
            line = words[at + 1] if at + 1 < len(words) else None
            if line is None or line.text is None:
                return Carried(opaque="the shell's line is not known", hides=True)
            # A word after -c is an option still if it begins with one: it is not the line.
            if line.text.startswith(("-", "+")):
                return _guessed(words, "the shell's options are not known", lines=True)
            return Carried(lines=(line.text,), transparent=True, reach=at + 2)
        elif re.fullmatch(r"[-+][elux]+|--(?:norc|noprofile|posix|login)", text):
            at += 1
        elif text.startswith(("-", "+")):
            return _guessed(words, "the shell's options are not known", lines=True, hides=True)
        elif text.startswith(("/dev/", "/proc/")):
            return Carried(opaque="the shell reads commands from its input", hides=True)
        else:
            return None
    return Carried(opaque="the shell reads commands from its input", hides=True)


def _guessed(words: Words, why: str, *, lines: bool = False, hides: bool = False) -> Carried:
    """Each place where a command could begin."""
    rest = words[1:]
    unknown = any(word.text is None for word in rest)
    return Carried(
        commands=tuple(rest[at:] for at in range(len(rest)) if rest[at].text is not None),
        lines=tuple(word.text for word in rest if word.text) if lines else (),
        opaque=why,
        hides=hides or unknown,
    )
