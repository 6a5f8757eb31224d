"""`interlock agents`: the agent types of this folder, and where each comes from."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import orjson

from interlock.agents.catalogue import Catalogue
from interlock.agents.definition import INHERIT, AgentDefinition
from interlock.agents.files import found, from_json
from interlock.cli.flags import Parser, add_plugins, decoded
from interlock.cli.headless import plugins_of
from interlock.cli.main import complain
from interlock.cli.place import insist_on_stdout
from interlock.configuration import Flags, load, sources_of
from interlock.configured import configured
from interlock.counted import counted
from interlock.home import home_of
from interlock.options import Options
from interlock.permissions.explain import judge_of
from interlock.plugged import ORIGIN
from interlock.remote.token import VARIABLE
from interlock.tools import names

_WIDTH = 100


def run(argv: Sequence[str]) -> int:
    """Print the list. The exit code says whether all files could be used."""
    parser = Parser(prog="interlock agents", allow_abbrev=False)
    parser.add_argument("--agents", metavar="JSON|@FILE", help="as a run takes it")
    add_plugins(parser)
    parser.add_argument("--json", action="store_true", help="for programs")
    asked = parser.parse_args([decoded(each) for each in argv])
    insist_on_stdout()
    cwd, flags = Path.cwd().resolve(), Flags(sources=sources_of(None))
    asking = Options(cwd=cwd, plugins=plugins_of(asked.plugin_dir))
    options = configured(asking, flags, os.environ, key=False).options
    withheld = judge_of(options).withholds
    files = found(cwd, home_of(os.environ), withheld=withheld)
    given = from_json(asked.agents) if asked.agents else ()
    shipped = (one for one in options.agents if one.origin.startswith(ORIGIN))
    broken = () if options.plugins is None else options.plugins.problems
    types = Catalogue.of((*shipped, *files.types.values(), *given)).types.values()
    if asked.json:
        print(orjson.dumps([_object(one) for one in types]).decode())
    else:
        print("\n".join([*(line for one in types for line in _lines(one)), *_remotes()]))
    for line in (*(one.line for one in broken), *files.warnings, *files.notes):
        complain(line)
    return 1 if files.warnings or broken else 0


def _remotes() -> Iterator[str]:
    """The other machines that settings name, each with the word that a call has for it."""
    flags = Flags(sources=sources_of(None))
    set_up = load(Path.cwd().resolve(), home_of(os.environ), flags=flags, environ=os.environ)
    for name, place in set_up.remotes.items():
        yield f"isolation remote:{name}  ({place.origin})"
        yield f"  {place.value.url}, its token in {place.value.token_env or VARIABLE}"


def _lines(one: AgentDefinition) -> list[str]:
    facts = [f"model {one.model}" if one.model != INHERIT else "its parent's model"]
    if one.permission_mode is not None:
        facts.append(f"mode {one.permission_mode}")
    if one.effort is not None:
        facts.append(f"effort {one.effort}")
    if one.hooks:
        facts.append(f"hooks {', '.join(one.hooks)}")
    if one.skills:
        facts.append(f"skills {', '.join(one.skills)}")
    if one.memory is not None:
        facts.append(f"memory {one.memory}")
    if one.max_turns is not None:
        facts.append(f"{counted(one.max_turns, 'turn')} at most")
    if one.background:
        facts.append("in the background")
    if one.isolation is not None:
        facts.append(f"isolation {one.isolation}")
    tools = "its parent's" if one.tools is None else ", ".join(one.tools) or "none"
    if one.disallowed_tools:
        tools += f", without {', '.join(one.disallowed_tools)}"
    strange = _strange(one)
    if strange:
        tools += f" (not here: {', '.join(strange)})"
    return [
        f"{one.name}  ({one.origin})",
        f"  {_short(one.description)}",
        f"  tools: {tools}; {', '.join(facts)}",
    ]


def _strange(one: AgentDefinition) -> list[str]:
    """Tools that are not built in; a server's are not known before it runs."""
    return [name for name in one.tools or () if name not in names() and name[:5] != "mcp__"]


def _object(one: AgentDefinition) -> dict[str, object]:
    return {
        "name": one.name,
        "description": one.description,
        "tools": one.tools,
        "disallowedTools": one.disallowed_tools,
        "model": one.model,
        "permissionMode": one.permission_mode,
        "maxTurns": one.max_turns,
        "background": one.background,
        "isolation": one.isolation,
        "skills": one.skills,
        "memory": one.memory,
        "effort": one.effort,
        "hooks": one.hooks,
        "origin": one.origin,
    }


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _WIDTH else f"{flat[: _WIDTH - 1]}…"
