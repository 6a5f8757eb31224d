"""The model of a script: what it answers to each request, and a memory of what that meant.

Each call with an effect carries a mark of its own, so that what was done can be counted later.
Requests for a summary and for captions have lists of their own; no list ever runs dry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import define, evolve, field, frozen

from interlock.context.summary import BRIEF, INSTRUCTION, TERSE
from interlock.model.prices import price
from interlock.scripted import (
    Answer,
    End,
    ErrorEvent,
    RawSse,
    Reply,
    SentRequest,
    Status,
    reply,
    status,
    stream,
    thinking,
    tool_use,
)
from phases.world.usage import Usage
from tests.faults.script import Refuse, Say, Script, Step

SMALL = "claude-3-5-haiku"
SAME_ID = "toolu_the_same"  # for every call that asks for it, as some servers do
_GOOD = Say()
_GIANT = 60_000  # characters; twice what is shown of a result


@frozen
class Effect:
    """A call that changes something, told by its mark."""

    mark: str
    kind: str
    allowed: bool  # whether its reply counts: whole, no refusal, the call not cut


@frozen(kw_only=True)
class Dealt:
    """One request and what it got."""

    number: int
    purpose: str  # main, compact or caption
    model: str
    step: Step
    whole: bool  # a stream that ended with message_stop
    cost: float  # USD of it, as far as its events told
    most: float  # the same, should the client have left somewhere on the way
    effects: tuple[Effect, ...] = ()

    @property
    def says_it_is_done(self) -> bool:
        """A whole answer, as only `completed` without an error may end on."""
        step = self.step
        if not self.whole or not isinstance(step, Say):
            return False
        finished = any(call != "search" for call in step.calls)
        return _stop_of(step) in ("end_turn", "stop_sequence") and not finished


@define
class Model:
    """Answers by the script; give it to a server, and tell it when a prompt begins."""

    script: Script
    work: Path
    dealt: list[Dealt] = field(factory=list)
    _main: Iterator[Step] = field(factory=lambda: iter(()))
    _summaries: Iterator[Step] = field(init=False)
    _captions: Iterator[Step] = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._summaries = iter(self.script.summaries)
        self._captions = iter(self.script.captions)

    def begin(self, says: Sequence[Step]) -> None:
        self._main = iter(says)

    def __call__(self, request: SentRequest) -> Answer:
        purpose = _purpose(request)
        steps = {"main": self._main, "compact": self._summaries, "caption": self._captions}
        step = next(steps[purpose], _GOOD)
        usage = self._usage(request, step)
        if isinstance(step, Refuse):
            self._note(request, purpose, step, whole=False)
            return refusal(step.what, request)
        # Thinking that was not asked for never comes, and small models have none.
        thinks = step.thinks and "thinking" in request.body
        content, effects = self._content(step, request.index, thinks=thinks)
        answer = reply(*content, stop_reason=_stop_of(step), usage=usage, drip_s=step.drip)
        answer = _broken(answer, step)
        whole = answer.cut_after is None
        cost = _cost(request, usage, answer)
        self._note(
            request,
            purpose,
            step,
            whole=whole,
            cost=cost,
            most=max(cost, _cost(request, usage, evolve(answer, cut_after=1))),
            effects=tuple(
                evolve(one, allowed=one.allowed and whole and purpose == "main") for one in effects
            ),
        )
        return answer

    @property
    def effects(self) -> tuple[Effect, ...]:
        return tuple(effect for one in self.dealt for effect in one.effects)

    def _note(
        self,
        request: SentRequest,
        purpose: str,
        step: Step,
        *,
        whole: bool,
        cost: float = 0.0,
        most: float = 0.0,
        effects: tuple[Effect, ...] = (),
    ) -> None:
        self.dealt.append(
            Dealt(
                number=request.index,
                purpose=purpose,
                model=request.body["model"],
                step=step,
                whole=whole,
                cost=cost,
                most=most,
                effects=effects,
            )
        )

    def _usage(self, request: SentRequest, step: Step) -> dict[str, int]:
        """As long as the request is; parts of it from the cache."""
        counted = self.script.scene.counted
        size = len(request.raw) // 4 if counted else 0
        read, made = size // 2, size // 8
        words = step.words if isinstance(step, Say) else 0
        return {
            "input_tokens": size - read - made,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": made,
            "output_tokens": 7 + 2 * words if counted else 0,
        }

    def _content(
        self, step: Say, number: int, *, thinks: bool
    ) -> tuple[list[Mapping[str, Any]], list[Effect]]:
        blocks: list[Mapping[str, Any]] = []
        effects: list[Effect] = []
        if thinks:
            blocks.append(thinking(f"Thought {number}.", f"c2lnLU{number:04d}"))
        text = " ".join([f"said-{number}", *["word"] * (step.words - 1)]) if step.words else " \n"
        blocks.append({"type": "text", "text": text})
        for at, call in enumerate(step.calls):
            mark = f"mark-{number}-{at}."
            block = self._call(call, mark, at)
            last = at == len(step.calls) - 1
            cut = last and step.stop == "model_context_window_exceeded"
            blocks.append(block)
            if mark in str(block):
                effects.append(Effect(mark, call, not cut and step.stop != "refusal"))
        return blocks, effects

    def _call(self, call: str, mark: str, at: int) -> Mapping[str, Any]:
        work = self.work
        command = f"echo {mark} >> {work}/marks"
        match call:
            case "read a" | "read b" | "read missing":
                return tool_use("Read", {"file_path": f"{work}/{call.split()[1]}.txt"})
            case "read marks":
                return tool_use("Read", {"file_path": f"{work}/marks"})
            case "read pixel":
                return tool_use("Read", {"file_path": f"{work}/pixel.png"})
            case "glob":
                return tool_use("Glob", {"pattern": "*.txt"})
            case "bash":
                return tool_use("Bash", {"command": command})
            case "bash slow":
                return tool_use("Bash", {"command": f"{command}; sleep 0.03; echo slept"})
            case "bash giant":
                giant = f"{command}; head -c {_GIANT} /dev/zero | tr '\\0' x"
                return tool_use("Bash", {"command": giant})
            case "bash fails":
                return tool_use("Bash", {"command": f"{command}; exit 3"})
            case "bash leaves":
                return tool_use("Bash", {"command": f"{command}; sleep 60 & echo left"})
            case "write":
                path = f"{work}/{mark}txt"
                return tool_use("Write", {"file_path": path, "content": f"{mark}\n"})
            case "edit":
                edited = {"old_string": "alpha", "new_string": f"alpha {mark}"}
                return tool_use("Edit", {"file_path": f"{work}/a.txt", **edited})
            case "unknown tool":
                return tool_use("Teleport", {"to": "the end"})
            case "bad input":
                return tool_use("Read", {"path": 7})
            case "broken json":
                return tool_use("Bash", partial_json='{"command": "touch broken",}')
            case "cut":
                return tool_use("Bash", partial_json='{"command": "touch cu')
            case "same id":
                # Who signs thinking never gives an id twice, and the judge goes by ids there.
                again = None if self.script.scene.thinking else SAME_ID
                return tool_use("Bash", {"command": command}, id=again)
            case "search":
                return {
                    "type": "server_tool_use",
                    "id": f"srvtoolu_{mark.strip('.').replace('-', '_')}",
                    "name": "web_search",
                    "input": {"query": "x"},
                }
            case other:
                raise ValueError(other)


def _purpose(request: SentRequest) -> str:
    if request.body["model"] == SMALL:
        return "caption"
    texts = [
        str(block.get("text", ""))
        for block in request.body["messages"][-1]["content"]
        if isinstance(block, dict)
    ]
    last = texts[-1] if texts else ""
    asks = last.startswith(INSTRUCTION) or last in (BRIEF, TERSE)
    return "compact" if asks else "main"


def _stop_of(step: Say) -> str:
    if step.stop is not None:
        return step.stop
    return "tool_use" if any(call != "search" for call in step.calls) else "end_turn"


# --- streams that break ----------------------------------------------------------------------


def _broken(answer: Reply, step: Say) -> Reply:
    if step.broken is None:
        return answer
    # At least the last event is missing, else nothing would be broken.
    after = min(round(step.broken.at * _sent(answer)), _sent(answer) - 1)
    kind, _, detail = step.broken.how.partition(": ")
    if kind in {*End}:
        return evolve(answer, cut_after=after, end=End(kind))
    event = ErrorEvent(type=kind, message=detail or "scripted")
    return evolve(answer, cut_after=after, error_event=event)


def _sent(answer: Reply) -> int:
    """How many events the whole of it has."""
    blocks = stream.settled(answer, 1)
    return len(stream.events(answer, blocks, message_id="", model="", usage={}))


def _cost(request: SentRequest, usage: Mapping[str, int], answer: Reply) -> float:
    """What the answer's usage costs, as far as its events told it."""
    if answer.cut_after == 0:
        return 0.0
    # The first event tells what was read, the last but one what was written.
    all_told = answer.cut_after is None or answer.cut_after == _sent(answer) - 1
    told = evolve(Usage(**usage), output_tokens=usage["output_tokens"] if all_told else 1)
    return price(request.body["model"], told) or 0.0


