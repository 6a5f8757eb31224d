"""A home and a working folder for each test, as the agent's own tests have them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent.support import Room


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room.made(tmp_path)
