"""`interlock permissions explain CALL`: whether a call would run, and which rule or mode says so.

Takes the flags of a run, so that the answer is the run's own. Exit code 0: it would run; 1: it is
denied; 2: a person would be asked.
"""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Sequence

from interlock.cli import flags
from interlock.errors import UsageError
from interlock.permissions.decision import Verdict

USAGE = "write: interlock permissions explain 'Bash(git push)' [flags of a run] [--json]"
_ELSEWHERE = ("Agent", "Skill", "Task", "WebSearch")  # what rules may speak of all the same
_CODES = {Verdict.ALLOW: 0, Verdict.DENY: 1, Verdict.ASK: 2}


def run(argv: Sequence[str]) -> int:
    """Run the command. Raises UsageError."""
    given = [flags.decoded(each) for each in argv]
    if any(each in ("-h", "--help") for each in given):
        print(f"{USAGE}\n\n{__doc__}")
        return 0
    if len(given) < 2 or given[0] != "explain":
        raise UsageError(USAGE)
    as_json = "--json" in given
    # The call stands in front, so that no flag with several values can swallow it.
    asked = flags.parse([each for each in given[2:] if each != "--json"])
    if asked.prompt is not None:
        raise UsageError(f"one call at a time, in quotes: {asked.prompt!r} is left over; {USAGE}")
    return _explained(given[1], asked, as_json)


def _explained(call: str, asked: Namespace, as_json: bool) -> int:
    import orjson
    from attrs import evolve

    from interlock import confined
    from interlock.cli.headless import flags_of, options_of
    from interlock.configured import configured
    from interlock.permissions import BadRule, explain
    from interlock.sandbox import without

    options = configured(options_of(asked), flags_of(asked), os.environ, key=False).options
    try:
        judge = evolve(explain.judge_of(options), confined=confined.approves(options))
        question = explain.question_of(call, judge.folders[0])
    except BadRule as error:
        raise UsageError(str(error)) from error
    _insist_on_a_tool(question.tool)
    decision = judge.decide(question)
    if as_json:
        print(
            orjson.dumps(explain.json_of(question, decision), option=orjson.OPT_INDENT_2).decode()
        )
    else:
        for line in explain.told(question, decision, judge):
            print(line)
        warning = without(confined.mode_of(options))
        if warning is not None and question.command is not None:
            print(f"note: {warning}")
    return _CODES[decision.verdict]


def _insist_on_a_tool(name: str) -> None:
    """Raise UsageError for a tool that nobody has: no flag would help it."""
    from interlock.tools import meant, names

    if name in names() or name.startswith("mcp__") or name in _ELSEWHERE:
        return
    near = meant(name)
    hint = f"did you mean {near}?" if near else f"there are {', '.join(sorted(names()))}"
    raise UsageError(f"no tool is called {name}; {hint}")
