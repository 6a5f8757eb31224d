"""A home and a working folder for each test, as the whole agent's tests have them."""

from __future__ import annotations

from tests.agent.conftest import loaded, room

__all__ = ["loaded", "room"]
