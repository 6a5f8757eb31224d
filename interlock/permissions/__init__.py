"""Whether a tool call may run: rules, modes, hooks' words, and a person at the terminal."""

from interlock.permissions.advice import for_a_person
from interlock.permissions.ask import (
    Answer,
    Asker,
    NobodyAsks,
    TerminalAsker,
    terminal_or_nobody,
)
from interlock.permissions.child import Both, Narrowed, Place
from interlock.permissions.decide import Judge, Judging
from interlock.permissions.decision import Decision, Part, Question, Verdict
from interlock.permissions.gate import ChildGate, Gate, NoRequestHooks, RequestHooks
from interlock.permissions.given import give, given_to
from interlock.permissions.harmless import reads_only, runs_nothing
from interlock.permissions.rules import BadRule, Rule, Rules
from interlock.permissions.suggest import suggested
from interlock.permissions.updates import BadUpdate, Destination, Update, UpdateKind

__all__ = [
    "Answer",
    "Asker",
    "BadRule",
    "BadUpdate",
    "Both",
    "ChildGate",
    "Decision",
    "Destination",
    "Gate",
    "Judge",
    "Judging",
    "Narrowed",
    "NoRequestHooks",
    "NobodyAsks",
    "Part",
    "Place",
    "Question",
    "RequestHooks",
    "Rule",
    "Rules",
    "TerminalAsker",
    "Update",
    "UpdateKind",
    "Verdict",
    "for_a_person",
    "give",
    "given_to",
    "reads_only",
    "runs_nothing",
    "suggested",
    "terminal_or_nobody",
]
