from __future__ import annotations

from pathlib import Path

import pytest

from tests.configuration.places import Place, made


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return made(tmp_path)
