"""A word's node in the syntax tree, made into the text that bash would make of it.

Each token is checked once more by its letters: where the grammar and bash would cut a line
differently, the word is a doubt and not an answer.
"""

from __future__ import annotations

import re
from pathlib import Path

from attrs import frozen

from interlock.permissions.shell.line import Word
from interlock.permissions.shell.syntax import Node

SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})
WORDS = SUBSTITUTIONS | {
    "ansi_c_string",
    "arithmetic_expansion",
    "concatenation",
    "expansion",
    "number",
    "raw_string",
    "simple_expansion",
    "string",
    "word",
}

_PLAIN = re.compile(rb"""(?:[^\s\\'"$`;&|<>()\x00-\x1f\x7f]|\\[ -~\x80-\xff])+""")
_RAW = re.compile(rb"'[^'\0]*'")
_ANSI = re.compile(rb"\$'(?:[^'\\\0]|\\.)*'", re.DOTALL)
# Between the expansions of a quoted text: nothing that ends it or begins another.
_QUOTED = re.compile(rb"""(?:[^"\\`$\0]|\\.|\$(?=[\s.,:;/%^)=+~|\]}]|$))*""", re.DOTALL)
_NAMED = re.compile(rb"\$(?:[A-Za-z_]\w*|[0-9@*#?$!_-])")
_BRACED = re.compile(rb"\$\{#?[A-Za-z_]\w*(?:(?::?[-+]|%%?|##?)[\w./*: -]*)?\}|\$\{[0-9@*#?]\}")
_SUM = re.compile(rb"\$\(\([\d\s+*/%()<>=!&|^~?:-]*\)\)")
_GLOB = re.compile(r"(?<!\\)(?:\\\\)*[*?\[]")
_BRACE = re.compile(r"(?<!\\)(?:\\\\)*\{(?=[^}]*(?:,|\.\.))")
_SIMPLE_ESCAPES = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r",
    "t": "\t", "v": "\v", "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_ESCAPE = re.compile(
    r"\\(x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}|[0-7]{1,3}|.)", re.S
)


@frozen
class _Part:
    text: str | None
    single: bool = True
    raw: bool = False
    doubt: str | None = None


@frozen
class Resolved:
    """A word, and why it may have been cut wrongly."""

    word: Word
    doubt: str | None = None


def resolved(node: Node, source: bytes) -> Resolved:
    """The word that a node stands for."""
    part = _part(node, source)
    written = source[node.start_byte : node.end_byte]
    text, single, doubt = part.text, part.single, part.doubt or _edges(node, source)
    if node.type == "concatenation" and _BRACE.search(_unquoted(node, source)):
        text, single = None, False
    if text is not None and part.raw and text.startswith("~"):
        text = _home(text)
    if part.raw and written.startswith(b"#"):
        doubt = doubt or "a comment where the grammar sees a word"
    word = Word(text=text, source=written.decode(errors="replace"), single=single, raw=part.raw)
    return Resolved(word, doubt)


def _part(node: Node, source: bytes) -> _Part:
    written = source[node.start_byte : node.end_byte]
    match node.type:
        case "word" | "number":
            return _plain(written)
        case "raw_string" if _RAW.fullmatch(written):
            return _Part(written[1:-1].decode(errors="surrogateescape"))
        case "ansi_c_string" if _ANSI.fullmatch(written):
            return _ansi(written[2:-1].decode(errors="surrogateescape"))
        case "string":
            return _quoted(node, source)
        case "concatenation":
            return _joined(node, source)
        case "simple_expansion":
            good = _NAMED.fullmatch(written)
        case "expansion":
            good = _BRACED.fullmatch(written)
        case "arithmetic_expansion":
            good = _SUM.fullmatch(written)
        case "command_substitution" | "process_substitution":
            return _Part(None, single=node.type == "process_substitution")
        case _:
            good = None
    return _Part(None, single=False, doubt=None if good else f"an expansion: {_short(written)}")


def _plain(written: bytes) -> _Part:
    text = written.decode(errors="surrogateescape")
    if not _PLAIN.fullmatch(written):
        return _Part(None, single=False, doubt=f"letters that end a word: {_short(written)}")
    if _GLOB.search(text):
        return _Part(None, single=False, raw="\\" not in text)
    return _Part(re.sub(r"\\(.)", r"\1", text), raw="\\" not in text)


