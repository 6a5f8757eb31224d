"""What a parent is told of a child that is over: once, truthfully, in the words of the child."""

from __future__ import annotations

from interlock.agents.errand import Errand, Report
from interlock.counted import counted
from interlock.tools import Output

_ENDINGS = {
    "max_turns": "it reached its limit of turns",
    "budget_exhausted": "the budget of the whole run is used up",
    "blocking_limit": "its context window is full",
    "prompt_too_long": "its conversation grew too long for the model",
    "stop_hook_prevented": "a hook ended it",
    "max_output_tokens": "its answer was cut by the output limit",
    "refusal": "the model declined to answer",
}


def told(errand: Errand, report: Report) -> str:
    """All of it, as text: an error first, then what the child said, then the facts."""
    said = report.text.strip()
    parts = []
    if report.error is None:
        parts.append(said or "(The agent ended without a word.)")
    else:
        parts.append(f"The agent did not finish: {why(report)}.")
        parts.append(
            f"What it had said last:\n{said}" if said else "It had not said anything by then."
        )
    parts += report.notes
    parts.append(f"({facts(errand, report)})")
    return "\n\n".join(parts)


def output(errand: Errand, report: Report) -> Output:
    """The same as the result of the call."""
    return Output(told(errand, report), is_error=report.error is not None)


def why(report: Report) -> str:
    """Why it is no whole answer, as the end of a sentence."""
    if report.interrupted:
        return "it was interrupted"
    known = _ENDINGS.get(report.error or "")
    line = (report.why or "").rstrip(".")
    if known is None:
        return line or (report.error or "it is not known why")
    return f"{known} ({line})" if line else known


def facts(errand: Errand, report: Report) -> str:
    """What it was and took, on one line."""
    tokens = report.usage.total_tokens
    took = f"{counted(report.turns, 'turn')}, {counted(report.calls, 'call')}, {tokens:,} tokens"
    cost = "" if not report.cost else f", ${report.cost:.4f}"
    return f"agent {errand.agent_id}, {errand.agent_type}: {took}{cost}"
