"""How a definition says that we get in at a server that asks who we are. Data only."""

from __future__ import annotations

from enum import StrEnum

from attrs import field, frozen


class Grant(StrEnum):
    """Whose rights a token stands for."""

    PERSON = "authorization_code"  # somebody logs in, once: `interlock mcp login`
    PROGRAM = "client_credentials"  # we have a name and a secret of our own


@frozen(kw_only=True)
class OAuth:
    """`secret_helper` prints the secret; it is run when the secret is needed."""

    grant: Grant = Grant.PERSON
    client_id: str = ""  # "": we register ourselves
    secret: str = field(default="", repr=False)
    secret_helper: str = ""
    scopes: str = ""  # with blanks between; "": what the server says
    issuer: str = ""  # the only server that is shown the secret
    port: int = 0  # of this machine, that the browser is sent back to; 0: any
