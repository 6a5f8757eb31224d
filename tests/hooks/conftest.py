"""A home and a working folder for each test of a whole agent."""

from __future__ import annotations

from tests.agent.conftest import loaded, room

__all__ = ["loaded", "room"]
