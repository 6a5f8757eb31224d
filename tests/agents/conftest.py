from __future__ import annotations

from pathlib import Path

import pytest

from interlock.model import preload
from tests.agent.support import Room


@pytest.fixture(scope="session", autouse=True)
def loaded() -> None:
    """The SDK is slow to import: else the limits of the first test would count it in."""
    preload().join()


@pytest.fixture
def room(tmp_path: Path) -> Room:
    """A home and a working folder; transcripts and traces stay in the home."""
    return Room.made(tmp_path)
