"""What is added to a denial so that the model goes on well, and how it is taken off for a person.

A reason is one text all the way: it is a result, a record and a hook's input.
"""

from __future__ import annotations

GO_ON = "Do not try the same in another way; go on without it, or say what you would need."
ASK_INSTEAD = "Do not try the same in another way; ask what to do instead."
READ_ON = "go on reading, and present the plan when it is complete"


def for_a_person(reason: str) -> str:
    """The reason of a denial without what only the model should read."""
    for advice in (f" {GO_ON}", f" {ASK_INSTEAD}", f": {READ_ON}"):
        reason = reason.replace(advice, "")
    return reason.replace("(The user can permit it ", "(Permit it ")
