"""The slash commands of the session at a terminal: read by the program, never by the model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from difflib import get_close_matches
from enum import StrEnum

from attrs import frozen

from interlock.agent import Agent
from interlock.cli import memory, origin, picking, taking_back
from interlock.context.gauge import render
from interlock.errors import SessionBusy, SessionNotFound, TranscriptError
from interlock.inbox import Mode
from interlock.mcp import UnknownServer
from interlock.options import PermissionMode, Resume
from interlock.sessions import Listed, insist_on_usable, read, rename, session_named
from interlock.tools import Person
from interlock.visible import visible
from phases.world.updates import Show

_FORK = "--fork"
_WIDTH = 80  # characters of what is said about a command


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
    go_to: Callable[[Resume], None]  # told the session that goes on next
    person: Person  # who answers what a command must ask


@frozen(kw_only=True)
class Command:
    """A command; `at_once` ones only look, and run while the agent works."""

    name: str
    help: str
    run: Callable[[Place, str], Awaitable[End | None]]
    argument: str = ""
    at_once: bool = False
    anywhere: bool = True  # also where nobody sits at a terminal (`unattended`)


async def _compact(place: Place, focus: str) -> None:
    problem = await place.agent.compact(place.show, focus or None)
    place.say("the conversation is summarised" if problem is None else f"! {problem}")


async def _context(place: Place, _: str) -> None:
    place.say(render(place.agent.filling()))
    front = (f"{name} {tokens:,}" for name, tokens in place.agent.knowledge.front.items())
    place.say(f"before the conversation, in this order: {', '.join(front)}")


async def _cost(place: Place, _: str) -> None:
    spent = place.agent.spent
    came_from = tuple(origin.lines(place.agent.paths))
    for line in came_from:
        place.say(line)
    for model, use in spent.items():
        usage = use.usage
        cost = "price not known" if use.cost is None else f"${use.cost:.4f}"
        place.say(
            f"{model}: {cost}; {usage.input_tokens:,} tokens in, {usage.output_tokens:,} out, "
            f"{usage.cache_read_input_tokens:,} from the cache, "
            f"{usage.cache_creation_input_tokens:,} into it"
        )
    if not spent:
        own = "this branch has asked nothing yet: its own cost begins at zero"
        place.say(own if came_from else "nothing was asked yet")


async def _memory(place: Place, _: str) -> None:
    for line in memory.told(place.agent.knowledge.notes, place.agent.knowledge.memory):
        place.say(line)


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
    waiting = [one for one in place.agent.waiting.messages if one.mode is not Mode.NEWS]
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


async def _resume(place: Place, argument: str) -> End | None:
    home, cwd = place.agent.paths.home, place.agent.cwd
    words = argument.split()
    fork = _FORK in words
    name = " ".join(word for word in words if word != _FORK)
    if not name:
        for one in picking.newest(home, cwd):
            place.say(f"{one.session_id[:8]}  {visible(one.title)}")
        place.say("/resume with an id, its beginning, or a part of the title goes on with one")
        return None
    found = session_named(home, cwd, name)
    if found.session_id == place.agent.session_id and not fork:
        place.say("! that is this session")
        return None
    # This session must not end for one that cannot begin.
    if fork:
        read(found.path)
    else:
        _insist_on_usable(found, name)
    going = Resume(session=found.session_id, fork=fork, over_model=True, over_mode=True)
    place.go_to(going)
    return End.RESUME


async def _rewind(place: Place, name: str) -> None:
    agent = place.agent
    desk = taking_back.Desk(
        paths=agent.paths,
        cwd=agent.cwd,
        person=place.person,
        say=place.say,
        warn=lambda line: place.say(f"! {line}"),
        older="/rewind takes their numbers and words, too",
        undo="/rewind",
        name=name or None,
    )
    agreed = await desk.agreed()
    if agreed is None:
        place.say("nothing was changed")
        return
    desk.tell(agreed, await agent.rewind(agreed, place.show))


def _insist_on_usable(found: Listed, name: str) -> None:
    try:
        insist_on_usable(found.path)
    except TranscriptError as error:
        branch = (
            f"; a branch of it: /resume {name} {_FORK}" if isinstance(error, SessionBusy) else ""
        )
        raise SessionNotFound(f"{error}{branch}") from error


async def _rename(place: Place, name: str) -> None:
    path = place.agent.paths.transcript
    if not path.exists():
        place.say("! nothing was said yet: a session can be named after its first prompt")
        return
    if not name:
        place.say("! /rename NAME gives this session a name, which lists show and /resume takes")
        return
    place.say(f"this session is now called: {rename(path, name)}")


async def _leave(place: Place, _: str) -> End:
    return End.LEAVE


async def _help(place: Place, _: str) -> None:
    width = max(len(f"{each.name} {each.argument}") for each in COMMANDS.values())
    for each in COMMANDS.values():
        place.say(f"/{f'{each.name} {each.argument}':<{width}}  {each.help}")
    for name, one in sorted(place.agent.knowledge.instructing.commands().items()):
        if name not in COMMANDS:
            called = f"{name} {one.argument_hint}".rstrip()
            place.say(f"/{called:<{width}}  {one.description[:_WIDTH]} ({one.origin})")
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
        Command(name="memory", help="which notes the model is told", run=_memory, at_once=True),
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
            name="resume",
            argument=f"[ID|TITLE] [{_FORK}]",
            help="go on with an earlier session, or in a branch of it",
            run=_resume,
            anywhere=False,
        ),
        Command(
            name="rewind",
            argument="[N|WORDS]",
            help="go back to before a prompt: conversation, files or both",
            run=_rewind,
            anywhere=False,
        ),
        Command(name="rename", argument="NAME", help="give this session a name", run=_rename),
        Command(name="clear", help="begin another session", run=_clear, anywhere=False),
        Command(name="exit", help="leave", run=_leave, at_once=True, anywhere=False),
    )
}


def offered(agent: Agent) -> dict[str, str]:
    """Every command's name, with a line about it."""
    written = agent.knowledge.instructing.commands()
    of_files = {name: one.description for name, one in written.items()}
    return of_files | {name: one.help for name, one in COMMANDS.items()}


def find(line: str) -> Command | None:
    """The command that a line gives, or None."""
    word = line.strip().partition(" ")[0]
    return COMMANDS.get(word[1:]) if word.startswith("/") else None


def unknown(line: str, further: Iterable[str] = ()) -> str:
    """What to say of a command that is none; `further` are the names beside our own."""
    word = line.strip().partition(" ")[0]
    near = get_close_matches(word[1:], [*COMMANDS, *further], n=1)
    return f"! no command {word}; " + (f"did you mean /{near[0]}?" if near else "see /help")
