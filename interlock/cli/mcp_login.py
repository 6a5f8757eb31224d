"""`interlock mcp login|logout NAME`: who we are at a server is said once, in a browser."""

from __future__ import annotations

import os

import anyio

from interlock.configured import Configured
from interlock.errors import UsageError
from interlock.home import home_of
from interlock.mcp import BadDefinition, Definition
from interlock.mcp.login import LoggingIn, LoginFailed
from interlock.mcp.tokens import Tokens


def login(name: str, found: Configured) -> int:
    """Print the address to open, and wait for the browser. Raises UsageError."""
    logging_in = LoggingIn(
        definition=_named(name, found),
        tokens=Tokens(home_of(os.environ)),
        environ=os.environ,
        show=_show,
    )
    try:
        asked = anyio.run(logging_in.login)
    except (BadDefinition, LoginFailed) as error:
        raise UsageError(f"the MCP server {name} {error}") from error
    print(f"{name} lets you in" if asked else f"{name} lets everybody in: no login is needed")
    return 0


def logout(name: str, found: Configured) -> int:
    """Forget the login. Raises UsageError where there is none."""
    if not Tokens(home_of(os.environ)).forget(_named(name, found)):
        raise UsageError(f"nobody is logged in at the MCP server {name}")
    print(f"what the login at {name} gave is forgotten; the server may still know of it")
    return 0


def _named(name: str, found: Configured) -> Definition:
    given = found.options.mcp
    known = () if given is None else given.definitions
    one = next((each for each in known if each.name == name), None)
    if one is not None:
        return one
    waiting = () if given is None else given.unstarted
    why = next((each.problem for each in waiting if each.name == name), None)
    if why is not None:
        raise UsageError(f"the MCP server {name} may not be started: {why}")
    names = ", ".join(each.name for each in known) or "none"
    raise UsageError(f"no MCP server {name}; there are: {names}")


def _show(address: str) -> None:
    print(f"open this address in a browser of this machine:\n\n  {address}\n", flush=True)
