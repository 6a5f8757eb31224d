"""Checks that the syntax tree tells a line as bash would read it.

A grammar that is almost bash is a hole wherever it is not. So the tree is believed only as far
as its tokens tile the line: between them may stand blanks and nothing else, and the end of a
here-document is looked for once more.
"""

from __future__ import annotations

import re

from interlock.permissions.shell.syntax import Node

_BLANK = re.compile(rb"(?:[ \t\n]|(?:(?<=[ \t\n;&|()])|^)\\\n)*")
_CONTROL = re.compile(r"[^\S \t\n]|[\x00-\x08\x0e-\x1f\x7f]")
_DELIMITER = re.compile(rb"""(\w+)|'([\w ]+)'|"([\w ]+)"|\\(\w+)""")
# Letters that begin another token than the one before them, without a blank in between.
_SEPARATE = b" \t\n;&|()`"

OPERATORS = frozenset(
    {
        "\n", "!", "$(", "&", "&&", "&>", "&>>", "(", "((", ")", "))", ";", ";&", ";;", ";;&", "<",
        "<&", "<(", "<<", "<<-", "<<<", "=", "+=", ">", ">&", ">(", ">>", ">|", "[", "[[", "]",
        "]]", "`", "{", "|", "|&", "||", "}", "case", "declare", "do", "done", "elif", "else",
        "esac", "export", "fi", "for", "function", "if", "in", "local", "readonly", "select",
        "then", "typeset", "unset", "unsetenv", "until", "while",
    }
)  # fmt: skip


def strange_letters(line: str) -> str | None:
    """Letters that bash and a grammar may take for a blank or not."""
    found = _CONTROL.search(line)
    if found:
        return f"the letter {found[0]!a}"
    try:
        line.encode()
    except UnicodeEncodeError:
        return "half a character"
    return None


def tiled(node: Node, source: bytes) -> str | None:
    """Why the node's children leave something out, or None."""
    at = node.start_byte
    for child in node.children:
        gap = source[at : child.start_byte]
        if not _BLANK.fullmatch(gap):
            return f"what stands before {_text(child, source)!r}"
        if not child.children and not child.is_named and child.type not in OPERATORS:
            return f"the sign {child.type!r}"
        at = child.end_byte
    if not _BLANK.fullmatch(source[at : node.end_byte]):
        return f"what stands behind {_text(node, source)!r}"
    return None


def around(root: Node, source: bytes) -> str | None:
    """Why the line holds more than its tree, or None."""
    outside = (source[: root.start_byte], source[root.end_byte :])
    return None if all(_BLANK.fullmatch(each) for each in outside) else "what is around it"


def comment(node: Node, source: bytes) -> str | None:
    """A comment begins a word; `a#b` holds none."""
    before = source[node.start_byte - 1 : node.start_byte]
    good = node.start_byte == 0 or before in _SEPARATE
    return None if good and b"\n" not in source[node.start_byte : node.end_byte] else "a comment"


def here_document(node: Node, source: bytes) -> str | None:
    """Why the text of a here-document may end elsewhere, or None."""
    parts = {child.type: child for child in node.children}
    begun, body, end = (parts.get(f"heredoc_{name}") for name in ("start", "body", "end"))
    if begun is None or body is None or end is None:
        return "a here-document that is not closed"
    delimiter = _DELIMITER.fullmatch(source[begun.start_byte : begun.end_byte])
    first = source.find(b"\n", begun.end_byte) + 1
    rest_of_line = source[begun.end_byte : first]
    if delimiter is None or not first or b"<<" in rest_of_line or b"\\" in rest_of_line:
        return "how a here-document begins"
    word = next(each for each in delimiter.groups() if each is not None)
    strip = b"\t" if "<<-" in parts else b""
    at = first
    for line in source[first:].split(b"\n"):
        if (line.lstrip(strip) if strip else line) == word:
            closes = at + len(line) == end.end_byte and body.start_byte >= first
            return None if closes else "where a here-document ends"
        if delimiter[1] is not None and line.endswith(b"\\"):
            return "a here-document with joined lines"
        at += len(line) + 1
    return "a here-document that is not closed"


def here_text(body: Node, source: bytes) -> str | None:
    """Why a here-document's text may hold commands that the tree has not, or None."""
    at = body.start_byte
    for child in (*body.children, None):
        end = body.end_byte if child is None else child.start_byte
        if re.search(rb"[`\\]|\$[({\[]", source[at:end]):
            return "the text of a here-document"
        at = end if child is None else child.end_byte
    return None


def _text(node: Node, source: bytes) -> str:
    return source[node.start_byte : node.end_byte][:40].decode(errors="replace")
