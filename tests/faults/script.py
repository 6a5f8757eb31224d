"""A script of faults as plain data: what is prompted, what the model then says, what breaks.

Every value prints as the code that makes it, so a failing script can be pasted into an
`@example`, and shrinks to its few telling words. `model.py` plays them.
"""

from __future__ import annotations

from typing import Any

from attrs import frozen
from hypothesis import strategies as st

# What a reply can ask for; each is spelled out in model.py.
READS = ("read a", "read b", "read pixel", "read missing", "read marks", "glob")
EFFECTS = ("bash", "bash slow", "bash giant", "bash fails", "write", "edit")
ODD = ("unknown tool", "bad input", "broken json", "cut", "same id", "bash leaves", "search")

STOPS = (
    "max_tokens",
    "pause_turn",
    "refusal",
    "model_context_window_exceeded",
    "stop_sequence",
    "reason_of_the_future",
    "end_turn",
    "tool_use",
)
# How a stream can break; the last are types of an error event.
BREAKS = (
    "close",
    "reset",
    "stall",
    "overloaded_error",
    "api_error",
    "rate_limit_error",
    "invalid_request_error",
    "invalid_request_error: prompt is too long",
)
# What a stop hook can do; each is spelled out in play.py.
STOP_HOOKS = ("nothing", "blocks", "blocks", "prevents", "breaks", "is slow")
# Answers that are no stream of messages at all; each is spelled out in model.py.
REFUSALS = (
    "400 bad request",
    "400 prompt too long",
    "413 request too large",
    "400 image refused",
    "400 image too large",
    "400 a block is refused",
    "400 a message is refused",
    "400 a call is refused",
    "400 thinking is refused",
    "400 a pair is refused",
    "401 bad key",
    "404 no such model",
    "429 rate limit",
    "429 short pause",
    "429 long pause",
    "500 server error",
    "500 do not retry",
    "503 gateway page",
    "529 overloaded",
    "200 login page",
    "200 nothing",
    "200 an event torn",
    "200 no beginning",
    "200 stalls at once",
)


@frozen
class Broken:
    """The stream ends after this share of its events, whole ones only."""

    at: float
    how: str


@frozen
class Say:
    """One reply. `stop` None: as the API would say; `words` 0: blank."""

    words: int = 2
    calls: tuple[str, ...] = ()
    thinks: bool = False
    stop: str | None = None
    broken: Broken | None = None
    drip: float = 0.0  # seconds between two events


@frozen
class Refuse:
    """An answer that is no reply."""

    what: str


Step = Say | Refuse


@frozen
class Stop:
    """The run is stopped after so many updates and then so many turns of the event loop."""

    at: int
    turns: int = 0
    again: int | None = None  # once more, so many turns later
    how: str = "interrupt"  # or cancel: the task, from outside


@frozen
class Prompt:
    """One prompt: what the model says to it, and what else happens."""

    says: tuple[Step, ...] = ()
    words: int = 3
    stop: Stop | None = None
    queued: tuple[tuple[int, str], ...] = ()  # after so many updates, with this priority
    later: float = 0.0  # seconds since the one before


@frozen
class Scene:
    """The settings of a session."""

    window: int | None = None  # tokens; None: more than any script fills
    fallback: bool = False
    thinking: bool = False
    captions: bool = False
    snip: bool = False  # old rounds may be dropped
    partial: bool = False  # every stream event is shown
    counted: bool = True  # False: a server that reports no usage
    retries: int = 2
    max_turns: int | None = None
    budget_usd: float | None = None
    token_budget: int | None = None
    own_cap: int | None = None
    stop_hook: tuple[str, ...] = ()  # what it does each time it is asked, then nothing


@frozen
class Script:
    """A session: its prompts, and what the model says when it is asked for a summary.

    Where a list is at its end, the model says something short and good.
    """

    prompts: tuple[Prompt, ...]
    scene: Scene = Scene()
    summaries: tuple[Step, ...] = ()
    captions: tuple[Step, ...] = ()

    @property
    def stalls(self) -> bool:
        """Whether some answer is waited for in vain: then time limits decide."""
        steps = (*self.summaries, *self.captions, *(s for p in self.prompts for s in p.says))
        return any("stall" in _how(step) for step in steps)


def _how(step: Step) -> str:
    if isinstance(step, Refuse):
        return step.what
    return "" if step.broken is None else step.broken.how


# --- any of them -----------------------------------------------------------------------------

Calls = tuple[str, ...]


