"""The plainest ports: the real clock, real ids, and captions that are not configured."""

from __future__ import annotations

import random
import time
import uuid

import anyio

from phases.world.loop import Loop
from phases.world.messages import Message
from phases.world.ports import Caption


class RealClock:
    def time(self) -> float:
        return time.time()

    def jitter(self) -> float:
        return random.random()

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)


class RandomIds:
    def new(self) -> str:
        return str(uuid.uuid4())


class NoCaptions:
    """Tool-use summaries, absent by configuration."""

    def start(self, loop: Loop, results: tuple[Message, ...]) -> str | None:
        return None

    async def collect(self, job: str | None) -> Caption:
        return Caption()
