"""`interlock serve`: agents of other Interlock processes run here, in this folder.

Whoever has the token is taken for the user of this machine: what its agents may do, their own
parent's rules decide, call by call. Deny and ask rules of this machine hold besides.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from attrs import evolve

from interlock.agent import Agent
from interlock.assembly import open_agent
from interlock.cli.flags import MODES, SANDBOX, Parser, decoded
from interlock.cli.headless import folder_of
from interlock.cli.main import complain
from interlock.cli.signals import Signals
from interlock.configuration import Flags, sources_of
from interlock.configured import Configured, configured
from interlock.errors import UsageError
from interlock.options import Options, PermissionMode
from interlock.permissions import NobodyAsks
from interlock.remote import token
from interlock.sandbox import Mode

if TYPE_CHECKING:
    from interlock.remote.server import Server

PORT = 7411
_INSTALL = "interlock serve needs starlette and uvicorn: pip install 'interlock[serve]'"


def run(argv: Sequence[str]) -> int:
    """Serve until a signal comes. Raises UsageError."""
    asked = _parser().parse_args([decoded(each) for each in argv])
    signals = Signals()
    signals.install()
    mode = PermissionMode(asked.permission_mode)
    given = configured(
        Options(
            cwd=folder_of(asked.cwd), sandbox_mode=Mode(asked.sandbox) if asked.sandbox else None
        ),
        Flags(permission_mode=mode, sources=sources_of(None)),
        os.environ,
    )
    for warning in given.configuration.warnings:
        complain(warning)
    os.environ.update(given.options.environment)
    word = token.of_server(given.settings.home, os.environ, asked.host)
    asyncio.run(_served(asked, given, word, signals))
    signals.settled()
    return signals.code or 0


def _parser() -> Parser:
    parser = Parser(
        prog="interlock serve",
        description="Run agents of other Interlock processes here.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--host", default="127.0.0.1", help="the address to listen on")
    add("--port", type=_port, default=PORT, help="0: any that is free")
    add("--cwd", help="the folder that agents work in")
    add("--grace", type=float, default=10.0, help="seconds until a run nobody reads is ended")
    add(
        "--permission-mode",
        choices=MODES,
        default=PermissionMode.BYPASS_PERMISSIONS.value,
        help="what this machine asks about besides; the parent judges every call",
    )
    add("--sandbox", choices=SANDBOX, help="for their commands")
    return parser


def _port(given: str) -> int:
    if not (given.isascii() and given.isdigit() and int(given) < 65536):
        raise argparse.ArgumentTypeError(f"{given!r} is no port")
    return int(given)


async def _served(
    asked: argparse.Namespace, given: Configured, word: str, signals: Signals
) -> None:
    try:
        from interlock.remote.server import Server, Service, listening
    except ImportError as error:
        raise UsageError(_INSTALL) from error
    from interlock.remote.hosting import Host

    root = given.options.cwd.resolve()

    @asynccontextmanager
    async def opener() -> AsyncIterator[Agent]:
        # A session for each run: its books and its files are the parent's in the end.
        options = evolve(given.options, cwd=root)
        async with open_agent(options, given.settings, asker=NobodyAsks()) as agent:
            yield agent

    try:
        listener = listening(asked.host, asked.port)
    except OSError as error:
        where = f"{asked.host}:{asked.port}"
        raise UsageError(f"cannot listen on {where}: {error.strerror or error}") from error
    host = Host(opener=opener, root=root, grace=asked.grace)
    server: Server = Server(Service(host=host, token=word))
    signals.attach(asyncio.get_running_loop(), server.end)
    address, port = listener.getsockname()[:2]
    shown = f"[{address}]" if ":" in address else address
    print(f"serving agents in {root} on http://{shown}:{port}", flush=True)
    await server.serve(sockets=[listener])
