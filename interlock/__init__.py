"""Interlock: a coding agent whose loop is an explicit finite state machine."""

__version__ = "0.1.0"
