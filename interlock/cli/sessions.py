"""`interlock sessions`: the sessions that lie on disk: list, tree, show, rename, delete, clean.

Looks at files and talks to no model. Whoever is to be gone on with is named as for `--resume`; an
id, or its beginning, may also be of a session of another folder.
"""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import orjson

from interlock.cli import cleaning, session_list, session_tree
from interlock.cli.flags import Parser, decoded
from interlock.cli.place import insist_on_stdout
from interlock.errors import UsageError
from interlock.home import home_of
from interlock.sessions import (
    Listed,
    all_sessions,
    delete,
    kin_of,
    read,
    rename,
    session_anywhere,
    sessions_in,
    tree_of,
)
from interlock.sessions.ends import one_line
from interlock.visible import visible
from phases.world.messages import Kind, Message

_WORDS = 72  # characters of a message


def run(argv: Sequence[str]) -> int:
    """Run one of the commands. Raises InterlockError."""
    given = [decoded(each) for each in argv]
    name = given[0] if given and given[0] in _COMMANDS else ""
    prepare, work = _COMMANDS[name]
    parser = Parser(
        prog=f"interlock sessions {name}".strip(),
        description=_HELP,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    prepare(parser)
    parser.add_argument("--cwd", metavar="DIR", help="the working folder; default: this one")
    asked = parser.parse_args(given[1:] if name else given)
    insist_on_stdout()
    asked.home, asked.cwd = home_of(os.environ), Path(asked.cwd or Path.cwd()).absolute()
    work(asked)
    return 0


def _list_flags(parser: Parser) -> None:
    parser.add_argument("--all", action="store_true", help="of every folder")
    parser.add_argument("--json", action="store_true", help="for programs")


def _list(asked: Namespace) -> None:
    found = list(all_sessions(asked.home) if asked.all else sessions_in(asked.home, asked.cwd))
    if asked.json:
        _print_json([session_list.facts_json(one) for one in found])
    elif found:
        for line in session_list.lines(found, time.time(), folders=asked.all):
            print(line)
    else:
        print("no sessions" + ("" if asked.all else " in this folder; --all lists every folder's"))


def _tree_flags(parser: Parser) -> None:
    parser.add_argument("session", metavar="SESSION", nargs="?", help="only it and its kin")
    parser.add_argument("--json", action="store_true", help="for programs")


def _tree(asked: Namespace) -> None:
    if asked.session is None:
        wanted = list(sessions_in(asked.home, asked.cwd))
    else:
        one = _named(asked)
        beside = list(all_sessions(asked.home))
        wanted = kin_of([s for s in beside if s.path.parent == one.path.parent], one)
    nodes = tree_of(wanted)
    if asked.json:
        _print_json([session_tree.as_json(node) for node in nodes])
        return
    for line in session_tree.lines(nodes, time.time()):
        print(line)
    if not nodes:
        print("no sessions in this folder")


def _show_flags(parser: Parser) -> None:
    parser.add_argument("session", metavar="SESSION")
    parser.add_argument("--json", action="store_true", help="for programs")


def _show(asked: Namespace) -> None:
    one = _named(asked)
    messages = [each for each in read(one.path).messages if each.kind in _SAID]
    if asked.json:
        told = [{"id": each.id, "kind": each.kind.value, "text": each.text} for each in messages]
        _print_json(session_list.facts_json(one) | {"messages": told})
        return
    facts = session_list.facts_json(one) | {"size": session_list.size_of(one.size)}
    for name, value in facts.items():
        if value is not None:
            print(visible(f"{name:<12}{one_line(str(value), 400)}"))
    print()
    for each in messages:
        print(visible(f"{each.id}  {_SAID[each.kind]:<7}  {one_line(_words(each), _WORDS)}"))


def _rename_flags(parser: Parser) -> None:
    parser.add_argument("session", metavar="SESSION")
    parser.add_argument("name", metavar="NAME", nargs="+")


def _rename(asked: Namespace) -> None:
    one = _named(asked)
    name = rename(one.path, " ".join(asked.name))
    print(visible(f"{one.session_id} is now called: {name}"))


def _delete_flags(parser: Parser) -> None:
    parser.add_argument("session", metavar="SESSION")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def _delete(asked: Namespace) -> None:
    one = _named(asked)
    if not asked.yes and not _agreed(asked.home, one):
        print("nothing was deleted")
        return
    delete(one.path)
    print(visible(f"deleted: {one}"))


def _agreed(home: Path, one: Listed) -> bool:
    if not (os.isatty(0) and os.isatty(1)):
        raise UsageError(f"to delete {one} without being asked, say --yes")
    print(visible(f"{one}: {session_list.summed_up(one, time.time())}"))
    branches = sum(each.forked_from == one.session_id for each in all_sessions(home))
    if branches:
        print(
            f"{branches} of the other sessions began as a branch of it; they keep their history,"
        )
        print("but not the long results that lie in its folder")
    print("  delete it for good? y, or anything else to keep it > ", end="", flush=True)
    return sys.stdin.readline().strip().casefold() in ("y", "yes")


def _named(asked: Namespace) -> Listed:
    return session_anywhere(asked.home, asked.cwd, asked.session)


def _words(message: Message) -> str:
    calls = ", ".join(call.name for call in message.calls)
    return " ".join([message.text, f"[{calls}]" if calls else ""])


def _print_json(data: object) -> None:
    print(orjson.dumps(data, option=orjson.OPT_INDENT_2).decode())


_SAID: Mapping[Kind, str] = {Kind.PROMPT: "you", Kind.REPLY: "agent", Kind.SUMMARY: "summary"}
_HELP = """\
interlock sessions [--all] [--json]          those of this folder, the newest first;
interlock sessions tree [SESSION] [--json]   what branched off from what, and where;
interlock sessions show SESSION [--json]     one, with its messages and their ids;
interlock sessions rename SESSION NAME;
interlock sessions delete SESSION [--yes];
interlock sessions clean [--days N] [--dry-run] [--yes]   old ones, of every folder"""
_COMMANDS: Mapping[str, tuple[Callable[[Parser], None], Callable[[Namespace], None]]] = {
    "": (_list_flags, _list),
    "tree": (_tree_flags, _tree),
    "show": (_show_flags, _show),
    "rename": (_rename_flags, _rename),
    "delete": (_delete_flags, _delete),
    "clean": (cleaning.flags, cleaning.run),
}
