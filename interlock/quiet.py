"""Loggers that say nothing until whoever runs the program has set structlog up.

Unconfigured it prints to standard output, which belongs to the results of the program we are in.
"""

from __future__ import annotations

import structlog
from attrs import frozen


@frozen
class Quiet:
    """A logger by its name."""

    name: str

    def debug(self, event: str, **facts: object) -> None:
        if structlog.is_configured():
            structlog.get_logger(self.name).debug(event, **facts)

    def warning(self, event: str, **facts: object) -> None:
        if structlog.is_configured():
            structlog.get_logger(self.name).warning(event, **facts)
