"""Children of an agent: other agents, each a run of the same machine.

Read `errand` for what a child is given and hands back, `crew` for how they are counted, watched
and ended, `nursery` for how one is made, `here` for how it runs. `definition`, `files` and
`catalogue` are about the types there are; `tools` are what a model calls.
"""

from interlock.agents.catalogue import Catalogue
from interlock.agents.crew import Crew, Tree
from interlock.agents.definition import AgentDefinition, BadDefinition, definition_of
from interlock.agents.errand import Errand, Report, Seat, Spawner
from interlock.agents.here import Here
from interlock.agents.nursery import Nursery

__all__ = [
    "AgentDefinition",
    "BadDefinition",
    "Catalogue",
    "Crew",
    "Errand",
    "Here",
    "Nursery",
    "Report",
    "Seat",
    "Spawner",
    "Tree",
    "definition_of",
]
