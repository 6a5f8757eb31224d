"""Local plugins: a folder with commands, skills, agents, hooks and MCP servers, read into data.

What is read here is only where each part lies and what it is called; what a command says, whether
a hook can be understood, how a server is started is for those who run them. Nothing is installed,
and no folder is looked for: a plugin is one because somebody named its folder.
"""

from interlock.plugins.plugin import Part, Plugin, Plugins, Problem, Sort, Text
from interlock.plugins.reading import read_plugins

__all__ = ["Part", "Plugin", "Plugins", "Problem", "Sort", "Text", "read_plugins"]
