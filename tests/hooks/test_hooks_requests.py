"""PermissionRequest hooks answer in a person's place, or leave it to the person."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from interlock.hooks import HookedRequests
from interlock.permissions import Answer, Decision, Question, Verdict
from tests.hooks.support import bench, commands

ASKED = Decision(verdict=Verdict.ASK, reason="it changes files")


def question(folder: Path) -> Question:
    return Question(
        tool="Bash",
        tool_use_id="t1",
        arguments={"command": "touch x"},
        effects=True,
        cwd=folder,
        command="touch x",
    )


def answers(**decision: Any) -> str:
    said = orjson.dumps({"hookSpecificOutput": {"decision": decision}}).decode()
    return f"cat > told.json; echo '{said}'"


async def answer(folder: Path, *lines: str) -> tuple[Answer | None, bool]:
    """What the hooks answer, and whether they stopped the run."""
    hooks = commands(*lines, event="PermissionRequest", matcher="Bash")
    async with bench(folder, hooks) as at:
        found = await HookedRequests(at.hooks).requested(question(folder), ASKED)
        return found, at.interrupt.requested


async def test_it_is_told_the_call_and_why_it_is_asked(tmp_path: Path) -> None:
    found, stopped = await answer(tmp_path, answers(behavior="allow"))

    assert found is not None
    assert (found.allowed, found.always, stopped) == (True, False, False)
    told = orjson.loads((tmp_path / "told.json").read_bytes())
    assert (told["tool_name"], told["tool_input"]) == ("Bash", {"command": "touch x"})
    assert told["reason"] == "it changes files"


async def test_a_deny_has_the_hooks_words(tmp_path: Path) -> None:
    found, stopped = await answer(tmp_path, answers(behavior="deny", message="not on mondays"))

    assert found is not None
    assert (found.allowed, stopped) == (False, False)
    assert "not on mondays" in found.reason


async def test_a_deny_can_stop_the_run(tmp_path: Path) -> None:
    found, stopped = await answer(tmp_path, answers(behavior="deny", interrupt=True))

    assert found is not None
    assert (found.allowed, stopped) == (False, True)


@pytest.mark.parametrize(
    "lines",
    [
        ("true",),
        ("exit 1",),
        ("./none",),
        # Allowed as it is, the call would not be the one that was allowed.
        (answers(behavior="allow", updatedInput={"command": "ls"}),),
        (answers(behavior="allow"), "exit 1"),
    ],
)
async def test_without_a_plain_answer_of_all_the_person_is_asked(
    lines: tuple[str, ...], tmp_path: Path
) -> None:
    assert await answer(tmp_path, *lines) == (None, False)


async def test_deny_goes_over_allow(tmp_path: Path) -> None:
    found, _ = await answer(tmp_path, answers(behavior="allow"), "exit 2")

    assert found is not None
    assert not found.allowed
