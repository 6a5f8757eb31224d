"""A server of the package with a bit of everything: `whole_server.py stdio|http|sse`.

Over HTTP it prints its port on the first line of standard output.
"""

import socket
import sys
from typing import Annotated

import anyio
import uvicorn
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Elicit, ElicitationResult, Image, Resolve
from pydantic import BaseModel, Field
from starlette.applications import Starlette

server = MCPServer("whole", instructions="Be gentle with me.")
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
)


GROWN: list[str] = []


class Colour(BaseModel):
    colour: str = Field(default="blue", description="your favourite")
    count: int = 3


def which() -> Elicit[Colour]:
    return Elicit("Which colour?", Colour)


@server.tool()
async def ask(answer: Annotated[ElicitationResult[Colour], Resolve(which)]) -> str:
    """Ask the person for a colour: by either protocol, in its own way."""
    said = answer.data if answer.action == "accept" else ""
    return f"{answer.action} {said}"


@server.tool()
async def picture() -> Image:
    """A picture."""
    return Image(data=PIXEL, format="png")


@server.tool()
async def no_picture() -> Image:
    """Bytes that only claim to be a picture."""
    return Image(data=b"not a picture", format="png")


@server.tool()
async def facts() -> dict[str, int]:
    """Something structured."""
    return {"answer": 42}


@server.tool()
async def grow(context: Context) -> str:
    """Grow another tool."""

    GROWN.append("")

    @server.tool(name=f"grown_{len(GROWN)}")
    async def grown() -> str:
        """A tool that was not there before."""
        return "here"

    await context.notify_tools_changed()  # to those who listen
    await context.session.send_tool_list_changed()  # to those who do not know how
    return "grown"


@server.tool()
async def edit(context: Context) -> str:
    """Edit the note, and write another one."""

    GROWN.append("")

    @server.resource(f"note://grown-{len(GROWN)}")
    def another() -> str:
        return "another"

    await context.notify_resource_updated("note://one")
    await context.notify_resources_changed()
    return "edited"


@server.tool()
async def fail() -> str:
    """Fail."""
    raise ValueError("as expected")


@server.resource("note://one", description="A note.", mime_type="text/plain")
def note() -> str:
    return "the note says hello"


@server.resource("data://sound", mime_type="audio/wav")
def sound() -> bytes:
    return b"RIFFsound"


@server.prompt()
def review(path: str, style: str = "kind") -> str:
    """Review a file."""
    return f"Review {path} in a {style} way."


async def over_http(app: Starlette) -> None:
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()  # who reads the port may connect at once
    print(listening.getsockname()[1], flush=True)
    config = uvicorn.Config(app, log_level="error")
    await uvicorn.Server(config).serve(sockets=[listening])


if __name__ == "__main__":
    match sys.argv[1]:
        case "http":
            anyio.run(over_http, server.streamable_http_app())
        case "sse":
            anyio.run(over_http, server.sse_app())
        case _:
            server.run("stdio")
