"""The runs that are killed: each short, and together they take every edge of both machines.

What a script of the fault tests can say, and beside it what happens at one moment of the run: the
user stops it, or a phase breaks. For every edge that a stop or a fault takes, the table says
which state that is; such plays are derived, none is listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import evolve, field, frozen

from fsm import Edge
from interlock.options import PermissionMode
from interlock.table import LOOP
from phases.guards import aborted
from phases.world.outcomes import Raised
from phases.world.states import State
from tests.crash.seam import Point
from tests.faults.script import Broken, Prompt, Refuse, Say, Scene, Script

Hooks = Mapping[str, Any]  # as in a settings file


@frozen(kw_only=True, eq=False)
class Play:
    """One session up to its end, whichever that is."""

    name: str
    script: Script
    environ: Mapping[str, str] = field(factory=dict)
    mode: PermissionMode = PermissionMode.BYPASS_PERMISSIONS
    hooks: Hooks = field(factory=dict)
    stop: Point | None = None  # where the user stops it
    breaks: State | None = None  # the phase that raises
    breaks_stopped: bool = False  # after the user asked to stop
    drains_nothing: bool = False  # what was staged turns out void

    def __str__(self) -> str:
        return self.name


def play(name: str, *says: Say | Refuse, **more: Any) -> Play:
    """A play of one prompt; what `more` says of the scene, the script or the play."""
    scene = {key: more.pop(key) for key in list(more) if key in _SCENE}
    summaries = more.pop("summaries", ())
    prompts = (Prompt(says=says, words=more.pop("words", 3)),)
    script = Script(prompts=prompts, scene=Scene(**scene), summaries=summaries)
    return Play(name=name, script=script, **more)


_SCENE = {each.name for each in Scene.__attrs_attrs__}


def entering(state: str, *, calls: bool = False, nth: int = 1) -> Point:
    """The user stops the run as it comes to this state."""
    return Point(what="calls" if calls else "trace", into=state, nth=nth, stops=True)


def at_the_start() -> Point:
    return Point(what="trace begun", stops=True)


def hook(event: str, command: str, matcher: str = "") -> Hooks:
    return {event: [{"matcher": matcher, "hooks": [{"type": "command", "command": command}]}]}


def calls(*what: str, **more: Any) -> Say:
    """A reply that makes these calls. `$ line` is a command of its own."""
    return Say(calls=what, **more)


TOO_LONG = Refuse("400 prompt too long")
OVERLOADED = Refuse("529 overloaded")
MEDIA = Refuse("400 image too large")
BAD = Refuse("400 bad request")
FULL = "model_context_window_exceeded"
# Reads that harm nobody may run side by side; the pipe keeps one of them at work.
WAITS = "$ cat /dev/zero | head -c 100000000000 | wc -c"
TAKES_ITS_TIME = "$ head -c 300000000 /dev/zero | wc -c; ls missing"
MARKS_AND_WAITS = "$ echo {mark} >> {work}/marks; sleep 60"
ONE_PLACE = {"INTERLOCK_MAX_CONCURRENT_TOOLS": "1"}
ROUNDS = (calls("bash giant"),) * 6  # enough for a small window to collapse old ones

OF_THE_LOOP: tuple[Play, ...] = (
    play(
        "work",
        calls("read a", "read b", "bash", thinks=True),
        calls("write", "edit", thinks=True),
        thinking=True,
        captions=True,
    ),
    play("no more money", calls("bash"), budget_usd=0.001),
    play("out of turns", calls("bash"), max_turns=1),
    play("overloaded, then another model", *(OVERLOADED,) * 3, calls("bash"), fallback=True),
    play("a block is refused", calls("bash"), Refuse("400 a block is refused")),
    play("compacted", calls("bash"), TOO_LONG),
    play("too long for good", calls("bash"), TOO_LONG, TOO_LONG),
    play("an image too many", calls("read pixel"), MEDIA, MEDIA),
    play("an image, and no room", MEDIA, words=1_000, window=9_000),
    play("too long, and no room", TOO_LONG, words=1_000, window=9_000),
    play("a prompt too large", words=12_000, window=9_000),
    play(
        "too large once more",
        calls("bash"),
        TOO_LONG,
        *(Say(words=4_000, stop="max_tokens"),) * 2,
        window=9_000,
        summaries=(Say(), *(BAD,) * 9),
    ),
    play("the window filled twice", Say(stop=FULL), Say(stop=FULL)),
    play("collapsed", *ROUNDS, TOO_LONG, window=12_000),
    play("collapses are void", *ROUNDS, TOO_LONG, window=12_000, drains_nothing=True),
    play(
        "collapses are void, and no way is left",
        *ROUNDS,
        TOO_LONG,
        window=12_000,
        drains_nothing=True,
        environ={"INTERLOCK_REACTIVE_COMPACT": "off"},
    ),
    play("cut", *(Say(stop="max_tokens"),) * 2),
    play("paused", calls("search", stop="pause_turn")),
    play("refused", Say(stop="refusal")),
    play("stop hooks send it back", calls("bash"), stop_hook=("blocks",) * 10),
    play("a stop hook forbids", calls("bash"), stop_hook=("prevents",)),
    play("a token budget", calls("bash"), token_budget=20_000),
    play(
        "a hook ends the run",
        calls("bash"),
        hooks=hook("PostToolUse", """echo '{"continue": false, "stopReason": "enough"}'"""),
    ),
)

OF_CALLS: tuple[Play, ...] = (
    play("a stream breaks off", calls("read a", "bash", "bash", broken=Broken(0.9, "close"))),
    play("no such tool", calls("unknown tool", "bad input", "read a nul", "bash fails")),
    play("not permitted", calls("bash", "write"), mode=PermissionMode.DEFAULT),
    play("at its time limit", calls(WAITS), environ={"BASH_DEFAULT_TIMEOUT_MS": "200"}),
    play(
        "stopped at work",
        calls(MARKS_AND_WAITS, "bash"),
        stop=entering("running", calls=True),
    ),
    play(
        "stopped while a hook judges",
        calls("bash"),
        hooks=hook("PreToolUse", "sleep 60"),
        stop=entering("checking", calls=True),
    ),
    play("side by side, and one fails", calls(WAITS, "$ ls missing")),
    play("one fails, one waits for its place", calls(TAKES_ITS_TIME, "$ ls"), environ=ONE_PLACE),
    play(
        "stopped while one waits for its place",
        calls(TAKES_ITS_TIME, "$ ls"),
        environ=ONE_PLACE,
        stop=entering("permitted", calls=True, nth=2),
    ),
)
AT_WORK = play("at work", calls("bash", MARKS_AND_WAITS, "bash", "write"))
SIDE_BY_SIDE = play("side by side", calls(WAITS, WAITS, "read a", "bash"))
IN_THE_BACKGROUND = play("in the background", calls("bash leaves"), calls("bash"))
ENDLESS = (AT_WORK, SIDE_BY_SIDE)  # but for the kill
ALL = (*OF_THE_LOOP, *OF_CALLS, IN_THE_BACKGROUND)


def derived(edge: Edge, base: Play) -> Play:
    """`base` comes to where the edge begins; there the user stops it, or the phase breaks."""
    source, breaks = edge.source, edge.outcome is Raised
    stops = aborted in edge.guards
    what = "stopped" if stops else "broken"
    first = edge.source is LOOP.initial
    return evolve(
        base,
        name=f"{base.name}, {'broken and ' if breaks and stops else ''}{what} at {source}",
        stop=None if breaks or not stops else at_the_start() if first else entering(source),
        breaks=State(source) if breaks else None,
        breaks_stopped=breaks and stops,
    )


def is_derived(edge: Edge) -> bool:
    """Whether a stop or a fault of ours takes it, and no script."""
    return aborted in edge.guards or edge.outcome is Raised


def named(name: str) -> Play:
    """The play of this name."""
    return next(each for each in ALL if each.name == name)
