"""Several hooks of one event give one answer; functions answer by the same table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import permutations
from pathlib import Path
from time import sleep
from typing import Any

import anyio
import orjson
import pytest
from attrs import define
from hypothesis import given
from hypothesis import strategies as st

from interlock.hooks import Event, HookFunction, HookMatcher
from interlock.hooks.answer import BadAnswer, from_stdout
from interlock.hooks.events import Effect
from interlock.permissions import Verdict
from tests.hooks.support import Bench, bench, commands

ORDER = (Verdict.DENY, Verdict.ASK, Verdict.ALLOW)


def decides(word: str, **more: Any) -> HookFunction:
    def decide(told: Mapping[str, Any]) -> Mapping[str, Any]:
        return {
            "hookSpecificOutput": {
                "permissionDecision": word,
                "permissionDecisionReason": f"says {word}",
                **more,
            }
        }

    return decide


def says(**specific: Any) -> HookFunction:
    def say(told: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"hookSpecificOutput": specific}

    return say


def before(*functions: HookFunction, timeout: float | None = None) -> tuple[HookMatcher, ...]:
    return (HookMatcher(event="PreToolUse", hooks=functions, timeout=timeout),)


@pytest.mark.parametrize("words", list(permutations(("allow", "ask", "deny"), 2)))
async def test_deny_goes_over_ask_and_ask_over_allow(
    words: tuple[str, str], tmp_path: Path
) -> None:
    async with bench(tmp_path, functions=before(*map(decides, words))) as at:
        said = await at.ask()

    strictest = next(each for each in ORDER if each in words)
    assert said.decision is not None
    assert said.decision.verdict is strictest
    assert f"says {strictest}" in said.decision.reason


async def test_no_opinion_leaves_it_to_the_rules(tmp_path: Path) -> None:
    async with bench(tmp_path, functions=before(lambda told: None, lambda told: {})) as at:
        said = await at.ask()

    assert (said.decision, said.stop, said.context, said.arguments) == (None, None, None, None)


async def test_a_broken_hook_binds_the_allow_of_another(tmp_path: Path) -> None:
    hooks, functions = commands("exit 1"), before(decides("allow"))

    async with bench(tmp_path, hooks, functions) as at:
        said = await at.ask()

    assert said.decision is not None
    assert said.decision.verdict is Verdict.ASK


async def test_an_end_of_the_run_denies_the_call(tmp_path: Path) -> None:
    def stop(told: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"continue": False, "stopReason": "enough"}

    async with bench(tmp_path, functions=before(decides("allow"), stop)) as at:
        said = await at.ask()

    assert said.stop == "enough"
    assert said.decision is not None
    assert said.decision.verdict is Verdict.DENY


async def test_texts_are_joined_in_the_order_of_configuration(tmp_path: Path) -> None:
    slow = commands("sleep 0.2; echo first", "echo second", event="UserPromptSubmit")

    async with bench(tmp_path, slow) as at:
        said = await at.ask(Event.USER_PROMPT_SUBMIT, None)

    assert said.context == "first\n\nsecond"


async def test_one_changed_input_takes_the_calls_place(tmp_path: Path) -> None:
    new = {"command": "ls"}
    same = before(says(updatedInput=new), lambda told: None, says(updatedInput=dict(new)))

    async with bench(tmp_path, functions=same) as at:
        said = await at.ask()

    assert (said.arguments, said.decision) == (new, None)


async def test_two_that_want_different_inputs_get_neither(tmp_path: Path) -> None:
    functions = before(
        decides("allow", updatedInput={"command": "a"}),
        decides("allow", updatedInput={"command": "b"}),
    )

    async with bench(tmp_path, functions=functions) as at:
        said = await at.ask()

    assert said.arguments is None
    assert said.decision is not None
    assert said.decision.verdict is Verdict.DENY
    assert "different inputs" in said.decision.reason


# --- functions -------------------------------------------------------------------------------


async def asked(at: Bench) -> tuple[Effect, str | None]:
    (word,) = (await at.ask(tool_input={"command": "ls"})).words
    return word.effect, word.broken


async def never_ends(told: Mapping[str, Any]) -> None:
    await anyio.sleep_forever()


def ends_late(told: Mapping[str, Any]) -> None:
    sleep(1)


async def raises(told: Mapping[str, Any]) -> None:
    raise RuntimeError("no database")


def is_no_object(told: Mapping[str, Any]) -> Any:
    return "deny"


def is_no_json(told: Mapping[str, Any]) -> Any:
    return {"reason": object()}


async def knows_no_such_word(told: Mapping[str, Any]) -> Any:
    return {"hookSpecificOutput": {"permissionDecision": "maybe"}}


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (never_ends, "left at its time limit of 0.2 s"),
        (ends_late, "left at its time limit of 0.2 s"),
        (raises, "raised RuntimeError: no database"),
        (is_no_object, "returned something that is no object"),
        (is_no_json, "raised TypeError"),
        (knows_no_such_word, "gave a permissionDecision 'maybe'; there is allow, ask, deny"),
    ],
)
async def test_a_function_that_breaks_lets_nothing_through(
    function: HookFunction, words: str, tmp_path: Path
) -> None:
    async with bench(tmp_path, functions=before(function, timeout=0.2)) as at:
        effect, broken = await asked(at)

    assert effect is Effect.ASK
    assert words in (broken or "")


async def test_what_a_function_does_to_its_input_is_its_own_affair(tmp_path: Path) -> None:
    seen = []

    def spoil(told: Any) -> None:
        told["tool_input"]["command"] = "rm"

    async def look(told: Any) -> None:
        await anyio.sleep(0.05)
        seen.append(told["tool_input"]["command"])

    async with bench(tmp_path, functions=before(spoil, look)) as at:
        await at.ask(tool_input={"command": "ls"})

    assert seen == ["ls"]


async def test_an_object_that_can_be_called_is_a_function_too(tmp_path: Path) -> None:
    @define  # equal by its fields, and so without a hash
    class Counting:
        calls: int = 0

        async def __call__(self, told: Mapping[str, Any]) -> None:
            self.calls += 1

    one, other = Counting(), Counting()

    async with bench(tmp_path, functions=before(one, other, one)) as at:
        said = await at.ask()

    assert [word.broken for word in said.words] == [None, None]
    assert (one.calls, other.calls) == (1, 1)


# --- reading ---------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)
KEYS = st.sampled_from(
    ("continue", "decision", "reason", "hookSpecificOutput", "permissionDecision", "updatedInput")
)


@given(text=st.text() | st.dictionaries(KEYS, JSON).map(json.dumps), event=st.sampled_from(Event))
def test_whatever_is_printed_is_read_or_refused_in_words(text: str, event: Event) -> None:
    try:
        answer = from_stdout(event, text, cut=False)
    except BadAnswer:
        return

    assert answer.effect in Effect


@given(st.text(), st.integers(1, 60))
def test_the_head_of_a_refusal_is_never_read_as_consent(reason: str, at: int) -> None:
    whole = orjson.dumps({"decision": "block", "reason": reason}).decode()

    with pytest.raises(BadAnswer):
        from_stdout(Event.PRE_TOOL_USE, whole[: min(at, len(whole) - 1)], cut=False)


@pytest.mark.parametrize(
    "text",
    [
        *('[{"decision": "block"}]', "[{", '"block"', "true", "null", "0", "[1]"),
        '{"decision": "block", "decision": "approve"}',
        '{"hookSpecificOutput": {"permissionDecision": "deny", "permissionDecision": "allow"}}',
        '{"reason": "a", "reas\\u006fn": "b"}',
        'hello\n[{"decision": "block"}]',
        'hello\n\ufeff{"decision": "block"}',
        b'\xff\xfe{\0"\0d\0"\0'.decode(errors="replace"),  # what a UTF-16 text looks like
        '{"a":' * 1100 + "1" + "}" * 1100,
    ],
)
def test_json_that_is_not_one_clear_object_is_never_read_as_consent(text: str) -> None:
    with pytest.raises(BadAnswer):
        from_stdout(Event.PRE_TOOL_USE, text, cut=False)


def test_text_that_only_begins_like_a_list_is_text() -> None:
    assert from_stdout(Event.STOP, "[done] 3 files", cut=False).effect is Effect.PASS


def test_a_megabyte_of_blank_lines_is_read_at_once() -> None:
    with pytest.raises(BadAnswer):
        from_stdout(Event.STOP, "x" + "\n" * 1_000_000 + "{", cut=False)
