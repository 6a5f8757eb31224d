"""From a command line to what it would run: a walk over the tree of tree-sitter-bash.

Every node is either one whose meaning is known here, or a doubt. What stands inside a doubt is
searched all the same: a rule that forbids finds it, a rule that allows is not asked.
"""

from __future__ import annotations

import re
from functools import lru_cache

from attrs import define, evolve, field

from interlock.permissions.shell import checks
from interlock.permissions.shell.line import SAFE_NAMES, Command, File, Reading, Word
from interlock.permissions.shell.names import worked_out
from interlock.permissions.shell.programs import OF_SHELL, hiding, sets_runner
from interlock.permissions.shell.syntax import Node, parsed
from interlock.permissions.shell.words import SUBSTITUTIONS, WORDS, resolved
from interlock.permissions.shell.wrappers import Carried, carried

MAX_LINE = 50_000  # characters; what is longer is a doubt, and costs no time
_MAX_DEPTH = 4  # of lines inside lines

_STRUCTURE = frozenset(
    {
        "case_statement", "compound_statement", "do_group", "elif_clause", "else_clause",
        "file_redirect", "for_statement", "heredoc_redirect", "herestring_redirect",
        "if_statement", "list", "negated_command", "pipeline", "program",
        "redirected_statement", "subshell", "variable_assignment", "variable_assignments",
        "while_statement",
    }
    | SUBSTITUTIONS
)  # fmt: skip
_LEAVES = frozenset(
    {"file_descriptor", "heredoc_content", "heredoc_end", "heredoc_start", "variable_name"}
)
_RESERVED = frozenset(
    {
        "!", "((", "))", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi",
        "for", "function", "if", "in", "select", "then", "until", "while", "{", "}",
    }
)  # fmt: skip
# What changes how the rest of the line, or of the shell, is understood.
_ALTERS = re.compile(
    r"alias|bind|builtin|complete|declare|enable|export|getopts|hash|let|local|mapfile|printf|read"
    r"|readarray|readonly|set|shopt|source|trap|typeset|unalias|unset|\."
)
_HARMLESS_SET = re.compile(r"[-+][aefhuxobCETmnv]+|[-+]e?u?o|pipefail")
_MOVES = frozenset({"cd", "pushd", "popd", "chroot"})
# Tests of files and texts. Those of numbers evaluate what they are given, commands included; and
# `[` is a command like others, so that an unquoted variable is as many words as it likes.
_OPERAND = r"""(?:[\w./:-]+|'[^']*'|"(?:[\w./: -]|\$\w)*")"""
_TEST = re.compile(
    rf"\[ (?:! )?(?:-[a-uw-zGLNOS] )?{_OPERAND}(?: (?:=|==|!=) {_OPERAND})? \]"
    rf"|\[\[ (?:! )?(?:-[a-uw-zGLNOS] )?(?:{_OPERAND}|\$\w+)(?: (?:=|==|!=) {_OPERAND})? \]\]"
)
# Names for a line's own use: no shell and hardly a program looks at one in small letters.
_OWN_NAMES = re.compile(r"[a-z][a-z0-9]*")


@lru_cache(maxsize=256)
def read(line: str) -> Reading:
    """What the line would run. Any line has an answer; what cannot be read has a doubt."""
    return _read(line, 0)


def _read(line: str, depth: int) -> Reading:
    if len(line) > MAX_LINE or depth > _MAX_DEPTH:
        return Reading(commands=(), files=(), doubt="it is too long to be read")
    source = line.encode(errors="replace")
    root, broken = parsed(source)
    walk = _Walk(source, depth)
    walk.doubt = checks.strange_letters(line)
    if broken:
        walk.doubt = walk.doubt or "it does not parse"
    walk.doubt = walk.doubt or checks.around(root, source)
    walk.run(root)
    return walk.reading()


