"""The SDK under the agent is slow to import: the first test must not count that in."""

from __future__ import annotations

import pytest

from interlock.model import preload


@pytest.fixture(scope="session", autouse=True)
def loaded() -> None:
    preload().join()
