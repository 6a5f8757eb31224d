"""Whether a tool call may run: rules, modes, and a person at the terminal."""

from interlock.permissions.ask import (
    Answer,
    Asker,
    NobodyAsks,
    TerminalAsker,
    terminal_or_nobody,
)
from interlock.permissions.decide import Judge
from interlock.permissions.decision import Decision, Question, Verdict
from interlock.permissions.gate import Gate
from interlock.permissions.looks import reads_only, runs_nothing
from interlock.permissions.rules import BadRule, Rule, Rules

__all__ = [
    "Answer",
    "Asker",
    "BadRule",
    "Decision",
    "Gate",
    "Judge",
    "NobodyAsks",
    "Question",
    "Rule",
    "Rules",
    "TerminalAsker",
    "Verdict",
    "reads_only",
    "runs_nothing",
    "terminal_or_nobody",
]