@define
class _Walk:
    """One line's tree, its commands in the order in which they are written."""

    source: bytes
    depth: int
    commands: list[Command] = field(factory=list)
    files: list[File] = field(factory=list)
    doubt: str | None = None
    altered: str | None = None
    hidden: str | None = None

    def reading(self) -> Reading:
        every = [each for command in self.commands for each in command.everything()]
        if len(every) > 1 and self.altered is None:
            self.altered = next((f"{each.name}" for each in every if _alters(each)), None)
        return Reading(
            commands=tuple(self.commands),
            files=tuple(self.files),
            doubt=self.doubt,
            hidden=self.hidden,
            altered=self.altered,
            moves=any(each.name in _MOVES for each in every),
        )

    def run(self, root: Node) -> None:
        waiting = [root]
        while waiting:
            node = waiting.pop()
            waiting += reversed(self._visit(node))

    def _visit(self, node: Node) -> list[Node]:
        """Take in one node; the ones inside it that are still to be visited."""
        match node.type:
            case "command" | "declaration_command" | "unset_command":
                return self._command(node)
            case "test_command":
                return self._test(node)
            case "comment":
                self._note(checks.comment(node, self.source))
            case "case_item":
                return self._case_item(node)
            case "function_definition":
                self.altered = "it defines a function"
                return self._inside(node)
            case "heredoc_body":
                return [child for child in node.children if child.is_named]
            case kind if kind in _STRUCTURE:
                return self._structure(node)
            case kind if kind in WORDS:
                self._note(resolved(node, self.source).doubt)
                return self._substitutions(node)
            case kind if node.is_named and kind not in _LEAVES:
                self._note(f"what {kind.replace('_', ' ')} means is not followed")
                return self._inside(node)
        return []

    def _structure(self, node: Node) -> list[Node]:
        if node.type != "heredoc_redirect":
            self._note(checks.tiled(node, self.source))
        match node.type:
            case "file_redirect":
                self._redirect(node)
            case "heredoc_redirect":
                self._here_document(node)
            case "variable_assignment":
                self._assignment(node)
            case "compound_statement" if node.children[0].type == "((":
                self._note("arithmetic can hold commands")
            case "for_statement":
                self._assigned(self._text(node.one_in_role("variable")))
        return self._inside(node)

    def _case_item(self, node: Node) -> list[Node]:
        # A pattern may be written in ways that look like commands to one of the two readers.
        self._note(checks.tiled(node, self.source))
        values = node.in_role("value")
        if not all(re.fullmatch(r"[\w.*?/-]+|'[^']*'", self._text(value)) for value in values):
            self._note("a pattern of case")
        written = set(values)
        return [
            child
            for child in node.named_children
            if child not in written and child.type != "extglob_pattern"
        ]

    # --- commands ----------------------------------------------------------------------------

    def _command(self, node: Node) -> list[Node]:
        self._note(checks.tiled(node, self.source))
        words: list[Word] = []
        names: list[str] = []
        further: list[Node] = []
        for child in node.children:
            if child.type == "command_name":
                child = child.children[0]
            if child.type in WORDS:
                words.append(self._word(child))
                further += self._substitutions(child)
            elif child.type == "variable_assignment" and not words:
                names.append(self._name_of(child))
                further += self._inside(child)
            elif child.type in ("herestring_redirect", "file_redirect"):
                further.append(child)
            else:
                words.append(self._other_word(child))
                further += self._inside(child)
        if not words:
            self._note("a command without a name")
            return further
        if words[0].raw and words[0].source in _RESERVED and node.type == "command":
            self._note(f"{words[0].source} where a command is expected")
        self.commands.append(self._with_inner(tuple(words), tuple(names), self._text(node)))
        return further

    def _test(self, node: Node) -> list[Node]:
        text = self._text(node)
        if not _TEST.fullmatch(text):
            self._note("what this test evaluates is not followed")
        words = tuple(
            Word(text=None if "$" in each else each, source=each) for each in text.split()
        )
        self.commands.append(Command(words=words, source=text))
        return self._substitutions(node)

    def _other_word(self, node: Node) -> Word:
        """Words of `export` and `unset`, which the grammar does not see as such."""
        text = self._text(node)
        plain = re.fullmatch(r"[\w./=:-]+", text)
        if node.is_named and node.type not in ("variable_name", "variable_assignment"):
            self._note(f"what {node.type.replace('_', ' ')} means is not followed")
        elif node.type == "variable_assignment":
            self._name_of(node)
        return Word(text=text if plain else None, source=text)

    def _with_inner(self, words: tuple[Word, ...], names: tuple[str, ...], source: str) -> Command:
        hides = hiding(words, names, source)
        if hides is not None and words[0].text in OF_SHELL:
            self._note(hides.why)
        command = Command(
            words=words,
            assignments=names,
            source=source,
            hidden=None if hides is None else hides.why,
            hidden_at=0 if hides is None else hides.at,
        )
        if words[0].text is None or not words[0].text:
            self._note(f"the command {words[0].source} is known to the shell only")
            return command
        options = any((word.text or "-").startswith("-") for word in words[1:])
        if options and words[0].text in ("declare", "local", "typeset"):
            self._note(f"{words[0].text} can give a variable powers")
        self._note(worked_out(words))
        if words[0].text == "time" and len(words) > 1 and words[1].source in _RESERVED:
            self._note("time in front of a group")
        found = carried(words) if self.depth <= _MAX_DEPTH else None
        if words[0].text == "time" and found is None and any("=" in w.source for w in words):
            self._note("time in front of an assignment alone sets it for what follows")
        return command if found is None else self._carrying(command, found)

    def _carrying(self, command: Command, found: Carried) -> Command:
        inner = [
            self._deeper()._taken(self, words, found.assignments if at == 0 else ())
            for at, words in enumerate(found.commands)
        ]
        for line in found.lines:
            inside = _read(line, self.depth + 1)
            inner += inside.commands
            self.files += inside.files
            if found.opaque is None:
                self._note(inside.doubt)
            self.altered = self.altered or inside.altered
            self.hidden = self.hidden or inside.hidden
        if found.hides:
            self._note(found.opaque)
        return evolve(
            command,
            inner=tuple(inner),
            opaque=found.opaque,
            transparent=found.transparent,
            reach=found.reach,
        )

    def _deeper(self) -> _Walk:
        return _Walk(self.source, self.depth + 1)

    def _taken(self, outer: _Walk, words: tuple[Word, ...], names: tuple[str, ...]) -> Command:
        """An inner command, its doubts and files handed to the walk outside."""
        source = " ".join(word.source for word in words)
        command = self._with_inner(words, names, source)
        outer.files += self.files
        outer._note(self.doubt)
        outer.altered = outer.altered or self.altered
        outer.hidden = outer.hidden or self.hidden
        return command

    # --- what stands beside commands ---------------------------------------------------------

    def _redirect(self, node: Node) -> None:
        sign = next((child.type for child in node.children if not child.is_named), "")
        for child in node.children:
            if child.type == "file_descriptor":
                before = self.source[child.start_byte - 1 : child.start_byte] or b" "
                number = self._text(child).isdigit() and before in b" \t\n;&|()"
                self._note(None if number else "a number that is the end of a word")
        targets = node.in_role("destination")
        if len(targets) != 1:
            # `2>&-` closes, and has none; of several the others are words of the command.
            closes = not targets and self._text(node).endswith("-")
            self._note(None if closes else "a redirection with words behind it")
        for target in targets:
            word = self._word(target)
            if target.type == "process_substitution":
                continue
            if sign in (">&", "<&") and re.fullmatch(r"\d+|-", word.text or ""):
                continue  # another descriptor, no file
            if sign in (">&", "<&"):  # `>&-a` closes one, and `a` is a word of the command
                self._note("a redirection to what may be a descriptor")
            self.files.append(File(word=word, writes=sign not in ("<", "<&")))

    def _here_document(self, node: Node) -> None:
        self._note(checks.here_document(node, self.source))
        body = next((child for child in node.children if child.type == "heredoc_body"), None)
        begun = next((child for child in node.children if child.type == "heredoc_start"), None)
        if any(child.type in WORDS for child in node.children):
            self._note("words of the command behind a here-document")
        quoted = begun is not None and self._text(begun)[:1] in "'\"\\"
        if body is not None and not quoted:
            self._note(checks.here_text(body, self.source))

    def _assignment(self, node: Node) -> None:
        name = self._name_of(node)
        self._assigned(name)
        if sets_runner(self._text(node)):
            self.hidden = self.hidden or f"{name} can hold commands"

    def _name_of(self, node: Node) -> str:
        self._note(checks.tiled(node, self.source))
        name = node.one_in_role("name")
        value = node.one_in_role("value")
        if name is None or name.type != "variable_name":
            self._note("an index is arithmetic, and can hold commands")
        if value is not None and value.type in WORDS:
            self._note(resolved(value, self.source).doubt)
        elif value is not None:
            self._note("an array")
        return self._text(name)

    def _assigned(self, name: str) -> None:
        own = _OWN_NAMES.fullmatch(name) or SAFE_NAMES.fullmatch(name)
        if not own and self.altered is None:
            self.altered = f"it sets {name}"

    def _word(self, node: Node) -> Word:
        found = resolved(node, self.source)
        self._note(found.doubt)
        return found.word

    def _substitutions(self, node: Node) -> list[Node]:
        """The commands inside a word."""
        found: list[Node] = []
        waiting = [node]
        while waiting:
            each = waiting.pop()
            if each.type in SUBSTITUTIONS:
                found.append(each)
                if self.source[each.start_byte : each.start_byte + 1] == b"`":
                    inside = self.source[each.start_byte + 1 : each.end_byte - 1]
                    self._note("a backslash in backquotes" if b"\\" in inside else None)
            else:
                waiting += each.children
        return found[::-1]

    def _inside(self, node: Node) -> list[Node]:
        return [child for child in node.children if child.is_named]

    def _text(self, node: Node | None) -> str:
        if node is None:
            return ""
        return self.source[node.start_byte : node.end_byte].decode(errors="replace")

    def _note(self, doubt: str | None) -> None:
        self.doubt = self.doubt or doubt


def _alters(command: Command) -> bool:
    if command.name is None or not _ALTERS.fullmatch(command.name):
        return False
    if command.name == "set":
        return not all(_HARMLESS_SET.fullmatch(word.text or "") for word in command.words[1:])
    if command.name == "printf":
        return len(command.words) > 1 and (command.words[1].text or "-v").startswith("-v")
    return True
