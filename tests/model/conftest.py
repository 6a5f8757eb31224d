"""Models that ask a scripted server, and are closed at the end of a test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest_asyncio

from interlock.model import AnthropicModel, preload

MakeModel = Callable[..., AnthropicModel]


@pytest_asyncio.fixture
async def model_at() -> AsyncIterator[MakeModel]:
    """Makes models for an address."""
    preload().join()  # else the first test's limits would have to wait for it
    made: list[AnthropicModel] = []

    def model(base_url: str, **more: Any) -> AnthropicModel:
        made.append(AnthropicModel(base_url=base_url, **{"api_key": "sk-test", **more}))
        return made[-1]

    yield model
    for one in made:
        await one.aclose()
