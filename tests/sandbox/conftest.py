"""A ground for each test that tries the sandbox from inside."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sandbox.grounds import Ground
from tests.tools.places import real


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    base = real(tmp_path)
    (base / "work").mkdir()
    (base / "outside").mkdir()
    return Ground(base / "work", base / "outside")
