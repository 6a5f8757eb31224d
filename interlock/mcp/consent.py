"""A person's yes or no to a server that a project's files want to start."""

from __future__ import annotations

import shlex

from interlock.mcp.definitions import Definition
from interlock.tools import Person, UserQuestion
from interlock.tools.ask_user import Option
from interlock.tools.deciding import NO, YES, decided

_YES, _NO, _LATER = "Start it", "Never", "Not now"


async def consent(definition: Definition, person: Person) -> bool | None:
    """Ask once; None: nobody answered, or not for good."""
    question = UserQuestion(
        question=(
            f"{definition.where or 'This project'} wants to start the MCP server "
            f"{definition.name}: {told(definition)}. Its tools would be offered to the model."
        ),
        header="MCP",
        options=(
            Option(
                label=_YES,
                description="From now on, as long as its definition stays as it is.",
                also=YES,
            ),
            Option(label=_LATER, description="Ask again next time.", also=NO),
            Option(label=_NO, description="Do not ask again, either."),
        ),
    )
    return {_YES: True, _NO: False}.get(await decided(person, question) or "")


def told(definition: Definition) -> str:
    """How it is started or reached, in a line. Values of variables and headers are not shown."""
    if definition.url:
        oauth = definition.oauth
        runs = (definition.headers_helper, oauth.secret_helper if oauth else "")
        return "; it runs ".join((definition.url, *filter(None, runs)))
    return shlex.join([definition.command, *definition.args])
