"""A denial advises the model how to go on; a person is shown only what is for a person."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock.permissions import NobodyAsks, Question, for_a_person
from interlock.permissions.advice import ASK_INSTEAD, GO_ON, READ_ON
from interlock.permissions.decision import Decision, Verdict

QUESTION = Question(tool="Bash", tool_use_id="1", arguments={}, effects=True, cwd=Path("/"))
ASKED = Decision(verdict=Verdict.ASK, reason="commands need approval")


async def test_where_nobody_is_asked_a_person_reads_what_permits_the_call() -> None:
    answer = await NobodyAsks().ask(QUESTION, ASKED)

    assert GO_ON in answer.reason
    assert for_a_person(answer.reason) == (
        "commands need approval, and this session runs without anyone to ask. (Permit it with"
        " --allowedTools 'Bash' or with --permission-mode.)"
    )


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        (f"the user said no. {ASK_INSTEAD}", "the user said no."),
        (f"nothing may be changed yet: {READ_ON}", "nothing may be changed yet"),
        ("the rule Bash(rm:*) denies it", "the rule Bash(rm:*) denies it"),
    ],
)
def test_advice_is_taken_off_and_all_else_stays(told: str, shown: str) -> None:
    assert for_a_person(told) == shown
