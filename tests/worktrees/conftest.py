from __future__ import annotations

import pytest

from tests.worktrees.repositories import ALONE


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the machine's own configuration of git plays a part."""
    for name, value in ALONE.items():
        monkeypatch.setenv(name, value)
