"""How a command ended and what it left, in words for the model."""

from __future__ import annotations

from signal import Signals

from interlock.tools.shell import Finished

_MOST_NAMED = 5  # processes


def how_it_ended(code: int) -> str:
    """`exit code 3`, or `signal 9 (SIGKILL)` for a negative code."""
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {-code} ({Signals(-code).name})"
    except ValueError:
        return f"signal {-code}"


def left_behind(finished: Finished) -> list[str]:
    """Notes on what of it still runs."""
    notes = []
    if finished.survived:
        notes.append("(A process it started could not be ended.)")
    if finished.running:
        listed = "; ".join(finished.running[:_MOST_NAMED])
        beyond = len(finished.running) - _MOST_NAMED
        more = f" and {beyond} more" if beyond > 0 else ""
        notes.append(f"(Still running in the background: {listed}{more}.)")
    if finished.later_output is not None:
        notes.append(f"(What they print from now on goes to {finished.later_output}.)")
    return notes
