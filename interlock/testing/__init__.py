"""For tests of agents: scripted ports, a fake clock, and `play`, which runs the loop over them.

The machine, the phases and the driver are the shipped ones; only the world is scripted. For whole
agents over real HTTP there is `scene`, with the scripted model server of `interlock.scripted`; for
assertions about a run's way, `Way`. Pytest plugins are modules of their own: `edges` (coverage of
the machines), `golden` (runs that are kept, and run again). docs/testing.md shows all of it.
"""

from interlock.scripted import ScriptedServer, reply, status, tool_use
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
from interlock.testing.scene import Ran, Scene, scene
from interlock.testing.way import Way

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
    "Ran",
    "Scene",
    "ScriptedExecutor",
    "ScriptedModel",
    "ScriptedServer",
    "SequentialIds",
    "Stage",
    "Way",
    "call",
    "cut",
    "fails",
    "observers",
    "play",
    "prompt",
    "reply",
    "says",
    "scene",
    "status",
    "texts",
    "tool",
    "tool_use",
]
