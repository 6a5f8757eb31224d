"""Logs go to stderr, and only where they were asked for: standard output is for results."""

from __future__ import annotations

import logging
import sys


def configure(*, debug: bool) -> None:
    """With `debug`, every edge of the machine is a line on stderr; else nothing is logged."""
    # Libraries log through the standard module; their warnings are not the user's business.
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO if debug else logging.CRITICAL, force=True
    )
    if debug:
        _show_ours()


def _show_ours() -> None:
    import structlog  # nothing of ours is logged without it, and so it need not be imported

    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.KeyValueRenderer(
                key_order=["timestamp", "level", "event"], drop_missing=True
            ),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.DEBUG),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
