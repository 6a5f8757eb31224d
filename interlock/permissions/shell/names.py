"""Builtins that take the names of variables, and so may run what stands in an index.

To bash `a[$(rm x)]` is a variable, quoted or not: `test -v`, `read`, `printf -v` and others work
out its index, and with it any command in there. Knows words, and nothing of the tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from interlock.permissions.shell.line import Word

Words = tuple[Word, ...]

_DECLARE = frozenset({"declare", "export", "local", "readonly", "typeset"})
# Whose every word may be a name. `[[` is not among them: the grammar knows it as a test.
_NAMES = _DECLARE | {"getopts", "mapfile", "read", "readarray", "unset"}
_COMPARES = frozenset({"-v", "-R", "-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_OF_FILES = re.compile(r"-[a-uw-zGLNOS]")
_OF_TEXTS = re.compile(r"=|==|!=|<|>|-nt|-ot|-ef")
# `a[b]` works out b, and what its value says in turn.
_INDEX = re.compile(r"\[(?!(?:\d+|[@*])\])")
_SET = re.compile(r"[A-Za-z_]\w*\+?=")
_CHILD = re.compile(r"""\$!|"\$!"|\$\{!\}|"\$\{!\}\"""")


def worked_out(words: Words) -> str | None:
    """Why an argument may hold commands that bash runs, or None."""
    name, arguments = words[0].text, words[1:]
    if name == "let":
        suspect = bool(arguments)
    elif name in ("test", "["):
        suspect = _tests(arguments[:-1] if name == "[" else arguments)
    elif name == "printf":
        suspect = _prints(arguments)
    elif name == "wait":
        suspect = any(_indexes(word) for word in arguments if not _CHILD.fullmatch(word.source))
    elif name in _NAMES:
        suspect = any(
            _indexes(word) for word in arguments if not (name in _DECLARE and _sets(word))
        )
    else:
        return None
    return f"what {name} is given is worked out, and can hold commands" if suspect else None


def _indexes(word: Word) -> bool:
    return word.text is None or _INDEX.search(word.text) is not None


def _sets(word: Word) -> bool:
    """`name=value`, however the value is made: it is no name."""
    return word.single and _SET.match(word.source if word.text is None else word.text) is not None


def _tests(arguments: Words) -> bool:
    while arguments and arguments[0].text == "!":
        arguments = arguments[1:]
    if all(word.text is not None for word in arguments):
        compares = any(word.text in _COMPARES for word in arguments)
        return compares and any(map(_indexes, arguments))
    if any(not word.single for word in arguments):
        return True
    match [word.text for word in arguments]:
        case [_]:
            return False
        case [sign, None] if sign is not None:
            return _OF_FILES.fullmatch(sign) is None
        case [_, sign, _] if sign is not None:
            return _OF_TEXTS.fullmatch(sign) is None
    return True


def _prints(arguments: Words) -> bool:
    """Only behind `-v` stands a name; a first word that is not known may be that."""
    first = arguments[0].text if arguments else ""
    if first is None:
        return len(arguments) > 1 and not _begins_with_text(arguments[0])
    return first.startswith("-v") and any(map(_indexes, _of(arguments)))


def _begins_with_text(word: Word) -> bool:
    return re.match(r'"?[^$`"*?\[\-]', word.source) is not None


def _of(arguments: Words) -> Iterable[Word]:
    attached = arguments[0].text not in (None, "-v")
    return arguments[:1] if attached else arguments[1:2]
