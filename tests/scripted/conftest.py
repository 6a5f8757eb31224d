"""Clients of a scripted server: the real SDK, and plain HTTP where the SDK would hide much."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import anthropic
import httpx2
import pytest_asyncio

KEY = {"x-api-key": "none", "anthropic-version": "2026-10-21"}


@pytest_asyncio.fixture
async def sdk() -> AsyncIterator[Callable[[str], anthropic.AsyncAnthropic]]:
    """Makes SDK clients without retries, and closes them."""
    made: list[anthropic.AsyncAnthropic] = []

    def client(base_url: str) -> anthropic.AsyncAnthropic:
        made.append(anthropic.AsyncAnthropic(api_key="none", base_url=base_url, max_retries=0))
        return made[-1]

    yield client
    for one in made:
        await one.close()


@pytest_asyncio.fixture
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    async with httpx2.AsyncClient(headers=KEY, timeout=10) as client:
        yield client
