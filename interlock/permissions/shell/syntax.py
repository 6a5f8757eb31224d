"""The syntax tree of a line, as plain data of our own.

Copied out of the parser in one walk with one cursor: the binding's node objects have crashed
interpreters when lists of them met the garbage collector, and nothing after this file touches one.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from attrs import field, frozen

if TYPE_CHECKING:
    from tree_sitter import Parser, TreeCursor


@frozen(eq=False)
class Node:
    """One node; `role` is the field of its parent that it stands in."""

    type: str
    start_byte: int
    end_byte: int
    is_named: bool
    broken: bool  # an error, or a token that is missing
    role: str | None
    children: tuple[Node, ...] = field(default=(), repr=False)

    @property
    def named_children(self) -> tuple[Node, ...]:
        return tuple(child for child in self.children if child.is_named)

    def in_role(self, role: str) -> tuple[Node, ...]:
        return tuple(child for child in self.children if child.role == role)

    def one_in_role(self, role: str) -> Node | None:
        return next(iter(self.in_role(role)), None)


# The grammar's scanner asks C's `isdigit` about characters it is not made for, and reads outside
# its table: a letter of a far script behind a brace could end the process. To bash every byte
# outside ASCII is a letter of a word, as is this one; the words themselves are cut from the line.
_ASCII = bytes(range(128)) + b"%" * 128


def parsed(source: bytes) -> tuple[Node, bool]:
    """The root, and whether any of it is broken."""
    tree = _parser().parse(source.translate(_ASCII))
    cursor = tree.walk()
    # An explicit stack: the line decides how deep it nests, and must not decide our end.
    above: list[list[Node]] = [[]]
    broken = False
    while True:
        above.append([])
        if cursor.goto_first_child():
            continue
        while True:
            node = _copied(cursor, tuple(above.pop()))
            broken |= node.broken
            above[-1].append(node)
            if cursor.goto_next_sibling():
                break
            if not cursor.goto_parent():
                return node, broken


def _copied(cursor: TreeCursor, children: tuple[Node, ...]) -> Node:
    node = cursor.node
    assert node is not None
    return Node(
        type=node.type,
        start_byte=node.start_byte,
        end_byte=node.end_byte,
        is_named=node.is_named,
        broken=node.is_error or node.is_missing,
        role=cursor.field_name,
        children=children,
    )


@lru_cache(maxsize=1)
def _parser() -> Parser:
    # Slow to load beside a `--help`, so only where a line is judged.
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))
