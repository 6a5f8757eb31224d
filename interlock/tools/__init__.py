"""The tools a model can call, and the executor that runs their calls."""

from interlock.tools.ask_user import NobodyThere, Person, UserAnswer, UserQuestion
from interlock.tools.bash import Bash, ShellSettings
from interlock.tools.decorate import BadTool, FunctionTool, tool
from interlock.tools.executor import ToolExecutor
from interlock.tools.perform import ToolSession
from interlock.tools.plan import PlanMode
from interlock.tools.reads import FileReads
from interlock.tools.registry import (
    NameTaken,
    UnknownTool,
    built_in,
    chosen,
    meant,
    names,
    with_own,
)
from interlock.tools.seams import (
    After,
    Before,
    Confinement,
    NoHooks,
    Notices,
    Permissions,
    ToolHooks,
)
from interlock.tools.shell_state import ShellState
from interlock.tools.skill import Apart, Elsewhere, Instructions
from interlock.tools.sleep import Arrivals, Sleep
from interlock.tools.todo import TodoList
from interlock.tools.tool import Arguments, Output, Tool, ToolContext, ToolError, Touches
from interlock.tools.web.addresses import Network
from interlock.tools.web.fetch import WebSettings

__all__ = [
    "After",
    "Apart",
    "Arguments",
    "Arrivals",
    "BadTool",
    "Bash",
    "Before",
    "Confinement",
    "Elsewhere",
    "FileReads",
    "FunctionTool",
    "Instructions",
    "NameTaken",
    "Network",
    "NoHooks",
    "NobodyThere",
    "Notices",
    "Output",
    "Permissions",
    "Person",
    "PlanMode",
    "ShellSettings",
    "ShellState",
    "Sleep",
    "TodoList",
    "Tool",
    "ToolContext",
    "ToolError",
    "ToolExecutor",
    "ToolHooks",
    "ToolSession",
    "Touches",
    "UnknownTool",
    "UserAnswer",
    "UserQuestion",
    "WebSettings",
    "built_in",
    "chosen",
    "meant",
    "names",
    "tool",
    "with_own",
]
