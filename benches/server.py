"""The model of the benchmark: a scripted server in a process of its own, so that its CPU counts
for nobody.

Each answer is a text of twenty deltas and one call of Read: who asks decides when it is enough.
Prints its address; ends when its standard input does, so it never outlives who started it.
"""

from __future__ import annotations

import argparse
import asyncio
import sys

from interlock.scripted import (
    Reply,
    ScriptedServer,
    SentRequest,
    Settings,
    reply,
    text,
    tool_use,
)

# The server cuts a text into deltas of 24 characters, so this makes twenty.
_WORDS = "One more look at these notes, slowly and in order. ".ljust(60) * 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--file", required=True, help="what each turn reads")
    parser.add_argument("--drip", type=float, default=0.0, help="seconds between two events")
    asyncio.run(_serve(parser.parse_args()))


async def _serve(asked: argparse.Namespace) -> None:
    def answer(request: SentRequest) -> Reply:
        call = tool_use("Read", {"file_path": asked.file})
        return reply(text(_WORDS), call, drip_s=asked.drip)

    settings = Settings(strict=False, cache=False, record_bodies=False)
    async with ScriptedServer(answer, settings) as server:
        print(server.base_url, flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    main()
