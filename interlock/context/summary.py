"""One place for every summary: automatic, reactive, or asked for by hand with a focus.

The request is the session's own (same system prompt, tools and model, so the same cached prefix)
with one instruction at its end. If it is too long it is asked again, smaller each time (see
smaller.py); at last the history is cut without a model. What stands for it then is stand_in.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import aclosing

from attrs import define, evolve, frozen

from interlock.context.keepsakes import Keepsakes, gathered
from interlock.context.smaller import Messages, versions, weight, without_media
from interlock.context.stand_in import (
    Parted,
    Shares,
    cut,
    local_cut,
    narrowed,
    parted,
    plain,
    summary_message,
)
from interlock.context.surroundings import Consent
from phases.world.failures import FOR_NOW, Failure, FailureKind
from phases.world.limits import Limits
from phases.world.loop import Loop
from phases.world.messages import note
from phases.world.ports import Clock, Failed, Ids, Model, Replied, Request, Summarised
from phases.world.size import BYTES_PER_TOKEN, calibration, tokens_of
from phases.world.taking_out import taken_out
from recovery.reducers import without_thinking

INSTRUCTION = """\
The conversation has become too long for the context window. Write a summary that will take its \
place: whoever goes on will know nothing but this summary and the user's own messages. Call no \
tool. Write plainly, under these heads:
1. Goal: what the user wants, with every constraint and preference that was stated.
2. Done: what was changed, file by file, and what was learnt. Quote the code, names, commands and \
errors that matter exactly.
3. State: what works, what does not, what was running or half finished.
4. Next: the steps that remain, in order, and the one under way."""
FOCUS = "The user asks that the summary pay special attention to this: {focus}"
# Where nothing else can be made smaller, what is asked for in fewer words still fits sooner.
BRIEF = "Summarise this conversation so that work can go on from the summary: goal, done, next."
TERSE = "Summarise this."

_TOO_BIG = frozenset(
    {
        FailureKind.PROMPT_TOO_LONG,
        FailureKind.MEDIA_TOO_LARGE,
        FailureKind.BLOCK_REFUSED,
        FailureKind.INVALID_REQUEST,  # something in the history: a smaller part may lack it
    }
)
# The next request of the loop would meet the same: then a cut would lose the history for nothing.
_HOPELESS = frozenset(
    {
        FailureKind.AUTHENTICATION,
        FailureKind.PERMISSION,
        FailureKind.BILLING,
        FailureKind.MODEL_NOT_FOUND,
    }
)
_LONGEST_WAIT_S = 8.0  # somebody waits for the summary; the loop's own retries are more patient


@define
class _Bill:
    cost: float | None = 0.0
    tokens: int = 0

    def book(self, answer: Replied | Failed) -> None:
        unknown = self.cost is None or answer.cost is None
        self.cost = None if unknown else (self.cost or 0.0) + (answer.cost or 0.0)
        self.tokens += answer.usage.output_tokens


@frozen
class _Unwritten:
    """Why the model wrote no summary, in words for a person."""

    why: str
    failure: Failure | None = None

    @property
    def overloaded(self) -> bool:
        return self.failure is not None and self.failure.kind is FailureKind.OVERLOADED


@define(kw_only=True)
class ModelSummariser:
    """Implements `phases.world.ports.Summariser` for one session."""

    model: Model
    ids: Ids
    clock: Clock
    keepsakes: tuple[Keepsakes, ...] = ()
    consent: Consent | None = None

    async def summarise(
        self,
        loop: Loop,
        view: Messages,
        *,
        trigger: str,
        media: bool = True,
        focus: str | None = None,
    ) -> Summarised:
        """As the port says. `problem` beside a view says why the model did not write it.

        Where the history can wait for a summary, or the next request would fail alike, it is
        not cut without a model: then there is no view.
        """
        if self.consent is not None:
            context = loop.state.tool_use_context
            against = await self.consent.refusal(context, trigger, focus)
            if against is not None:
                return Summarised(view=None, problem=against)
        room = _room(loop)
        if not view or room <= 0:
            why = "there is nothing to summarise" if not view else _fixed_is_too_large(loop)
            return Summarised(view=None, problem=why)
        shares, bill = Shares.of(room, loop.run.limits.keepsake_budget), _Bill()
        parts = parted(view)
        if weight(parts.open) > shares.open:
            parts = narrowed(parts)
        if weight(parts.open) > (shares.open if parts.past else shares.requests):
            # Cut, it would be answered as if it were whole.
            return Summarised(view=None, problem=_prompt_is_too_large(loop, parts.open))
        if not parts.past:  # no open prompt but all there is: it stands in the summary, whole
            parts = Parted(view, ())
        said = await self._by_any(loop, view if media else without_media(view), focus, bill)
        if isinstance(said, _Unwritten) and _can_wait(said, trigger):
            return Summarised(view=None, problem=said.why, cost=bill.cost, tokens=bill.tokens)
        made = await self._made(said, parts, shares, media=media)
        problem = said.why if isinstance(said, _Unwritten) else None
        if weight(made) + loop.run.fixed_tokens > loop.run.limits.hard_limit:
            problem = f"the window is too small for what has to stay; {_fixed_is_too_large(loop)}"
            return Summarised(view=None, problem=problem, cost=bill.cost, tokens=bill.tokens)
        return Summarised(view=made, problem=problem, cost=bill.cost, tokens=bill.tokens)

    async def _made(
        self, said: str | _Unwritten, parts: Parted, shares: Shares, *, media: bool
    ) -> Messages:
        """What takes the place of the history."""
        past, newest = parts.past, ()  # type: Messages, Messages
        if isinstance(said, _Unwritten):
            local = local_cut(past, said.why, shares, media=media)
            said, past, newest = local.words, local.left_out, local.newest
        summary = summary_message(self.ids.new(), past, said, shares)
        kept = await gathered(self.keepsakes, shares.keepsakes, summary.id)
        return (summary, *kept, *newest, *(parts.open if media else plain(parts.open)))

    # --- asking the model --------------------------------------------------------------------

    async def _by_any(
        self, loop: Loop, view: Messages, focus: str | None, bill: _Bill
    ) -> str | _Unwritten:
        """By the model of the loop; where that stays overloaded, by the fallback models.

        They would be refused what another model thought: it is left out for them.
        """
        said = await self._written(loop, view, focus, bill)
        models = loop.run.models
        now = loop.state.tool_use_context.model
        for model in models[models.index(now) + 1 :] if now in models else ():
            if isinstance(said, str) or not said.overloaded:
                break
            # Thinking that another model signed would be refused.
            said = await self._written(
                _with_model(loop, model), without_thinking(view), focus, bill
            )
        return said

    async def _written(
        self, loop: Loop, view: Messages, focus: str | None, bill: _Bill
    ) -> str | _Unwritten:
        limits, tries, scale = loop.run.limits, 0, _Scale.of(loop, view)
        without: list[Failure] = []  # what the server refused of it, and was taken out
        said: str | _Unwritten = _Unwritten("no part of the conversation fits beside a summary")
        for version, instruction in _askings(view, focus):
            if tries >= limits.max_summary_tries:
                break
            if not scale.fits(version):
                continue
            tries += 1
            said = await self._said(loop, version, instruction, without, bill)
            if isinstance(said, str):
                most = int(limits.summary_room * BYTES_PER_TOKEN * 1.5)
                return cut(said, most)
            if said.failure is not None and said.failure.kind not in _TOO_BIG:
                break
        return said

    async def _said(
        self, loop: Loop, version: Messages, instruction: str, without: list[Failure], bill: _Bill
    ) -> str | _Unwritten:
        """One version, and again without a block that is refused: that costs no other block."""
        limits = loop.run.limits
        for earlier in without:
            version = taken_out(version, earlier)
        while True:
            request = _request(loop, version, instruction)
            said = _judged(await self._asked(request, limits, bill))
            failure = None if isinstance(said, str) else said.failure
            if failure is None or len(without) >= limits.max_mends:
                return said
            mended = taken_out(version, failure)
            if mended is version and not _left_out_by_the_port(failure, request):
                return said
            version = mended
            without.append(failure)

    async def _asked(self, request: Request, limits: Limits, bill: _Bill) -> Replied | Failed:
        """One request, and again a few times where it failed for now."""
        for attempt in range(limits.max_summary_retries + 1):
            answer = await self._answer(request)
            bill.book(answer)
            failure = answer.failure if isinstance(answer, Failed) else None
            if failure is None or failure.kind not in FOR_NOW:
                return answer
            wait = max(limits.backoff_first_s * 2.0**attempt, failure.retry_after or 0.0)
            if attempt == limits.max_summary_retries or wait > _LONGEST_WAIT_S:
                return answer
            await self.clock.sleep(wait * (1.0 + self.clock.jitter() / 4.0))
        return answer

    async def _answer(self, request: Request) -> Replied | Failed:
        async with aclosing(self.model.ask(request)) as events:
            async for event in events:
                if isinstance(event, Replied | Failed):
                    return event
        raise RuntimeError("the model port ended without a reply and without a failure")


def _askings(view: Messages, focus: str | None) -> Iterator[tuple[Messages, str]]:
    """What to ask with, one thing smaller than the other."""
    version = view
    whole = INSTRUCTION if focus is None else f"{INSTRUCTION}\n\n{FOCUS.format(focus=focus)}"
    for version in versions(view):
        yield version, whole
    yield version, BRIEF
    yield version, TERSE


def _left_out_by_the_port(failure: Failure, request: Request) -> bool:
    """Whether what was refused is none of the request's: the model port put it in front, and
    sends it no more."""
    sent = {message.id for message in request.messages}
    named = {one.message_id for one in failure.to_take_out}
    return bool(named) and named.isdisjoint(sent)


def _with_model(loop: Loop, model: str) -> Loop:
    context = evolve(loop.state.tool_use_context, model=model)
    return evolve(loop, state=evolve(loop.state, tool_use_context=context))


def _request(loop: Loop, version: Messages, instruction: str) -> Request:
    limits = loop.run.limits
    return Request(
        model=loop.state.tool_use_context.model,
        messages=(*version, note(version[-1].id, "summarise", instruction)),
        max_tokens=min(limits.summary_room, limits.escalated_output_cap),
        purpose="compact",
    )


@frozen
class _Scale:
    """Weighs versions of a view by what the server counted of the view itself."""

    view: Messages
    size: int
    fixed: int
    factor: float
    most: int

    @classmethod
    def of(cls, loop: Loop, view: Messages) -> _Scale:
        limits, fixed = loop.run.limits, loop.run.fixed_tokens
        size = tokens_of(view, fixed=fixed)
        factor = calibration(size, fixed + weight(view))
        return cls(view, size, fixed, factor, limits.hard_limit - limits.summary_room)

    def fits(self, version: Messages) -> bool:
        """Whether a request with it leaves room for the summary, as well as we know."""
        if version is self.view:
            return self.size <= self.most
        return (self.fixed + weight(version)) * self.factor <= self.most


def _room(loop: Loop) -> int:
    """Tokens that may be filled after a compaction, the fixed part left aside."""
    limits, fixed = loop.run.limits, loop.run.fixed_tokens
    return max(limits.compact_at - fixed, (limits.hard_limit - fixed) // 2)


def _can_wait(said: _Unwritten, trigger: str) -> bool:
    """Autocompact comes before the window is full, a person can ask again later."""
    kind = said.failure.kind if said.failure is not None else None
    return trigger == "auto" or kind in _HOPELESS or (trigger == "manual" and kind in FOR_NOW)


def _judged(answer: Replied | Failed) -> str | _Unwritten:
    """The summary: the text of the answer. Calls in it are not run."""
    if isinstance(answer, Failed):
        return _Unwritten(answer.failure.message, answer.failure)
    text, reason = answer.reply.message.text.strip(), answer.reply.stop_reason
    if not text:
        return _Unwritten("the model wrote no summary")
    if reason not in ("end_turn", "stop_sequence", "tool_use"):
        return _Unwritten(f"the summary is not whole (stop_reason {reason})")
    return text


def _prompt_is_too_large(loop: Loop, prompt: Messages) -> str:
    return (
        f"the last prompt alone takes about {weight(prompt):,} tokens, and the window of "
        f"{loop.run.limits.context_window:,} has to hold the answer too"
    )


def _fixed_is_too_large(loop: Loop) -> str:
    return (
        f"the system prompt and the tools take about {loop.run.fixed_tokens:,} tokens of "
        f"{loop.run.limits.context_window:,}"
    )
