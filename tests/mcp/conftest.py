"""The agent's own room; the package is imported once, so that no limit counts its import."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from interlock.model import preload
from tests.agent.support import Room


@pytest.fixture(scope="session", autouse=True)
def loaded() -> None:
    importlib.import_module("mcp")
    preload().join()


@pytest.fixture
def room(tmp_path: Path) -> Room:
    """A home and a working folder; transcripts and traces stay in the home."""
    return Room.made(tmp_path)
