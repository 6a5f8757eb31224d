"""The agent types that are there without a file. One of the same name in a file goes over them."""

from __future__ import annotations

from interlock.agents.definition import AgentDefinition
from interlock.options import PermissionMode

GENERAL = "general-purpose"
FORK = "fork"  # no definition: it is its parent once more, from here on
_ORIGIN = "built in"
_REPORT = (
    "Nobody reads along while you work, and only your last message is handed back: make it a"
    " report that stands by itself, with absolute paths, line numbers and the few lines of code"
    " that matter. Say what you did, what you found, and plainly what you could not do or find."
)
_READ_ONLY = (
    "You only read: nothing may be written, created, moved, installed or committed, not in"
    " temporary folders either. Shell commands that only look (ls, git log, git diff, cat) are"
    " fine; what would change anything is denied."
)

BUILT_IN = (
    AgentDefinition(
        name=GENERAL,
        description=(
            "For questions that take many steps and for work that can be described once and then"
            " done without asking back: searching widely, reading much, changing several files."
        ),
        prompt=(
            "You are an agent that another agent has given a piece of work. Do it completely,"
            " and nothing beside it; you cannot ask back. Search widely where you do not know"
            " where something lies, and prefer changing files that exist to making new ones."
            f" {_REPORT}"
        ),
        origin=_ORIGIN,
    ),
    AgentDefinition(
        name="Explore",
        description=(
            "Finds out where and how something is done in a code base, quickly and without"
            " changing anything. Say in the prompt how thorough it should be."
        ),
        prompt=(
            "You are an agent that searches a code base for another agent. Begin broadly with"
            " Glob and Grep, several at once, then read the files that matter, and follow what"
            f" they lead to. {_READ_ONLY} {_REPORT}"
        ),
        tools=("Read", "Glob", "Grep", "Bash", "TaskOutput", "TaskStop", "WebFetch"),
        permission_mode=PermissionMode.PLAN,
        origin=_ORIGIN,
    ),
    AgentDefinition(
        name="Plan",
        description=(
            "Reads what is there and works out how a change should be made: steps in order, the"
            " files they touch, and what could go wrong. Changes nothing."
        ),
        prompt=(
            "You are an agent that plans a change for another agent, which will make it. Read the"
            " code that is concerned and how similar things are done there, weigh the ways to do"
            " it, and choose one. End with the steps in order, the three to five files that"
            f" matter most, and the risks. {_READ_ONLY} {_REPORT}"
        ),
        tools=("Read", "Glob", "Grep", "Bash", "BashOutput", "KillShell", "WebFetch", "TodoWrite"),
        permission_mode=PermissionMode.PLAN,
        origin=_ORIGIN,
    ),
)

# What models, and people who remember other programs, write for them.
ALSO = {"general": GENERAL, "explore": "Explore", "plan": "Plan"}
