"""What files of a repository may not say: nobody has read them when it was just cloned.

They may add rules and hooks, and tighten anything: that is what users put into them. They may not
take over the agent: switch permissions off, choose where requests and keys go, say anything to us
by a variable, run a program by one that other programs obey, loosen what bounds a run, or open the
user's own folders. Such a setting is left out with a warning; `--setting-sources user` leaves out
the rest of them too.
"""

from __future__ import annotations

import os
from pathlib import Path

from interlock.configuration.origin import Source
from interlock.configuration.schema import Found
from interlock.configuration.steering import steers
from interlock.options import PermissionMode
from phases.world.messages import Json

# What is shown of a conversation, and when it is made smaller: the most that a stranger does with
# these is to waste room. What bounds a run (tries, waits, the tokens of an answer), gives hooks
# their say, or forgets for good is the user's. A new limit is so too, until it stands here.
LIMITS_OF_ANYBODY = frozenset(
    {
        "context_window",
        "window_reserve",
        "tool_output_cap",
        "turn_output_cap",
        "tool_heartbeat_s",
        "microcompact_keep_turns",
        "microcompact_least_turns",
        "microcompact_share",
        "microcompact_growth",
        "cache_lifetime_s",
        "collapse_keep_turns",
        "collapse_stage_share",
        "collapse_worth",
        "collapse_commit_share",
        "compact_threshold",
        "summary_reserve",
        "keepsake_budget",
        "keepsake_files",
        "mcp_defer_share",
    }
)
# Likewise. Of `snip`, which forgets the user's words too, only the switching off.
FEATURES_OF_ANYBODY = frozenset(
    {
        "output_cap",
        "reactive_compact",
        "result_budget",
        "microcompact",
        "context_editing",
        "collapse",
        "autocompact",
    }
)
_MANAGED_ONLY = frozenset({"allowManagedHooksOnly", "allowManagedPermissionRulesOnly"})
_MOVES_US = frozenset({"INTERLOCK_HOME", "CLAUDE_CONFIG_DIR"})


def objection(found: Found, user: Path) -> str | None:
    """Why a setting is left out; None if it counts. `user` is the user's home folder."""
    source = found.origin.source
    if found.key in _MANAGED_ONLY and source is not Source.MANAGED:
        return f"{found.key} counts in managed settings only"
    if found.key == "env" and found.name in _MOVES_US:
        return f"env.{found.name} has no effect in settings, which lie there: set it in the shell"
    return _from_repository(found, user) if source.from_repository else None


def _from_repository(found: Found, user: Path) -> str | None:
    match found.key:
        case "env" if steers(found.name):
            words = f"env.{found.name} is not taken from files of a project"
            return f"{words}; put it into your own settings"
        case "interlock.limits" if found.name not in LIMITS_OF_ANYBODY:
            return f"{found.key}.{found.name} is not taken from files of a project"
        case "interlock.features" if not _harmless(found.name, found.value):
            return f"{found.key}.{found.name} is not taken from files of a project"
        case "fileCheckpointingEnabled" | "cleanupPeriodDays" | "interlock.fsync":
            return f"{found.key} is not taken from files of a project"
        case "enableAllProjectMcpServers" | "enabledMcpjsonServers":
            return f"{found.key} is not taken from files of a project: it would trust itself"
        case "remotes":
            return "remotes are not taken from files of a project; put them into your own settings"
        case "apiKeyHelper":
            return "apiKeyHelper is not run from files of a project"
        case "autoMemoryDirectory":
            return "autoMemoryDirectory is not taken from files of a project"
        case "autoMemoryEnabled" if found.value is True:
            return "autoMemoryEnabled is switched on by the user's own settings only"
        case "disableSkillShellExecution" if found.value is False:
            return "disableSkillShellExecution is switched off by the user's own settings only"
        case "permissions.defaultMode" if found.value is PermissionMode.BYPASS_PERMISSIONS:
            return f"{found.key} bypassPermissions is not taken from files of a project"
        case "permissions.additionalDirectories" if _opens_home(folder_of(found, user), user):
            return f"{found.key} {found.value!r} is not taken from files of a project"
    return None


def _harmless(feature: str, word: Json) -> bool:
    return feature in FEATURES_OF_ANYBODY or (feature == "snip" and word == "off")


def folder_of(found: Found, user: Path) -> Path:
    """The folder that an entry of additionalDirectories names, as a real path."""
    named = str(found.value)
    if named == "~" or named.startswith("~/"):
        return Path(os.path.realpath(user / named[2:]))
    if named.startswith("//"):  # as in rules
        named = "/" + named.lstrip("/")
    return Path(os.path.realpath(found.document.file.folder / named))


def _opens_home(folder: Path, user: Path) -> bool:
    user = Path(os.path.realpath(user))
    if user.is_relative_to(folder):
        return True
    return folder.is_relative_to(user) and folder.relative_to(user).parts[0].startswith(".")
