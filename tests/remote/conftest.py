from __future__ import annotations

from pathlib import Path

import pytest

from interlock.model import preload
from tests.agent.support import Room
from tests.remote.serving import TOKEN


@pytest.fixture(scope="session", autouse=True)
def loaded() -> None:
    """The SDK is slow to import: else the limits of the first test would count it in."""
    preload().join()


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Room:
    """A room for the parent, which knows the token."""
    monkeypatch.setenv("INTERLOCK_SERVE_TOKEN", TOKEN)
    return Room.made(tmp_path / "here")
