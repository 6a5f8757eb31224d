"""The model of the long job: a strict scripted server in a process of its own.

It refuses what the real API refuses, a request over the window among it, and simulates the prompt
cache. Each answer but the last is some words and calls of Read or Bash on one of the files; who
asks for a summary gets one. Prints its address; when its standard input ends, what it has seen.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import sys

from attrs import define, field

from interlock.context.summary import BRIEF, INSTRUCTION, TERSE
from interlock.scripted import (
    Reply,
    ScriptedServer,
    SentRequest,
    Settings,
    reply,
    text,
    thinking,
    tool_use,
)

_WORDS = "I look at the next part, compare it with what was there before, and go on from there. "
_SUMMARY = "Goal: read everything. Done: a part of it, without surprises. Next: what is left. "


@define
class Model:
    """What the model says, and what it notes of those who ask."""

    turns: int  # answers with calls, less one
    files: int
    thinks: bool
    turn: int = 0
    summaries: int = 0
    largest: int = 0  # bytes of a request
    chance: random.Random = field(factory=lambda: random.Random(1))

    def answer(self, request: SentRequest) -> Reply:
        """A turn of the job, or the summary that is asked for."""
        self.largest = max(self.largest, len(request.raw))
        if _asks_for_a_summary(request):
            self.summaries += 1
            return reply(text(_SUMMARY, repeat=60))
        self.turn += 1
        if self.turn >= self.turns:
            return reply(text("Everything was read."))
        # Thinks once, as at the start of a long trajectory: all that follows hangs on it.
        thought = (thinking("hm", "sig-1"),) if self.thinks and self.turn == 1 else ()
        words = text(_WORDS, repeat=self.chance.randint(1, 6))
        calls = [self._call() for _ in range(self.chance.choice((1, 1, 1, 1, 2)))]
        return reply(*thought, words, *calls)

    def _call(self) -> dict[str, object]:
        name = f"part{self.chance.randrange(self.files)}.py"
        if self.chance.random() < 0.3:
            return dict(tool_use("Bash", {"command": f"cat {name}"}))
        return dict(tool_use("Read", {"file_path": name}))


def _asks_for_a_summary(request: SentRequest) -> bool:
    content = request.body["messages"][-1]["content"]
    last = content if isinstance(content, str) else content[-1].get("text", "")
    return last.startswith((INSTRUCTION[:40], BRIEF, TERSE))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, required=True)
    parser.add_argument("--files", type=int, required=True, help="part0.py and so on")
    parser.add_argument("--window", type=int, required=True, help="tokens")
    parser.add_argument("--thinks", action="store_true", help="the first answer thinks")
    asyncio.run(_serve(parser.parse_args()))


async def _serve(asked: argparse.Namespace) -> None:
    model = Model(turns=asked.turns, files=asked.files, thinks=asked.thinks)
    settings = Settings(window=asked.window, record_bodies=False)
    async with ScriptedServer(model.answer, settings) as server:
        print(server.base_url, flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        seen = {
            "requests": len(server.requests),
            "counts": len(server.counts),
            "summaries": model.summaries,
            "largest": model.largest,
            "refused": server.verdict(),
        }
        print(json.dumps(seen), flush=True)


if __name__ == "__main__":
    main()
