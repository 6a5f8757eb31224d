"""`interlock mcp list|get|add|remove|login|logout|serve`: which servers there are, changing that.

`list` and `get` start the servers that may be started, to tell how they are; files are changed
with all their formatting kept. `serve` is the other way round: our tools, for other programs.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import anyio
import orjson

from interlock.cli.flags import Parser, decoded
from interlock.cli.main import complain
from interlock.configuration import Flags, sources_of
from interlock.configuration.files import SettingsFile, project_folders
from interlock.configuration.members import holds, put, take
from interlock.configured import Configured, configured
from interlock.counted import counted
from interlock.errors import UsageError
from interlock.home import home_of
from interlock.joining import told_of
from interlock.mcp import BadDefinition, Scope, Status, parsed
from interlock.mcp.consent import told
from interlock.mcp_files import own_file, project_file
from interlock.options import Options
from phases.world.messages import Json

_SCOPES = ("local", "project", "user")  # the first that has a name counts
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_ADD = "interlock mcp add NAME [flags] -- COMMAND [ARG...]  or  NAME -t http URL"
_MARKS = {"connected": "✓", "pending": "…", "failed": "✗", "needs-auth": "!", "disabled": "-"}


def run(arguments: Sequence[str]) -> int:
    """Run one of the commands; its exit code. Raises InterlockError."""
    given = [decoded(each) for each in arguments]
    dashes = given.index("--") if "--" in given else len(given)
    asked = _asked(given[:dashes])
    command: tuple[str, ...] = tuple(given[dashes + 1 :])
    match asked.command:
        case "list":
            return _list(asked)
        case "get":
            return _get(asked)
        case "add":
            return _add(asked, command)
        case "remove":
            return _remove(asked)
        case "login" | "logout":
            from interlock.cli import mcp_login

            given_up = asked.command == "logout"
            return (mcp_login.logout if given_up else mcp_login.login)(asked.name, _found())
        case "serve":
            from interlock.serving import serve

            return serve(_found())
    raise UsageError("interlock mcp list, get, add, remove, login, logout or serve (--help)")


def _asked(words: list[str]) -> argparse.Namespace:
    if words[:1] != ["add"]:
        return _parser().parse_args(words)
    # Flags may stand between the name and the address, which plain parsing takes for none.
    adding = Parser(prog="interlock mcp add", usage=_ADD)
    _taking(adding)
    try:
        return adding.parse_intermixed_args(words[1:], argparse.Namespace(command="add"))
    except UsageError as error:
        if "unrecognized arguments" not in str(error):
            raise
        raise UsageError(f"{error}: a command with flags stands behind a --: {_ADD}") from None


def _taking(add: argparse.ArgumentParser) -> None:
    add.add_argument("name")
    add.add_argument("url", nargs="?", help="of a server that is spoken to over HTTP")
    add.add_argument("-s", "--scope", choices=_SCOPES, default="local", help="default: local")
    add.add_argument("-t", "--transport", choices=("stdio", "http", "sse"))
    add.add_argument("-e", "--env", action="append", metavar="NAME=VALUE", default=[])
    add.add_argument("-H", "--header", action="append", metavar="'Name: value'", default=[])


def _parser() -> Parser:
    parser = Parser(prog="interlock mcp", description="MCP servers: other people's tools.")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    add = commands.add_parser("list", help="all servers, and how they are")
    add.add_argument("--json", action="store_true", help="for programs")
    add = commands.add_parser("get", help="one server, with its tools")
    add.add_argument("name")
    _taking(commands.add_parser("add", help="write a server down", usage=_ADD))
    add = commands.add_parser("remove", help="take a server out of its file")
    add.add_argument("name")
    add.add_argument("-s", "--scope", choices=_SCOPES, help="default: wherever it stands")
    add = commands.add_parser("login", help="log in at a server that wants to know who you are")
    add.add_argument("name")
    add = commands.add_parser("logout", help="forget what a login gave")
    add.add_argument("name")
    commands.add_parser("serve", help="offer our own tools to another program, on stdio")
    return parser


def _found() -> Configured:
    return configured(Options(), Flags(sources=sources_of(None)), os.environ, key=False)


# --- looking ----------------------------------------------------------------------------------


def _list(asked: argparse.Namespace) -> int:
    found = _found()
    for warning in found.configuration.warnings:
        complain(warning)
    statuses = anyio.run(told_of, found.options, found.settings)
    if asked.json:
        sys.stdout.write(orjson.dumps([one.wire() for one in statuses]).decode() + "\n")
        return 0
    if not statuses:
        print("no MCP servers; interlock mcp add writes one down")
    how = _reached(found)
    for one in statuses:
        print(_line(one, how.get(one.name, "")))
    return 0


def _get(asked: argparse.Namespace) -> int:
    found = _found()
    statuses = anyio.run(told_of, found.options, found.settings)
    one = next((each for each in statuses if each.name == asked.name), None)
    if one is None:
        known = ", ".join(each.name for each in statuses) or "none"
        raise UsageError(f"no MCP server {asked.name}; there are: {known}")
    print(_line(one, _reached(found).get(one.name, "")))
    if one.info:
        print(f"  {one.info}, protocol {one.protocol}")
    for sent, own in one.tools:
        print(f"  {sent}" + ("" if sent.endswith(f"__{own}") else f"  ({own!r})"))
    return 0


def _reached(found: Configured) -> Mapping[str, str]:
    given = found.options.mcp
    if given is None:
        return {}
    waiting = [one.definition for one in given.unstarted if one.definition is not None]
    return {one.name: told(one) for one in (*given.definitions, *waiting)}


def _line(one: Status, how: str) -> str:
    count = f", {counted(len(one.tools), 'tool')}" if one.status == "connected" else ""
    why = f": {' '.join(one.error.split())}" if one.error else ""
    reached = f"  {how}" if how else ""
    return f"{_MARKS[one.status]} {one.name} ({one.scope}){reached}  {one.status}{count}{why}"


# --- changing ---------------------------------------------------------------------------------


def _add(asked: argparse.Namespace, command: tuple[str, ...]) -> int:
    if not _NAME.fullmatch(asked.name):
        raise UsageError(
            f"{asked.name!r} is no name for a server: write it with letters, digits, - and _"
        )
    raw = _raw(asked, command)
    try:
        # What is not set here may be set where it is used: only the form is looked at.
        parsed(asked.name, raw, scope=Scope.FLAGS, environ=_Anything())
    except BadDefinition as error:
        raise UsageError(f"the server {asked.name} {error}") from error
    file, way = _place(asked.scope, asked.name)
    if holds(file, way):
        raise UsageError(
            f"{asked.name} is in {file.shown} ({asked.scope}) already: interlock mcp remove "
            f"{asked.name} -s {asked.scope} takes it out, or choose another name"
        )
    put(file, way, raw)
    print(f"{asked.name} is in {file.shown} ({asked.scope})")
    for scope in _SCOPES[: _SCOPES.index(asked.scope)]:
        nearer, way = _place(scope, asked.name)
        if holds(nearer, way):
            complain(f"in this project {asked.name} of {nearer.shown} ({scope}) goes before it")
    if asked.scope == "project":
        complain(
            "servers of a project are started after a yes to each: start interlock to be asked"
        )
    return 0


def _raw(asked: argparse.Namespace, command: tuple[str, ...]) -> dict[str, Json]:
    transport = asked.transport or ("http" if asked.url and not command else "stdio")
    url = asked.url
    if transport != "stdio" and url is None and len(command) == 1:
        url, command = command[0], ()
    if transport == "stdio":
        words = (*([asked.url] if asked.url else []), *command)
        if not words:
            raise UsageError("no command: interlock mcp add NAME -- COMMAND [ARG...]")
        if asked.header:
            raise UsageError("--header is for servers over HTTP: add --transport http and a URL")
        raw: dict[str, Json] = {"type": "stdio", "command": words[0], "args": list(words[1:])}
        if asked.env:
            raw["env"] = dict(_pair(each, "=", "--env NAME=VALUE") for each in asked.env)
        return raw
    if url is None or command:
        raise UsageError(f"--transport {transport} wants a URL and no command")
    if asked.env:
        raise UsageError("--env is for servers that are started: give a command behind --")
    raw = {"type": transport, "url": url}
    if asked.header:
        raw["headers"] = dict(_pair(each, ":", "--header 'Name: value'") for each in asked.header)
    return raw


def _pair(text: str, mark: str, like: str) -> tuple[str, str]:
    name, found, value = text.partition(mark)
    if not found or not name.strip():
        raise UsageError(f"{text!r} is not like {like}")
    return name.strip(), value.strip() if mark == ":" else value


def _remove(asked: argparse.Namespace) -> int:
    scopes = [asked.scope] if asked.scope else _SCOPES
    for scope in scopes:
        file, way = _place(scope, asked.name)
        if take(file, way):
            print(f"{asked.name} is no more in {file.shown} ({scope})")
            return 0
    where = f"in the scope {asked.scope}" if asked.scope else "in any file that is written to"
    raise UsageError(f"no MCP server {asked.name} {where}")


def _place(scope: str, name: str) -> tuple[SettingsFile, tuple[str, ...]]:
    home, root = home_of(os.environ), project_folders(Path.cwd(), os.environ)[-1]
    match scope:
        case "project":
            return project_file(root), ("mcpServers", name)
        case "user":
            return own_file(home), ("mcpServers", name)
    return own_file(home), ("projects", str(root), "mcpServers", name)


class _Anything(dict[str, str]):
    """An environment in which every variable is set."""

    def get(self, name: str, otherwise: object = None) -> str:
        return "x"
