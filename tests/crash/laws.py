"""Laws 5 to 9, of a session that was killed and went on; each says what is wrong, in a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fsm import read_trace
from fsm.errors import TraceError
from fsm.replay import render, replay
from interlock import records
from interlock.open_calls import FINISHED, REFUSED, UNKNOWN
from interlock.open_calls import NOT_STARTED as NEVER_BEGAN
from interlock.scripted import SentRequest
from interlock.sessions.reading import find, read_messages
from interlock.table import LOOP
from phases.world.messages import Message, is_blank
from tests.agent.support import sent, unanswered
from tests.crash.case import Facts
from tests.faults.laws import NEVER_RAN, happened, results_by_mark
from tests.faults.model import SAME_ID, Dealt

_WELL = FINISHED.format(how="well")
_THINKS = ("thinking", "redacted_thinking")


def wrong(facts: Facts) -> list[str]:
    """What is wrong with it; empty if all is well."""
    if facts.last is None:
        return ["it cannot be gone on with:", *facts.logs]
    laws = (
        goes_on,
        never_refused,
        one_result_for_each_call,
        no_effect_twice,
        shown_is_written,
        sent_is_written,
        written_is_sent,
        cost_is_not_lost,
        nothing_earlier_changed,
        damage_is_told,
        traces_replay,
        nothing_left,
    )
    return [f"{law.__name__}: {line}" for law in laws for line in law(facts)]


def goes_on(facts: Facts) -> Iterator[str]:
    """The next prompt is answered; the lock is not stuck, and nothing else is."""
    assert facts.last is not None
    ends = [(one.reason, one.error, one.text) for one in facts.last.ended]
    if [end[:2] for end in ends] != [("completed", None)]:
        yield f"the prompt afterwards ended {ends}"


def never_refused(facts: Facts) -> Iterator[str]:
    """Law 5 and 6: the strict server has nothing to say against any request of any life."""
    yield from facts.seen.verdict


def one_result_for_each_call(facts: Facts) -> Iterator[str]:
    """Law 5, of the transcript."""
    told = unanswered(facts.transcript, torn=True)
    yield from (one for one in told if not one.startswith(SAME_ID))


def no_effect_twice(facts: Facts) -> Iterator[str]:
    """Law 8: done at most once, and told as what it was."""
    results = results_by_mark(facts.transcript, torn=True)
    for effect in facts.seen.effects:
        count = happened(effect, facts.room.work)
        if count > 1:
            yield f"{effect} took effect {count} times"
        if count and not effect.allowed:
            yield f"{effect} ran for a reply that does not count"
        told = results.get(effect.mark)
        if told is None:
            if count:
                yield f"{effect} ran, and the history knows nothing of it"
            continue
        words, failed = told
        if words.startswith(UNKNOWN):
            yield f"{effect} is told to be unknown, though the journal knows"
        if count != 1 and (not failed or words.startswith(_WELL)):
            yield f"{effect} is told to have run: {words}"
        if count and words.startswith((*NEVER_RAN, NEVER_BEGAN, REFUSED)):
            yield f"{effect} is told not to have run: {words}"


def shown_is_written(facts: Facts) -> Iterator[str]:
    """Law 9: what any life has shown stands in the transcript, as it was shown."""
    told = {message.id: message for message in facts.shown}
    found = find(facts.transcript, set(told))
    for id_, message in told.items():
        if id_ not in found:
            yield f"shown and not written: {message}"
    yield from (
        f"shown {_wire(told[message.id])}, written {_wire(message)}"
        for message in read_messages(facts.transcript)
        if message.id in told and _wire(message) != _wire(told[message.id])
    )


def sent_is_written(facts: Facts) -> Iterator[str]:
    """Law 9: what the model has read and said, before the kill as well, stands there."""
    if _trimmed(facts):
        return
    written = [block for message in read_messages(facts.transcript) for block in _wire(message)]
    for request in _main(facts):
        for block in _asked(request):
            if block not in written:
                yield f"sent with request {request.index} and not written: {block}"


def written_is_sent(facts: Facts) -> Iterator[str]:
    """Law 9: where nothing was taken out for room, the last request is the transcript."""
    assert facts.last is not None
    requests = _main(facts)
    if _trimmed(facts) or not requests:
        return
    written = read_messages(facts.transcript)
    if [one.id for one in facts.last.history] != [one.id for one in written]:
        yield "the history in memory is not the one on the disk"
    replies = [at for at, message in enumerate(written) if message.role == "assistant"]
    asked = _asked(requests[-1])
    stands = [
        block
        for message in written[: replies[-1]]
        for block in _wire(message)
        if block["type"] not in _THINKS
    ]
    if asked != stands:
        yield f"the last request is {asked}, the transcript {stands}"


def cost_is_not_lost(facts: Facts) -> Iterator[str]:
    """What a reply cost is on the bill from the moment on that the transcript holds it."""
    assert facts.last is not None
    taken_up = facts.last.cost_taken_up
    if facts.case.branches or taken_up is None:
        return  # what the other session cost is not the branch's own
    least = sum(one.cost for one in facts.seen.dealt if _is_told(one, facts))
    most = sum(one.most for one in facts.seen.dealt)
    if not least - 1e-12 <= taken_up <= most + 1e-12:
        yield f"taken up ${taken_up}, but what is in the transcript cost ${least} (most: {most})"


def nothing_earlier_changed(facts: Facts) -> Iterator[str]:
    """No byte of a journal that was on the disk when it died is another one now."""
    for path, before in facts.dead.items():
        now = facts.after.get(path)
        if path.suffix == ".jsonl" and (now is None or not now.startswith(before)):
            yield f"{path.name} had {before[-200:]!r}, and now {now and now[-200:]!r}"
    for path in facts.after:
        # A branch that was given up keeps its own: it is written over when that one goes on.
        mine = path.parent in (facts.transcript.parent, facts.transcript.with_suffix(""))
        if path.suffix == ".part" and mine:
            yield f"{path.name} is left over"


def damage_is_told(facts: Facts) -> Iterator[str]:
    """Whoever resumes a session of which the last line is torn hears of it."""
    assert facts.last is not None
    torn = facts.dead.get(facts.transcript, b"\n")[-1:] != b"\n"
    if torn and not any(".jsonl:" in notice for notice in facts.last.notices):
        yield f"nobody was told that a line is torn: {facts.last.notices}"


def traces_replay(facts: Facts) -> Iterator[str]:
    """What was decided up to the kill can be decided again."""
    for path, data in facts.after.items():
        if not path.name.endswith(".trace.jsonl") or b"\n" not in data:
            continue
        try:
            trace = read_trace(path)
            start = records.loop_from(trace.header.start)
            again = replay(LOOP, start, records.steps_of(trace), changes=records.changes)
        except (TraceError, ValueError) as error:
            yield f"{error}"
        else:
            if again.divergence is not None:
                yield render(again.divergence)


def nothing_left(facts: Facts) -> Iterator[str]:
    yield from (f"still runs: {one}" for one in facts.left)


# --- what the laws look at -------------------------------------------------------------------


def _main(facts: Facts) -> list[SentRequest]:
    numbers = {one.number for one in facts.seen.dealt if one.purpose == "main"}
    return [request for request in facts.seen.requests if request.index in numbers]


def _asked(request: SentRequest) -> list[dict[str, Any]]:
    return [block for block in sent(request) if block["type"] not in _THINKS]


def _wire(message: Message) -> list[dict[str, Any]]:
    return [block.wire() for block in message.content if not is_blank(block)]


def _trimmed(facts: Facts) -> bool:
    """Whether the context pipeline, recovery or a note for a refused block changed the view."""
    if any(one.purpose == "compact" for one in facts.seen.dealt):
        return True
    traces = [data for path, data in facts.after.items() if path.name.endswith(".trace.jsonl")]
    signs = (b'"freed":', b"collapse_drain_retry", b"reactive_compact_retry")
    mended = any(b"message_mended" in data for data in facts.after.values())
    return mended or any(sign in data for data in traces for sign in signs)


def _is_told(one: Dealt, facts: Facts) -> bool:
    """Whether the reply was in the transcript when the process died."""
    said = f"said-{one.number} ".encode(), f'said-{one.number}"'.encode()
    return one.whole and any(
        words in data
        for path, data in facts.dead.items()
        if path.suffix == ".jsonl" and path.parent.parent.name == "projects"
        for words in said
    )
