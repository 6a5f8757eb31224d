"""Which servers a session has, and what it bears with: files, flags and callers put together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attrs import field, frozen

from interlock.mcp.definitions import Definition, Scope, Transport
from interlock.mcp.tokens import Tokens
from interlock.mcp.trust import Approvals


@frozen(kw_only=True)
class Unstarted:
    """A server that is known and is not started: its definition is bad, or nobody trusts it."""

    name: str
    scope: Scope
    problem: str
    where: str = ""
    definition: Definition | None = None  # what a person may still say yes to


@frozen(kw_only=True)
class McpSettings:
    """`definitions` are started with the session; of `unstarted` a person may be asked."""

    definitions: tuple[Definition, ...] = ()
    unstarted: tuple[Unstarted, ...] = ()
    environ: Mapping[str, str] | None = field(default=None, repr=False)  # None: this process's own
    approvals: Approvals | None = None  # where answers are remembered; None: nobody is asked
    project: Path | None = None  # that they are about
    tokens: Tokens | None = None  # where logins are kept
    warnings: tuple[str, ...] = ()  # what is written and was not heard

    def __bool__(self) -> bool:
        return bool(self.definitions or self.unstarted)


@frozen(kw_only=True)
class Patience:
    """How long a server may take, in seconds, and how often it is started again."""

    start_s: float
    call_s: float
    restarts: int


def in_process(name: str, server: Any) -> Definition:
    """A server of the package (`mcp.server.MCPServer`) that lives in this very process."""
    return Definition(
        name=name, scope=Scope.CODE, transport=Transport.IN_PROCESS, program=server, trusted=True
    )
