"""Logging in at a server, once, with a person at a browser; what comes of it is kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from attrs import frozen

from interlock.mcp import redirect
from interlock.mcp.definitions import BadDefinition, Definition, Transport
from interlock.mcp.door import Door, secret_of
from interlock.mcp.oauth import Grant, OAuth
from interlock.mcp.opening import load, over_http
from interlock.mcp.tokens import Tokens
from interlock.mcp.words import reason

if TYPE_CHECKING:
    from mcp.client.auth import AuthorizationCodeResult


class LoginFailed(Exception):
    """Nobody is logged in; the text says why, as the end of a sentence about the server."""


@frozen(kw_only=True)
class LoggingIn:
    """`show` is given the address that a person must open."""

    definition: Definition
    tokens: Tokens
    environ: Mapping[str, str]
    show: Callable[[str], None]

    async def login(self) -> bool:
        """Wait until the person has logged in; False where the server asks nobody who they are.

        Raises LoginFailed, and BadDefinition for a server that there is no logging in at.
        """
        definition = self.definition
        oauth = definition.oauth or OAuth()
        if definition.transport not in (Transport.HTTP, Transport.SSE):
            raise BadDefinition("is started here, or lives here: there is no logging in at it")
        if oauth.grant is Grant.PROGRAM:
            raise BadDefinition("gets in by its clientSecret: there is no logging in at it")
        before = self.tokens.of(definition)
        await load()
        try:
            await self._connect(oauth)
        except (Exception, BaseExceptionGroup) as error:
            raise LoginFailed(f"does not log you in: {reason(error)}") from error
        return self.tokens.of(definition) != before

    async def _connect(self, oauth: OAuth) -> None:
        """Knock as a client that may ask a person; the rest is the protocol's."""
        from mcp import Client

        from interlock.mcp.granting import for_a_person

        definition = self.definition
        door = Door(definition=definition, environ=self.environ)
        secret = await secret_of(definition, self.environ)
        async with redirect.awaited(oauth.port) as back, AsyncExitStack() as stack:
            auth = for_a_person(
                definition,
                oauth,
                secret,
                self.tokens,
                back_to=back.url,
                show=self._shown,
                answer=lambda: _code(back),
            )
            transport = await over_http(definition, door, stack, auth)
            await stack.enter_async_context(
                Client(transport, mode="legacy" if definition.legacy else "auto")
            )

    async def _shown(self, address: str) -> None:
        self.show(address)


async def _code(back: redirect.Redirect) -> AuthorizationCodeResult:
    from mcp.client.auth import AuthorizationCodeResult, OAuthFlowError

    told = await back.answer()
    if "code" not in told:
        why = told.get("error_description") or told.get("error") or "it brought no code"
        raise OAuthFlowError(f"the browser came back without leave: {why}")
    return AuthorizationCodeResult(code=told["code"], state=told.get("state"), iss=told.get("iss"))
