"""The slash commands of the session at a terminal: read by the program, never by the model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from difflib import get_close_matches
from enum import StrEnum

from attrs import frozen

from interlock.agent import Agent
from interlock.cli import picking
from interlock.context.gauge import render
from interlock.errors import SessionNotFound
from interlock.mcp import UnknownServer
from interlock.options import PermissionMode
from interlock.permissions.ask import visible
from interlock.sessions import session_named
from phases.world.updates import Show


class End(StrEnum):
    """Why a session at the terminal ends."""

    LEAVE = "leave"
    CLEAR = "clear"  # another session begins
    RESUME = "resume"  # an earlier one goes on


@frozen(kw_only=True)
class Place:
    """Where a command is given: the session, and the screen."""

    agent: Agent
    say: Callable[[str], None]
    show: Show
    go_to: Callable[[str], None]  # told the session that goes on next


@frozen(kw_only=True)
class Command:
    """A command; `at_once` ones only look, and run while the agent works."""

    name: str
    help: str
    run: Callable[[Place, str], Awaitable[End | None]]
    argument: str = ""
    at_once: bool = False


async def _compact(place: Place, focus: str) -> None:
    problem = await place.agent.compact(place.show, focus or None)
    place.say("the conversation is summarised" if problem is None else f"! {problem}")


async def _context(place: Place, _: str) -> None:
    place.say(render(place.agent.filling()))


async def _cost(place: Place, _: str) -> None:
    spent = place.agent.spent
    for model, use in spent.items():
        usage = use.usage
        cost = "price not known" if use.cost is None else f"${use.cost:.4f}"
        place.say(
            f"{model}: {cost}; {usage.input_tokens:,} tokens in, {usage.output_tokens:,} out, "
            f"{usage.cache_read_input_tokens:,} from the cache, "
            f"{usage.cache_creation_input_tokens:,} into it"
        )
    if not spent:
        place.say("nothing was asked yet")


async def _model(place: Place, name: str) -> None:
    if name:
        place.agent.model = name
    place.say(f"model: {place.agent.model}")


async def _mode(place: Place, name: str) -> None:
    if name and name not in set(PermissionMode):
        place.say(f"! no mode {name}; there are {', '.join(PermissionMode)}")
        return
    if name:
        place.agent.set_permission_mode(PermissionMode(name))
    place.say(f"permission mode: {place.agent.permission_mode}")


async def _queue(place: Place, _: str) -> None:
    waiting = place.agent.waiting.messages
    for queued in waiting:
        place.say(f"- {queued.text}")
    if not waiting:
        place.say("nothing waits")


async def _mcp(place: Place, words: str) -> None:
    verb, _, name = words.partition(" ")
    servers = place.agent.servers
    try:
        match verb:
            case "":
                pass
            case "enable" | "disable":
                await servers.toggle(name.strip(), enabled=verb == "enable")
            case "reconnect":
                await servers.reconnect(name.strip())
            case _:
                place.say("! /mcp, or /mcp enable, disable or reconnect with a server's name")
                return
    except UnknownServer as error:
        place.say(f"! {error}")
        return
    for one in servers.status():
        why = f": {one.error}" if one.error else ""
        place.say(visible(f"{one.name} ({one.scope}) {one.status}{why}"))
        for sent, _own in one.tools:
            place.say(visible(f"  {sent}"))
    if not servers.status():
        place.say("no MCP servers")


async def _clear(place: Place, _: str) -> End:
    return End.CLEAR


async def _resume(place: Place, name: str) -> End | None:
    home, cwd = place.agent.paths.home, place.agent.cwd
    if not name:
        for one in picking.newest(home, cwd):
            place.say(f"{one.session_id[:8]}  {visible(one.title)}")
        place.say("/resume with an id, its beginning, or a part of the title goes on with one")
        return None
    try:
        found = session_named(home, cwd, name)
    except SessionNotFound as error:
        place.say(f"! {error}")
        return None
    if found.session_id == place.agent.session_id:
        place.say("! that is this session")
        return None
    place.go_to(found.session_id)
    return End.RESUME


async def _leave(place: Place, _: str) -> End:
    return End.LEAVE


async def _help(place: Place, _: str) -> None:
    width = max(len(f"{each.name} {each.argument}") for each in COMMANDS.values())
    for each in COMMANDS.values():
        place.say(f"/{f'{each.name} {each.argument}':<{width}}  {each.help}")
    place.say("Ctrl-C stops what runs; Ctrl-D leaves. Lines typed meanwhile are read in between.")


COMMANDS = {
    each.name: each
    for each in (
        Command(name="help", help="this list", run=_help, at_once=True),
        Command(
            name="compact", argument="[FOCUS]", help="summarise the conversation", run=_compact
        ),
        Command(name="context", help="what fills the window", run=_context, at_once=True),
        Command(name="cost", help="what was used of each model", run=_cost, at_once=True),
        Command(name="model", argument="[NAME]", help="the model from the next on", run=_model),
        Command(
            name="mode",
            argument="[MODE]",
            help="what runs unasked, from the next call on",
            run=_mode,
            at_once=True,
        ),
        Command(
            name="mcp",
            argument="[enable|disable|reconnect NAME]",
            help="MCP servers and their tools",
            run=_mcp,
            at_once=True,
        ),
        Command(name="queue", help="what waits to be read", run=_queue, at_once=True),
        Command(
            name="resume", argument="[ID|TITLE]", help="go on with an earlier session", run=_resume
        ),
        Command(name="clear", help="begin another session", run=_clear),
        Command(name="exit", help="leave", run=_leave, at_once=True),
    )
}


def find(line: str) -> Command | None:
    """The command that a line gives, or None."""
    word = line.strip().partition(" ")[0]
    return COMMANDS.get(word[1:]) if word.startswith("/") else None


def unknown(line: str) -> str:
    word = line.strip().partition(" ")[0]
    near = get_close_matches(word[1:], COMMANDS, n=1)
    return f"! no command {word}; " + (f"did you mean /{near[0]}?" if near else "see /help")
