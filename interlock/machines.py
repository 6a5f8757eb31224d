"""Every machine of this program by name: what `interlock diagram` draws and CI compares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fsm import Machine
from interlock.agents.lifecycle import BACKGROUND_AGENT
from interlock.inbox.lifecycle import QUEUED_MESSAGE
from interlock.mcp.lifecycle import CONNECTION
from interlock.table import LOOP
from interlock.tools.background_lifecycle import BACKGROUND_COMMAND
from interlock.tools.lifecycle import TOOL_CALL

MACHINES: Mapping[str, Machine[Any]] = {
    "loop": LOOP,
    "tool_call": TOOL_CALL,
    "queued_message": QUEUED_MESSAGE,
    "background_command": BACKGROUND_COMMAND,
    "background_agent": BACKGROUND_AGENT,
    "mcp_connection": CONNECTION,
}
