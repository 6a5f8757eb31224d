"""Every machine of this program by name: what `interlock diagram` draws and CI compares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fsm import Machine
from interlock.inbox.lifecycle import QUEUED_MESSAGE
from interlock.table import LOOP

MACHINES: Mapping[str, Machine[Any]] = {"loop": LOOP, "queued_message": QUEUED_MESSAGE}
