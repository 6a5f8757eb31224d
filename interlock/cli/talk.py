"""A session at the terminal, from its flags to its exit code: `interlock` without `-p`."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys

from attrs import evolve

from interlock.assembly import open_agent
from interlock.cli.choosing import person_or_nobody
from interlock.cli.commands import End, offered
from interlock.cli.completing import Completing
from interlock.cli.headless import flags_of, options_of
from interlock.cli.interactive import Interactive
from interlock.cli.logs import configure
from interlock.cli.main import complain
from interlock.cli.picking import picked
from interlock.cli.render import Live
from interlock.cli.signals import Signals
from interlock.cli.terminal import Suspending, SuspendingPerson, TerminalKeys
from interlock.configured import configured
from interlock.errors import UsageError
from interlock.home import home_of
from interlock.interrupt import InterruptSignal
from interlock.options import Options, Resume
from interlock.permissions import BadRule, terminal_or_nobody
from interlock.settings import Settings


def run(asked: argparse.Namespace) -> int:
    """Talk until the person leaves; the exit code. Raises InterlockError."""
    signals = Signals()
    options = options_of(asked)
    if options.resume is not None and options.resume.session == "":
        named = picked(home_of(os.environ), options.cwd)
        options = evolve(options, resume=evolve(options.resume, session=named))
    found = configured(options, flags_of(asked), os.environ)
    for warning in found.configuration.warnings:
        complain(warning)
    os.environ.update(found.options.environment)
    configure(debug=asked.debug or found.settings.debug)
    try:
        asyncio.run(_talk(found.options, found.settings, asked.prompt, signals))
    except BadRule as error:
        raise UsageError(str(error)) from error
    return signals.code or 0


async def _talk(options: Options, settings: Settings, first: str | None, signals: Signals) -> None:
    source = "startup" if options.resume is None else "resume"
    lines: tuple[str, ...] = () if first is None else (first,)
    while True:
        end, named, lines = await _session(options, settings, lines, signals, source)
        if end is End.LEAVE:
            return
        going_on = None
        if named is not None:
            going_on = Resume(session=named, over_model=True, over_mode=True)
        options = evolve(options, session_id=None, resume=going_on)
        source = end.value


async def _session(
    options: Options, settings: Settings, first: tuple[str, ...], signals: Signals, source: str
) -> tuple[End, str | None, tuple[str, ...]]:
    """How it ended, the session that goes on next, and what was typed and not read."""
    interrupt = InterruptSignal()
    keys = TerminalKeys(history=settings.home / "history")
    asker = Suspending(terminal_or_nobody(interrupt))
    person = SuspendingPerson(person_or_nobody(interrupt))
    async with open_agent(options, settings, asker=asker, person=person) as agent:
        agent.begin_anew(source)
        keys.completer = Completing(lambda: offered(agent), agent.cwd)

        def stop() -> None:
            """A signal, not a key: also the keys' Ctrl-C while a question stands there."""
            interrupt.request()
            agent.interrupt()
            if signals.code != 130:
                keys.leave()

        def fresh() -> None:
            interrupt.reset()
            signals.forget()

        signals.install()
        signals.attach(asyncio.get_running_loop(), stop)
        keys.say(f"{agent.model} in {agent.cwd}; /help lists the commands")
        live = Live(write=keys.write)
        agent.introduce(live.show)
        session = Interactive(agent=agent, keys=keys, live=live, fresh=fresh)
        end = await session.run(first)
        agent.end_as("prompt_input_exit" if end is End.LEAVE else end.value)
        unread = session.unread
        if unread and end is End.LEAVE:
            complain(f"nobody has read: {' / '.join(unread)}")
    sys.stdout.flush()
    return end, session.next_session, unread
