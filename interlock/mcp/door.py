"""The way in to a server over HTTP: what we show it, and what it says if that does not do.

Headers as they are written or as a helper prints them, tokens of a login, or a program's own
credentials. Never asks a person: `interlock mcp login` does.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
from attrs import define

from interlock import children
from interlock.mcp.definitions import BadDefinition, Definition
from interlock.mcp.oauth import Grant, OAuth
from interlock.mcp.tokens import Tokens
from interlock.mcp.words import leaves, reason

if TYPE_CHECKING:
    import httpx2

_METADATA = re.compile(r'resource_metadata="?([^",\s]+)')
_SCOPE = re.compile(r"insufficient_scope")
_SESSION = "mcp-session-id"
_LONGEST = 200  # characters of an address of the server's that are shown


@define(kw_only=True, eq=False)
class Door:
    """One connection's. `refusal` is what the server said last to those at its address; `status`
    that of its last answer, where it was one of an error; `forgotten`: it knows our session no
    more, so nothing that is asked in it is heard."""

    definition: Definition
    environ: Mapping[str, str]
    tokens: Tokens | None = None  # None: nobody can have logged in
    refusal: str | None = None
    status: int | None = None
    forgotten: bool = False
    _refuses: str = "wants to know who you are"  # what a refusal means
    _own: bool = False  # we came with what the definition gives: a login would change nothing

    async def headers(self) -> dict[str, str]:
        """Those of the definition, and over them what its helper prints. Raises BadDefinition."""
        headers = dict(self.definition.headers)
        if self.definition.headers_helper:
            headers |= await _printed_headers(self.definition, self.environ)
        if any(name.lower() == "authorization" for name in headers):
            self._refuses, self._own = "does not take the headers of its definition", True
        return headers

    async def auth(self) -> httpx2.Auth | None:
        """What brings tokens along. Raises BadDefinition."""
        oauth = self.definition.oauth
        if oauth is not None and oauth.grant is Grant.PROGRAM:
            from interlock.mcp.granting import for_a_program

            self._refuses, self._own = "does not take the credentials of its definition", True
            return for_a_program(
                self.definition, oauth, await secret_of(self.definition, self.environ)
            )
        login = None if self.tokens is None else self.tokens.of(self.definition)
        if login is None or self.tokens is None:
            return None
        from interlock.mcp.granting import Renewing

        self._refuses = "no longer takes what the login gave"
        return Renewing(self.definition, self.tokens, login)

    def client(
        self,
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        """A client of the package's, that hears what the server says of us."""
        from mcp.shared._httpx_utils import create_mcp_http_client

        # It tells of each failed flow by itself, with a traceback; we tell it in a line.
        logging.getLogger("mcp.client.auth").addHandler(logging.NullHandler())
        logging.getLogger("mcp.client.auth").propagate = False
        client = create_mcp_http_client(headers=headers, timeout=timeout, auth=auth)
        client.event_hooks = {"response": [self._heard]}
        return client

    async def _heard(self, response: httpx2.Response) -> None:
        # What is said to our taking leave is no answer to anything.
        asked = response.request
        if str(asked.url) != self.definition.url or asked.method == "DELETE":
            return
        if asked.method == "POST":  # others ask for news only
            self.status = response.status_code if response.status_code >= 400 else None
        if response.status_code == 404 and _SESSION in asked.headers:
            self.forgotten = True
        told = response.headers.get("www-authenticate", "")
        if response.status_code == 401 or (response.status_code == 403 and _SCOPE.search(told)):
            self.refusal = self._told(response.status_code, told)
        elif response.status_code < 400:
            self.refusal = None

    def _told(self, status: int, told: str) -> str:
        found = _METADATA.search(told)
        where = f" (its metadata: {found[1][:_LONGEST]})" if found else ""
        mend = "" if self._own else f": interlock mcp login {self.definition.name} logs you in"
        return f"{self._refuses}, and answers {status}{where}{mend}"

    def told(self, error: BaseException | None) -> str | None:
        """Why we were not let in, with what the asking for a token came to; None where we were."""
        if self.refusal is None or error is None or not _of_a_flow(error):
            return self.refusal
        return f"{self.refusal} ({reason(error)})"


def _of_a_flow(error: BaseException) -> bool:
    from mcp.client.auth import OAuthFlowError

    return any(isinstance(one, OAuthFlowError) for one in leaves(error))


async def secret_of(definition: Definition, environ: Mapping[str, str]) -> str:
    """The secret of our name at the server. Raises BadDefinition."""
    oauth = definition.oauth or OAuth()
    if not oauth.secret_helper:
        return oauth.secret
    printed = (
        await _printed(oauth.secret_helper, "clientSecretHelper", definition, environ)
    ).strip()
    if not printed or not printed.isprintable():
        raise BadDefinition("has a clientSecretHelper that printed no secret; run it by hand")
    return printed


async def _printed_headers(definition: Definition, environ: Mapping[str, str]) -> dict[str, str]:
    printed = await _printed(definition.headers_helper, "headersHelper", definition, environ)
    try:
        headers: Any = orjson.loads(printed)
    except ValueError:
        headers = None
    if not isinstance(headers, dict) or not all(isinstance(one, str) for one in headers.values()):
        raise BadDefinition(
            'has a headersHelper that printed no object of strings; let it print {"Name": "value"}'
        )
    return headers


async def _printed(
    command: str, key: str, definition: Definition, environ: Mapping[str, str]
) -> str:
    """What a helper prints; it is told which server it is for. Bounded by the start's limit."""
    told = {
        **environ,
        "CLAUDE_CODE_MCP_SERVER_NAME": definition.name,
        "CLAUDE_CODE_MCP_SERVER_URL": definition.url,
    }
    ran = await children.run(
        ["/bin/sh", "-c", command], cwd=definition.cwd or Path.cwd(), env=told
    )
    if ran.code:
        words = " ".join(ran.stderr.decode(errors="replace").split())[-_LONGEST:]
        raise BadDefinition(
            f"has a {key} that ended with {ran.code}" + (f": {words}" if words else "")
        )
    return ran.stdout.decode(errors="replace")
