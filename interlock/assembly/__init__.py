"""Options and settings in, a runnable agent out: the only place that builds all parts.

Services are strangers to one another and meet here. `agent` says in which order the parts are
made, which is the order in which they end, backwards: `basis`, `guards`, `equipment`, `line`,
`work`.
"""

from interlock.assembly.agent import open_agent
from interlock.assembly.basis import DEFAULT_MODEL

__all__ = ["DEFAULT_MODEL", "open_agent"]
