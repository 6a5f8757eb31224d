"""Loggers that say nothing until whoever runs the program has set structlog up.

Unconfigured it prints to standard output, which belongs to the results of the program we are in.
"""

from __future__ import annotations

import sys

from attrs import frozen


@frozen
class Quiet:
    """A logger by its name."""

    name: str

    def debug(self, event: str, **facts: object) -> None:
        self._say("debug", event, facts)

    def warning(self, event: str, **facts: object) -> None:
        self._say("warning", event, facts)

    def _say(self, level: str, event: str, facts: dict[str, object]) -> None:
        # Whoever has set it up has imported it. Importing it here would cost each start 25 ms.
        structlog = sys.modules.get("structlog")
        if structlog is not None and structlog.is_configured():
            getattr(structlog.get_logger(self.name), level)(event, **facts)
