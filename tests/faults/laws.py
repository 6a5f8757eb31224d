"""The laws of the loop as facts that can be checked of a session that was played."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from fsm.bounds import Bounds, Observed, bounds
from fsm.replay import render, replay
from interlock import records
from interlock.model_check import verdict
from interlock.scripted import SentRequest
from interlock.sessions.reading import find, read, read_messages
from interlock.table import LOOP
from interlock.tools.calls import CUT, NOT_STARTED
from phases.world.limits import Limits
from phases.world.loop import Loop
from phases.world.messages import Message, is_blank
from phases.world.states import ENDINGS, State
from phases.world.updates import (
    AttemptDropped,
    Ended,
    QueueChanged,
    Recorded,
    RequestStarted,
    Retrying,
    TextArrived,
    ToolStarted,
)
from tests.agent.support import blocks, entries, sent, unanswered
from tests.faults.model import SAME_ID, Effect
from tests.faults.play import FORBIDDEN, Run, Session
from tests.faults.script import Say

ABORTED = ("aborted_streaming", "aborted_tools")
NEVER_RAN = (NOT_STARTED, CUT.text, "Not run: ", "The input of this call could not be read")


def check(session: Session) -> None:
    """Every law, of every run and of the session as a whole."""
    for run in session.runs:
        one_ending(run)
        within_the_bound(run)
        replays(run)
        stops_when_told(run)
        truthful_end(run)
        hooks_are_heard(run)
        text_shown_is_text_recorded(run)
        nothing_runs_on(run, session)
    never_refused(session)
    one_result_for_each_call(session)
    no_effect_twice(session)
    shown_is_written(session)
    written_is_sent(session)
    nothing_queued_is_lost(session)
    paid_once(session)
    lives_on(session)
    nothing_left(session)


# --- one run ---------------------------------------------------------------------------------


def one_ending(run: Run) -> None:
    """Exactly one, said last; and no phase broke (an ending too, but a bug)."""
    told = [one for one in run.updates if not isinstance(one, QueueChanged)]
    assert [isinstance(one, Ended) for one in told].count(True) == 1
    assert isinstance(told[-1], Ended), told[-1]
    destinations = [record.destination for record in run.trace]
    assert [State(one) in ENDINGS for one in destinations].count(True) == 1
    assert destinations[-1] == run.ended.reason
    assert run.ended.reason != "model_error", run.ended.text
    if run.summary is None:
        assert run.prompt.stop is not None
        assert run.prompt.stop.how == "cancel"
    else:
        assert (run.summary.reason, run.summary.error) == (run.ended.reason, run.ended.error)
        assert (run.summary.error_text is None) == (run.summary.error is None)


def within_the_bound(run: Run) -> None:
    """Law 1: no more of anything than `interlock check` computes for these limits."""
    start = records.loop_from(run.trace.header.start)
    path = list(run.trace.path)
    turns = 1 + run.trace.reasons.count("next_turn")
    most = most_in(start, turns)
    assert len(run.trace) <= most.edges
    assert path.count("preprocess") <= most.iterations
    assert most.visits is not None
    state, visits = most.visits
    assert path.count(state) <= visits
    assert sum(one.purpose == "main" for one in run.dealt) <= visits
    if start.run.max_turns is not None:
        assert turns <= start.run.max_turns


@cache
def _observed() -> Observed[Loop]:
    found = verdict(Limits()).observed
    assert found is not None
    return found


def most_in(start: Loop, turns: int) -> Bounds:
    """The bounds of a run that begins like this; its messages are no part of them."""
    return bounds(_observed(), start, turns)


def replays(run: Run) -> Loop:
    """Every decision, guard value and change comes out the same once more; the last loop."""
    assert run.trace.damage == ()
    start = records.loop_from(run.trace.header.start)
    replayed = replay(LOOP, start, records.steps_of(run.trace), changes=records.changes)
    assert replayed.divergence is None, render(replayed.divergence)
    assert replayed.steps == len(run.trace)
    return replayed.loop


def stops_when_told(run: Run) -> None:
    """Law 10."""
    if run.asked_before_stop is None:
        assert run.ended.reason not in ABORTED
        return
    assert len(run.dealt) <= run.asked_before_stop, "a request left after the stop"
    if run.ended.reason not in ABORTED:  # it came when nothing was waited for any more
        late = [type(one) for one in run.after_stop]
        assert not {RequestStarted, Retrying, ToolStarted} & {*late}


def truthful_end(run: Run) -> None:
    """A whole answer is claimed only where the model gave one."""
    if (run.ended.reason, run.ended.error) == ("completed", None):
        main = [one for one in run.dealt if one.purpose == "main"]
        assert main
        assert main[-1].says_it_is_done, main[-1]


def hooks_are_heard(run: Run) -> None:
    """A run that a hook forbids ends there and says so; one that it sends back goes on."""
    says = [record.payload for record in run.trace if record.source == "recovery.stop_hooks"]
    for said in says[:-1]:
        assert not said.get("prevented")
    if says and says[-1].get("prevented"):
        assert run.ended.reason == "stop_hook_prevented"
        assert FORBIDDEN in str(run.ended.text)
    blocks = sum(bool(said.get("blocking_errors")) for said in says)
    went_on = run.trace.reasons.count("stop_hook_blocking")
    assert blocks == went_on + (
        run.ended.reason == "stop_hook_prevented" and not says[-1].get("prevented")
    )


def text_shown_is_text_recorded(run: Run) -> None:
    """Law 9 and 7: what arrived since the last taking back is what the transcript holds."""
    arrived = ""
    for one in run.updates:
        match one:
            case TextArrived(text):
                arrived += text
            case AttemptDropped() | RequestStarted():
                arrived = ""
            case Recorded(message) if message.role == "assistant" and message.replaces is None:
                if message.text.strip() or arrived.strip():
                    assert message.text.rstrip() == arrived.rstrip()
                arrived = ""


def nothing_runs_on(run: Run, session: Session) -> None:
    assert run.tasks == ()
    leaves = any(
        isinstance(step, Say) and "bash leaves" in step.calls
        for prompt in session.script.prompts
        for step in prompt.says
    )
    if not leaves:  # what a command puts into the background stays for the session
        assert run.running == ()


# --- the session -----------------------------------------------------------------------------


def never_refused(session: Session) -> None:
    """Law 5, 6: the strict server had nothing to say against any request."""
    assert session.verdict == (), session.verdict
    assert session.complaints == (), session.complaints


def one_result_for_each_call(session: Session) -> None:
    """Law 5, of the transcript; of the requests the server has judged it."""
    # An id that a server uses again is another's only where both calls are in one request.
    wrong = [one for one in unanswered(session.transcript) if not one.startswith(SAME_ID)]
    assert wrong == []


def no_effect_twice(session: Session) -> None:
    """Law 8: done at most once, only if the reply counts, and told truthfully."""
    results = results_by_mark(session.transcript)
    for effect in session.effects:
        count = happened(effect, session.work)
        assert count <= 1, f"{effect} took effect {count} times"
        assert effect.allowed or not count, f"{effect} ran for a reply that does not count"
        told = results.get(effect.mark)
        if told is None:
            assert not count, f"{effect} ran, and the history knows nothing of it"
            continue
        words, failed = told
        if not failed:
            assert count == 1, f"{effect} is told to have run: {words}"
        elif words.startswith(NEVER_RAN):
            assert not count, f"{effect} is told not to have run: {words}"
    assert not (session.work / "broken").exists()
    assert not (session.work / "cu").exists()


def happened(effect: Effect, work: Path) -> int:
    """How often it took effect."""
    match effect.kind:
        case "write":
            return int((work / f"{effect.mark}txt").exists())
        case "edit":
            return _text(work / "a.txt").count(effect.mark)
        case _:
            return _text(work / "marks").count(f"{effect.mark}\n")


def results_by_mark(transcript: Path, *, torn: bool = False) -> dict[str, tuple[str, bool]]:
    """For each mark in a call of the transcript: the result it was given, and if it failed."""
    lines = entries(transcript, torn=torn)
    said = blocks([one for one in lines if one["type"] in ("user", "assistant")])
    told = {
        block["tool_use_id"]: (
            "\n".join(part.get("text", "") for part in block.get("content", [])),
            bool(block.get("is_error")),
        )
        for block in said
        if block["type"] == "tool_result"
    }
    found: dict[str, tuple[str, bool]] = {}
    for block in said:
        if block["type"] == "tool_use":
            words = orjson.dumps(block["input"]).decode()
            at = words.find("mark-")
            if at >= 0 and block["id"] in told:
                found[words[at : words.index(".", at) + 1]] = told[block["id"]]
    return found


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def shown_is_written(session: Session) -> None:
    """Law 9: the same messages, with the same content, each once."""
    assert read(session.transcript).damage == ()
    shown = {message.id: message for message in session.shown}
    assert len(shown) == len(session.shown)
    assert set(shown) == find(session.transcript, set(shown)).keys()
    for message in read_messages(session.transcript):
        if message.id in shown:
            assert _wire(message) == _wire(shown[message.id])


def written_is_sent(session: Session) -> None:
    """Law 9: where nothing was taken out for room, the last request is the transcript."""
    last = session.runs[-1]
    if last.ended.reason != "completed" or last.ended.error or not session.requests:
        return
    history = [message.id for message in session.history]
    written = read_messages(session.transcript)
    if any(_trimmed(run) for run in session.runs):
        return
    assert history == [message.id for message in written]
    final = _request(session.requests, [one.number for one in last.dealt if one.purpose == "main"])
    through = next(
        at for at, message in reversed(list(enumerate(written))) if message.role == "assistant"
    )
    thinks = ("thinking", "redacted_thinking")
    asked = [block for block in sent(final) if block["type"] not in thinks]
    assert asked == [
        block
        for message in written[:through]
        for block in _wire(message)
        if block["type"] not in thinks
    ]


def _request(requests: tuple[SentRequest, ...], numbers: list[int]) -> SentRequest:
    return requests[numbers[-1] - 1]


def _trimmed(run: Run) -> bool:
    """Whether a level of the context pipeline, or recovery, took something out of the view."""
    if {"collapse_drain_retry", "reactive_compact_retry"} & {*run.trace.reasons}:
        return True
    return any(record.payload.get("freed") for record in run.trace)


def _wire(message: Message) -> list[dict[str, Any]]:
    return [block.wire() for block in message.content if not is_blank(block)]


def nothing_queued_is_lost(session: Session) -> None:
    """What was typed is in the transcript, once, or still waits."""
    read_ = [message.id for message in session.shown if message.id in session.queued]
    assert sorted([*read_, *session.waiting]) == sorted(session.queued)


def paid_once(session: Session) -> None:
    """The bill is the sum over all answers by the price list, each once; so are the loop's
    own books, by which it keeps a budget."""
    waits = session.script.stalls or session.script.scene.captions
    before: float | None = 0.0
    for run in session.runs:
        bill = None if run.summary is None else run.summary.cost
        if bill is not None and before is not None:
            cost = sum(one.cost for one in run.dealt)
            if waits or run.asked_before_stop is not None:  # some answers were not read to the end
                assert bill - before <= sum(one.most for one in run.dealt) + 1e-12
            else:
                assert math.isclose(bill - before, cost, abs_tol=1e-12), (bill - before, cost)
                spent = replays(run).spent.cost
                assert spent is not None
                assert math.isclose(spent, cost, abs_tol=1e-12), (spent, cost)
        before = bill


def lives_on(session: Session) -> None:
    """Whatever happened: the session answers the next prompt, or says why it cannot."""
    last, scene = session.runs[-1], session.script.scene
    fine: list[tuple[str, str | None]] = [("completed", None)]
    if scene.budget_usd is not None:
        fine.append(("budget_exhausted", "budget_exhausted"))
    # Where a script has answers that stand still, the limits are so short that a busy machine
    # can miss them with a good answer, too.
    late = session.script.stalls and "INTERLOCK_FIRST_EVENT_S" in str(last.ended.text)
    assert late or (last.ended.reason, last.ended.error) in fine, last.ended


def nothing_left(session: Session) -> None:
    assert session.left == ()
