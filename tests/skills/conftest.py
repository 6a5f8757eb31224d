"""A home and a working folder for each test, and where skills lie in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent.support import Room


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room.made(tmp_path)


@pytest.fixture
def mine(room: Room) -> Path:
    return room.work / ".claude"