def _quoted(node: Node, source: bytes) -> _Part:
    """Text in double quotes: what stands between the expansions, and the expansions."""
    text: str | None = ""
    single, doubt, at = True, None, node.start_byte + 1
    if source[node.start_byte : at] != b'"' or source[node.end_byte - 1 : node.end_byte] != b'"':
        return _Part(None, single=False, doubt="a quote that is not closed")
    for child in (*node.named_children, None):
        if child is not None and child.type == "string_content":
            continue
        end = node.end_byte - 1 if child is None else child.start_byte
        between = source[at:end]
        if not _QUOTED.fullmatch(between):
            doubt = doubt or f"quoted text: {_short(between)}"
        if text is not None:
            plain = re.sub(rb'\\(["$`\\])', rb"\1", between.replace(b"\\\n", b""))
            text += plain.decode(errors="surrogateescape")
        if child is not None:
            part = _part(child, source)
            text, doubt, at = None, doubt or part.doubt, child.end_byte
            single &= not re.match(rb"\$\{?[@*]", source[child.start_byte : child.end_byte])
    return _Part(text, single=single, doubt=doubt)


def _joined(node: Node, source: bytes) -> _Part:
    parts = [_part(child, source) for child in node.children]
    texts = [part.text for part in parts if part.text is not None]
    whole = sum(child.end_byte - child.start_byte for child in node.children)
    doubt = next((part.doubt for part in parts if part.doubt), None)
    if whole != node.end_byte - node.start_byte:
        doubt = doubt or "a word in pieces"
    return _Part(
        "".join(texts) if len(texts) == len(parts) else None,
        single=all(part.single for part in parts),
        raw=all(part.raw for part in parts),
        doubt=doubt,
    )


def _unquoted(node: Node, source: bytes) -> str:
    """The word with what is quoted or computed blanked out: braces in there are text."""
    return "".join(
        source[child.start_byte : child.end_byte].decode(errors="replace")
        if child.type in ("word", "number")
        else "_"
        for child in node.children
    )


def _ansi(text: str) -> _Part:
    def one(match: re.Match[str]) -> str:
        code = match[1]
        if code[0] in "xuU":
            return chr(int(code[1:], 16)) if len(code) > 1 else "\0"
        if code[0] in "01234567":
            return chr(int(code, 8) & 0xFF)
        return _SIMPLE_ESCAPES.get(code, "\0")

    try:
        found = _ESCAPE.sub(one, text)
    except (ValueError, OverflowError):
        found = "\0"
    # Bytes above ASCII and unknown escapes: bash's answer depends on the locale and its version.
    if "\0" in found or (found != text and not found.isascii()):
        return _Part(None)
    return _Part(found)


def _edges(node: Node, source: bytes) -> str | None:
    """A word must end where bash ends one, or it is a piece of a longer word."""
    before, after = source[: node.start_byte], source[node.end_byte : node.end_byte + 1]
    while before.endswith(b"\\\n"):
        before = before[:-2]
    cut_before = not before or before[-1:] in b" \t\n;&|<>()`{=" or node.type in SUBSTITUTIONS
    cut_after = (
        not after or after in b" \t\n;&|<>()`" or source[node.end_byte :].startswith(b"\\\n")
    )
    if source[node.end_byte :].startswith(b"\\\n"):
        cut_after = source[node.end_byte + 2 : node.end_byte + 3] in (b"", b" ", b"\t", b"\n")
    if not (cut_before and cut_after):
        return f"a word in pieces: {_short(source[node.start_byte : node.end_byte])}"
    number = re.fullmatch(rb"\d+|\{\w+\}", source[node.start_byte : node.end_byte])
    if number and after in (b"<", b">") and after:
        return "a number that names a file descriptor"
    return None


def _home(text: str) -> str | None:
    """`~` and `~/x`; another's home, or what `~+` means, only the shell knows."""
    if text == "~" or text.startswith("~/"):
        return str(Path.home()) + text[1:]
    return None


def _short(written: bytes) -> str:
    text = written.decode(errors="replace")
    return text if len(text) <= 40 else text[:40] + "..."
