"""One prompt, one agent: `query` for its messages, `run` for its result."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

from interlock.api.client import last_of
from interlock.api.messages import AnyMessage
from interlock.api.options import AgentOptions
from interlock.api.result import Result
from interlock.api.session import OpenAgent, Prompt
from interlock.errors import WrongLoop
from interlock.fitting import checked_arguments


@checked_arguments
async def query(
    prompt: Prompt, options: AgentOptions | None = None, *, data: str | None = None
) -> AsyncGenerator[AnyMessage, None]:
    """Run one prompt in a session of its own; the last message is its Result.

        async for message in interlock.query("What do I have to buy?"):
            match message:
                case interlock.AssistantMessage(text=text):
                    print(text)
                case interlock.Result(cost=cost):
                    print(cost)

    Who stops reading stops the run: after `break`, Python closes the generator beside what comes
    next; `async with aclosing(query(…))` waits for it there. `data` is put behind the prompt, and
    nothing in it means anything to the program. Raises InterlockError for what cannot work; a run
    that fails is a Result.
    """
    opened = await OpenAgent.begun(options or AgentOptions())
    try:
        async with aclosing(opened.prompt(prompt, data, last=True)) as messages:
            async for message in messages:
                yield message
    finally:
        await opened.aclose()


@checked_arguments
async def run_async(
    prompt: Prompt, options: AgentOptions | None = None, *, data: str | None = None
) -> Result:
    """Run one prompt to its end: `result = await interlock.run_async("…")`. As `run`."""
    return await last_of(query(prompt, options, data=data))


@checked_arguments
def run(prompt: Prompt, options: AgentOptions | None = None, *, data: str | None = None) -> Result:
    """Run one prompt to its end, in an event loop of its own. Ctrl-C stops it.

        result = interlock.run("Why does the login test fail?")
        print(result.text)

    A run that fails is a Result; `result.raise_for_error()` makes it an error. Raises
    InterlockError for what cannot work.
    """
    match _loop_here():
        case None:
            return asyncio.run(run_async(prompt, options, data=data))
        case "asyncio":
            mend = "await interlock.run_async(…) instead"
            raise WrongLoop(f"an event loop is running here already: {mend}")
        case other:
            mend = "call interlock.run in a thread (trio.to_thread.run_sync)"
            raise WrongLoop(f"{other}'s event loop runs here, and the agent needs asyncio: {mend}")


def _loop_here() -> str | None:
    """Whose event loop runs us. Other libraries' is known to `sniffio`, which they bring along."""
    sniffio = sys.modules.get("sniffio")
    if sniffio is not None:
        with suppress(sniffio.AsyncLibraryNotFoundError):
            return str(sniffio.current_async_library())
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return None
    return "asyncio"
