"""What went wrong with a server, in words: for the model as a result, for a person as a notice."""

from __future__ import annotations

import re
from collections.abc import Iterator

from interlock.tools import ToolError

_LONGEST = 600
# As the package tells, over HTTP, of an answer that is no JSON.
_UNPARSED = re.compile(r"^Failed to parse .*?Invalid JSON: (?P<why>.*?) \[type=.*")
_STREAM_ENDED = "SSE stream "  # so the package begins, over HTTP, where a call's answer broke off


class ServerGone(ToolError):
    """The server is not there. `ran`: the call had left, and nobody knows what it has done."""

    def __init__(self, server: str, what: str, *, ran: bool = False) -> None:
        self.server = server
        after = " Whether the call has taken effect is not known." if ran else ""
        super().__init__(f"The MCP server {server} {_ended(what)}{after}")


class CallTimedOut(ToolError):
    """The server said nothing within its limit; it was told that nobody waits any more."""

    def __init__(self, server: str, what: str, limit: float) -> None:
        super().__init__(
            f"The MCP server {server} did not answer within {limit:g} s: {what} was cancelled."
        )


def lost(error: Exception, *, ended: bool) -> bool:
    """Whether a call failed because its server is gone; `ended`: so have its messages.

    The package says so with a code that servers may use for errors of their own.
    """
    from mcp.shared.exceptions import MCPError
    from mcp_types import CONNECTION_CLOSED

    if not isinstance(error, MCPError) or error.code != CONNECTION_CLOSED:
        return False
    return ended or error.message.startswith(_STREAM_ENDED)


def timed_out(error: Exception, *, took: float, limit: float) -> bool:
    """Whether a call failed because its limit passed: this code, too, is anybody's."""
    from mcp.shared.exceptions import MCPError
    from mcp_types import REQUEST_TIMEOUT

    if isinstance(error, TimeoutError):
        return True
    return isinstance(error, MCPError) and error.code == REQUEST_TIMEOUT and took >= limit


def refused(server: str, what: str, error: Exception, *, status: int | None = None) -> ToolError:
    """A call that the server, or the package for it, did not carry out; `status` of HTTP."""
    from mcp.shared.exceptions import MCPError

    if isinstance(error, ToolError):
        return error
    code = f" (code {error.code})" if isinstance(error, MCPError) else ""
    said = reason(error, status=status)
    return ToolError(f"The MCP server {server} refused {what}: {_ended(said + code)}")


def reason(error: BaseException, *, status: int | None = None) -> str:
    """One line of what an exception says, whatever it is wrapped in; with the status of HTTP."""
    said = dict.fromkeys(_said(one) for one in leaves(error))
    http = "" if status is None else f", with the HTTP status {status}"
    return "; ".join(said)[:_LONGEST] + http


def leaves(error: BaseException) -> Iterator[BaseException]:
    """The exceptions that a group holds, or the one itself."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from leaves(inner)
    else:
        yield error


def _said(error: BaseException) -> str:
    from interlock.mcp.definitions import BadDefinition

    if isinstance(error, FileNotFoundError) and error.filename is not None:
        return f"there is no program {error.filename}"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    message = getattr(error, "message", None)  # of MCPError, whose str() is a tuple
    text = message if isinstance(message, str) else str(error)
    line = _UNPARSED.sub(r"its answer cannot be read: \g<why>", " ".join(text.split()))
    if isinstance(error, BadDefinition):
        return line
    return line or type(error).__name__


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
