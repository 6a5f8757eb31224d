"""For tests of agents: scripted ports, a fake clock, and `play`, which runs the loop over them.

The machine, the phases and the driver are the shipped ones; only the world is scripted. For
runs over real HTTP there is the scripted model server, `interlock.scripted`.
"""

from interlock.testing.play import Played, Stage, observers, play
from interlock.testing.ports import (
    CHAIN,
    Answer,
    Captions,
    CollapseStore,
    FakeClock,
    Hooks,
    MemoryHistory,
    Queue,
    ScriptedExecutor,
    ScriptedModel,
    SequentialIds,
    call,
    cut,
    fails,
    prompt,
    says,
    texts,
    tool,
)

__all__ = [
    "CHAIN",
    "Answer",
    "Captions",
    "CollapseStore",
    "FakeClock",
    "Hooks",
    "MemoryHistory",
    "Played",
    "Queue",
    "ScriptedExecutor",
    "ScriptedModel",
    "SequentialIds",
    "Stage",
    "call",
    "cut",
    "fails",
    "observers",
    "play",
    "prompt",
    "says",
    "texts",
    "tool",
]
