"""A place to work in, and servers on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.tools.pages import Site, site
from tests.tools.places import Place, real


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working folder for the executor."""
    folder = real(tmp_path) / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def place(folder: Path) -> Iterator[Place]:
    place = Place(folder)
    yield place
    for tool in place.tools.values():
        tool.close()


@pytest.fixture
async def there() -> AsyncIterator[Site]:
    """A server to fetch from."""
    async with site() as found:
        yield found


@pytest.fixture
async def private() -> AsyncIterator[Site]:
    """A second server, which nobody may reach."""
    async with site() as found:
        yield found