# --- answers that are no stream --------------------------------------------------------------


def refusal(what: str, request: SentRequest) -> Answer:
    """The answer called so in `script.REFUSALS`."""
    invalid = "invalid_request_error"
    match what:
        case "400 bad request":
            return status(400, invalid, "this is refused, and no reason is given")
        case "400 prompt too long":
            return status(400, invalid, "prompt is too long: 205030 tokens > 200000 maximum")
        case "413 request too large":
            return status(413, "request_too_large", "Request exceeds the maximum size")
        case "400 image refused":
            return status(400, invalid, "Could not process image")
        case "400 image too large":
            place = _place(request, ("image",))
            return status(400, invalid, f"{place}.image.source.base64: image exceeds 5 MB maximum")
        case "400 a block is refused":
            place = _place(request, ("text", "tool_result"))
            return status(400, invalid, f"{place}: the text is not allowed")
        case "400 a message is refused":
            number = len(request.body["messages"]) // 2
            return status(400, invalid, f"messages.{number}: this message is not allowed")
        case "400 a call is refused":
            return status(400, invalid, f"{_place(request, ('tool_use',))}.tool_use.input: bad")
        case "400 thinking is refused":
            kinds = ("thinking", "tool_use")
            return status(400, invalid, f"{_place(request, kinds)}: Invalid `signature`")
        case "400 a pair is refused":
            place = _place(request, ("tool_result",))
            return status(400, invalid, f"{place}: unexpected `tool_use_id`")
        case "401 bad key":
            return status(401, "authentication_error", "invalid x-api-key")
        case "404 no such model":
            return status(404, "not_found_error", "model: unknown")
        case "429 rate limit":
            return status(429, "rate_limit_error", "slow down")
        case "429 short pause":
            return status(429, "rate_limit_error", "slow down", retry_after=3)
        case "429 long pause":
            return status(429, "rate_limit_error", "come back", retry_after=3600)
        case "500 server error":
            return status(500, "api_error", "internal")
        case "500 do not retry":
            return status(500, "api_error", "final", headers={"x-should-retry": "false"})
        case "503 gateway page":
            html = {"content-type": "text/html"}
            return Status(status=503, headers=html, raw_body="<html>unavailable</html>")
        case "529 overloaded":
            return status(529, "overloaded_error", "Overloaded")
        case "200 login page":
            html = {"content-type": "text/html"}
            return Status(status=200, headers=html, raw_body="<html>log in</html>")
        case "200 nothing":
            return RawSse(lines=())
        case "200 an event torn":
            return RawSse(lines=("event: message_start", "", "data: {", ""))
        case "200 no beginning":
            return RawSse(
                lines=(
                    "event: content_block_stop",
                    'data: {"type": "content_block_stop", "index": 0}',
                    "",
                )
            )
        case "200 stalls at once":
            return RawSse(lines=(), end=End.STALL)
        case other:
            raise ValueError(other)


def _place(request: SentRequest, kinds: tuple[str, ...]) -> str:
    """Where the newest block of one of these kinds stands; else nowhere that exists."""
    for at, message in reversed(list(enumerate(request.body["messages"]))):
        for number, block in reversed(list(enumerate(message["content"]))):
            inner = block.get("content") if block["type"] == "tool_result" else None
            parts = inner if isinstance(inner, list) else []
            if block["type"] in kinds or any(part.get("type") in kinds for part in parts):
                return f"messages.{at}.content.{number}"
    return "messages.99.content.9"
