from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.places import Place, real


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    folder = real(tmp_path) / "work"
    folder.mkdir()
    place = Place(folder)
    yield place
    for tool in place.tools.values():
        tool.close()
