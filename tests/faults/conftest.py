"""The SDK is loaded before anything is timed."""

from __future__ import annotations

import pytest

from interlock.model import preload


@pytest.fixture(scope="session", autouse=True)
def loaded() -> None:
    """It is slow to import: else the limits of the first run would count it in."""
    preload().join()
