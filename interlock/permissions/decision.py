"""What permissions are asked and what they answer. Data only.

A question is about one tool call, already put into the terms that rules speak of: real paths
that are read or written, a command line. Who asks must have resolved links and `..` before.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any

from attrs import field, frozen


class Verdict(StrEnum):
    """What is to become of a call."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


@frozen(kw_only=True)
class Part:
    """One command of a line, or one file it opens, with a verdict of its own."""

    shown: str
    verdict: Verdict
    reason: str
    rule: str | None = None
    origin: str | None = None


@frozen(kw_only=True)
class Decision:
    """A verdict with its reason, in words that the model may read, and the rule behind it.

    A `firm` question is one that rules or doubts put: a hook's word does not spare it.
    """

    verdict: Verdict
    reason: str
    rule: str | None = None
    origin: str | None = None  # where the rule stands
    firm: bool = False
    parts: tuple[Part, ...] = field(default=(), eq=False)
    # What whoever was asked put in place of the call's input: allowed, unless a rule denies it.
    arguments: Mapping[str, Any] | None = field(default=None, eq=False)

    @property
    def allowed(self) -> bool:
        return self.verdict is Verdict.ALLOW


@frozen(kw_only=True)
class Question:
    """May this call run? Paths are real; `named` holds them as the model wrote them, absolute."""

    tool: str
    tool_use_id: str
    arguments: Mapping[str, Any]
    effects: bool
    cwd: Path
    reads: tuple[Path, ...] = ()
    writes: tuple[Path, ...] = ()
    named: tuple[Path, ...] = ()
    command: str | None = None
    domain: str | None = None  # the host of the network that is asked; small letters
    about: str | None = None  # what a specifier names, where no argument says it
    agent_id: str | None = None  # the sub-agent that asks; None: the main agent
    agent_type: str | None = None
    # What a person is shown beside the arguments (a diff); made only if a person is asked.
    preview: Callable[[], Awaitable[str | None]] | None = field(default=None, eq=False)