def _one_in(times: int, what: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """None, but once in so many times."""
    # `none() | none() | what` would be one in two: equal branches are one.
    chosen = st.sampled_from((False,) * (times - 1) + (True,))
    return chosen.flatmap(lambda yes: what if yes else st.none())


WORDS = st.sampled_from((2, 2, 2, 2, 0, 40, 900))
DRIPS = st.sampled_from((0.0, 0.0, 0.0, 0.0005, 0.003))
CALLS: st.SearchStrategy[Calls] = st.lists(
    st.sampled_from((*READS, *EFFECTS, *EFFECTS, *ODD)), min_size=1, max_size=4
).map(tuple)
NO_CALLS: st.SearchStrategy[Calls] = st.just(())
BROKEN = st.builds(
    Broken, at=st.sampled_from((0.0, 0.2, 0.5, 0.8, 0.95)), how=st.sampled_from(BREAKS)
)


def _says(
    calls: st.SearchStrategy[Calls],
    stop: st.SearchStrategy[str | None] = st.none(),  # noqa: B008 - a strategy is a value
    broken: st.SearchStrategy[Broken | None] = st.none(),  # noqa: B008
) -> st.SearchStrategy[Step]:
    return st.builds(
        Say,
        words=WORDS,
        calls=calls,
        thinks=st.booleans(),
        stop=stop,
        broken=broken,
        drip=DRIPS,
    )


ROUNDS = _says(CALLS)
CUT_OFF = _says(CALLS | NO_CALLS, broken=BROKEN)
# Answers that stop for every reason, with calls and without, and calls that were cut alone.
ENDS = _says(
    st.sampled_from(((), (), (), ("cut",), ("search",), ("bash",), ("write", "cut"))),
    stop=st.sampled_from((*STOPS, "max_tokens", "max_tokens", "max_tokens")),
)
REFUSED: st.SearchStrategy[Step] = st.builds(Refuse, what=st.sampled_from(REFUSALS))
STEPS: st.SearchStrategy[Step] = st.sampled_from(
    (ROUNDS, ROUNDS, ROUNDS, CUT_OFF, CUT_OFF, ENDS, ENDS, REFUSED, REFUSED, _says(NO_CALLS))
).flatmap(lambda chosen: chosen)
# Long enough for every attempt to fail: then another model takes over, if there is one.
OVERLOADS = st.just((Refuse("529 overloaded"),) * 4)
SAID = st.lists(
    st.sampled_from((*[STEPS.map(lambda step: (step,))] * 7, OVERLOADS)).flatmap(
        lambda chosen: chosen
    ),
    min_size=1,
    max_size=7,
).map(lambda parts: tuple(step for part in parts for step in part))
MOMENTS = st.builds(
    Stop,
    at=st.integers(1, 24),
    turns=st.integers(0, 24),
    again=_one_in(2, st.integers(0, 12)),
    how=st.sampled_from(("interrupt", "interrupt", "interrupt", "cancel")),
)
QUEUED = st.lists(
    st.tuples(st.integers(1, 30), st.sampled_from(("now", "next", "later"))), max_size=2
).map(tuple)


def prompts(
    stop: st.SearchStrategy[Stop | None],
    *,
    words: tuple[int, ...] = (3, 3, 3, 1200),
) -> st.SearchStrategy[Prompt]:
    return st.builds(
        Prompt,
        says=SAID,
        words=st.sampled_from(words),
        stop=stop,
        queued=QUEUED,
        later=st.sampled_from((0.0, 0.0, 400.0)),
    )


SCENES = st.builds(
    Scene,
    window=st.none(),
    fallback=st.booleans(),
    thinking=st.booleans(),
    captions=st.booleans(),
    snip=st.booleans(),
    partial=st.booleans(),
    counted=st.sampled_from((True, True, True, False)),
    retries=st.integers(0, 3),
    max_turns=_one_in(4, st.integers(1, 3)),
    budget_usd=_one_in(6, st.sampled_from((0.02, 0.1))),
    token_budget=_one_in(6, st.sampled_from((500, 20_000))),
    own_cap=_one_in(4, st.just(500)),
    stop_hook=_one_in(3, st.lists(st.sampled_from(STOP_HOOKS), min_size=1, max_size=10)).map(
        lambda found: tuple(found or ())
    ),
)
SMALL_SCENES = st.builds(
    Scene,
    window=st.sampled_from((9_000, 12_000, 20_000)),
    snip=st.booleans(),
    fallback=st.booleans(),
    thinking=st.booleans(),
    counted=st.sampled_from((True, True, True, False)),
    retries=st.integers(0, 2),
)


def scripts(
    scenes: st.SearchStrategy[Scene], each: st.SearchStrategy[Prompt], *, most: int
) -> st.SearchStrategy[Script]:
    return st.builds(
        Script,
        prompts=st.lists(each, min_size=1, max_size=most).map(tuple),
        scene=scenes,
        summaries=st.lists(STEPS, max_size=4).map(tuple),
        captions=st.lists(_says(NO_CALLS, broken=_one_in(3, BROKEN)) | REFUSED, max_size=3).map(
            tuple
        ),
    )


ANY = scripts(SCENES, prompts(st.none()), most=3)
IN_A_SMALL_WINDOW = scripts(
    SMALL_SCENES, prompts(st.none(), words=(3, 3, 3, 3, 3, 3, 1200, 1200, 1200, 8000)), most=4
)
STOPPED = scripts(SCENES | SMALL_SCENES, prompts(MOMENTS), most=6)
