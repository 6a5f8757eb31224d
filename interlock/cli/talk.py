"""A session at the terminal, from its flags to its exit code: `interlock` without `-p`."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from contextlib import AsyncExitStack
from pathlib import Path

from attrs import evolve, frozen

from interlock.agent import Agent
from interlock.assembly import open_agent
from interlock.cli.choosing import person_or_nobody
from interlock.cli.commands import End, offered
from interlock.cli.completing import Completing
from interlock.cli.headless import flags_of, options_of
from interlock.cli.interactive import Interactive
from interlock.cli.logs import configure
from interlock.cli.main import complain
from interlock.cli.picking import newest, picked
from interlock.cli.render import Live
from interlock.cli.signals import Signals
from interlock.cli.terminal import Suspending, SuspendingPerson, TerminalKeys
from interlock.configured import configured
from interlock.errors import InterlockError, SeveralSessions, UsageError
from interlock.home import home_of
from interlock.housekeeping import Housekeeping
from interlock.interrupt import InterruptSignal
from interlock.mcp.mentions import Mentions
from interlock.options import Options, Resume
from interlock.permissions import BadRule, terminal_or_nobody
from interlock.sessions import session_named, sessions_in
from interlock.settings import Settings


def run(asked: argparse.Namespace) -> int:
    """Talk until the person leaves; the exit code. Raises InterlockError."""
    signals = Signals()
    options = options_of(asked)
    if options.resume is not None and options.resume.session is not None:
        named = _meant(options.resume.session, options.cwd)
        options = evolve(options, resume=evolve(options.resume, session=named))
    found = configured(options, flags_of(asked), os.environ)
    for warning in found.configuration.warnings:
        complain(warning)
    os.environ.update(found.options.environment)
    configure(debug=asked.debug or found.settings.debug)
    try:
        with Housekeeping.of(found.settings, tell=complain) as keeping:
            talk = _talk(found.options, found.settings, asked.prompt, signals, keeping)
            asyncio.run(talk)
    except BadRule as error:
        raise UsageError(str(error)) from error
    signals.settled()
    return signals.code or 0


def _meant(name: str, cwd: Path) -> str:
    """The session that is meant; where that is not clear the person picks one."""
    home = home_of(os.environ)
    if not name:
        return picked(newest(home, cwd))
    try:
        return session_named(home, cwd, name).session_id
    except SeveralSessions as several:
        fitting = (one for one in sessions_in(home, cwd) if one.session_id in several.session_ids)
        return picked(tuple(fitting))


@frozen(kw_only=True)
class _Over:
    """How a session at the terminal ended."""

    end: End
    next: Resume | None = None  # the session that goes on
    unread: tuple[str, ...]  # what was typed and nobody has read
    again: Resume | None = None  # itself, if there is anything in it to go on with
    problem: InterlockError | None = None  # why it never began


async def _talk(
    options: Options,
    settings: Settings,
    first: str | None,
    signals: Signals,
    keeping: Housekeeping,
) -> None:
    source = "startup" if options.resume is None else "resume"
    lines: tuple[str, ...] = () if first is None else (first,)
    back: Options | None = None  # to the session that was left for another
    while True:
        over = await _session(options, settings, lines, signals, source, keeping)
        if over.problem is not None:
            if back is None:
                raise over.problem
            # It could begin a moment ago, or the other had not been left for it.
            complain(f"{over.problem}; back to the session before")
            options, back = back, None
            continue
        if over.end is End.LEAVE:
            return
        options = evolve(options, session_id=None, resume=None)
        back = None if over.next is None else evolve(options, resume=over.again)
        options = evolve(options, resume=over.next)
        source, lines = over.end.value, over.unread


@frozen
class _WaysOut:
    """What a signal does to a session at the terminal, and how that is forgotten again."""

    agent: Agent
    interrupt: InterruptSignal  # of the questions
    keys: TerminalKeys
    signals: Signals

    def stop(self) -> None:
        """A signal, not a key: also the keys' Ctrl-C while a question stands there."""
        self.interrupt.request()
        self.agent.interrupt()
        if self.signals.code != 130:
            self.keys.leave()

    def fresh(self) -> None:
        self.interrupt.reset()
        self.signals.forget()


def _completing(agent: Agent) -> Completing:
    mentions = Mentions(agent.servers.by_name.values)
    return Completing(lambda: offered(agent), agent.cwd, lambda: dict(mentions.offered()))


async def _session(
    options: Options,
    settings: Settings,
    first: tuple[str, ...],
    signals: Signals,
    source: str,
    keeping: Housekeeping,
) -> _Over:
    interrupt = InterruptSignal()
    keys = TerminalKeys(history=settings.home / "history")
    asker = Suspending(terminal_or_nobody(interrupt))
    person = SuspendingPerson(person_or_nobody(interrupt))
    async with AsyncExitStack() as stack:
        opened = open_agent(options, settings, asker=asker, person=person)
        try:
            agent = await stack.enter_async_context(opened)
        except InterlockError as problem:
            return _Over(end=End.LEAVE, unread=first, problem=problem)
        agent.begin_anew(source)
        keys.completer = _completing(agent)
        ways_out = _WaysOut(agent, interrupt, keys, signals)
        signals.install()
        signals.attach(asyncio.get_running_loop(), ways_out.stop)
        keys.say(f"{agent.model} in {agent.cwd}; /help lists the commands")
        live = Live(write=keys.write)
        agent.introduce(live.show)
        agent.idle_show = live.show
        session = Interactive(
            agent=agent,
            keys=keys,
            live=live,
            person=person,
            fresh=ways_out.fresh,
            watching=keeping.watching,
        )
        end = await session.run(first)
        agent.end_as("prompt_input_exit" if end is End.LEAVE else end.value)
        unread = session.unread
        if unread and end is End.LEAVE:
            complain(f"nobody has read: {' / '.join(unread)}")
        again = Resume(session=agent.session_id, over_model=True, over_mode=True)
        said = agent.paths.transcript.exists()
    sys.stdout.flush()
    return _Over(end=end, next=session.next_session, unread=unread, again=again if said else None)
