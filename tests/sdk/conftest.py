from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from interlock.scripted import Answer, ServerThread
from tests.sdk.house import House

Open = Callable[[Sequence[Answer]], House]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[Open]:
    """A house whose model answers what it is told to."""
    with ExitStack() as stack:

        def opened(answers: Sequence[Answer]) -> House:
            server = stack.enter_context(ServerThread(answers))
            return House(tmp_path, server)

        yield opened
