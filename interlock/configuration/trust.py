"""What files of a repository may not say: nobody has read them when it was just cloned.

They may add rules and hooks, and tighten anything: that is what users put into them. They may not
take over the agent: switch permissions off, choose where requests and keys go, run a program by a
variable that every program obeys, or open the user's own folders. Such a setting is left out with
a warning; `--setting-sources user` leaves out the rest of them too.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from interlock.configuration.origin import Source
from interlock.configuration.schema import Found
from interlock.options import PermissionMode

# Harmless although the rest of ANTHROPIC_… says where requests go and with which key.
_MODELS = re.compile(r"ANTHROPIC_(MODEL|SMALL_FAST_MODEL|DEFAULT_[A-Z]+_MODEL)")
_STEERING = re.compile(
    r"""
    ANTHROPIC_.* | AWS_.* | CLAUDE_CONFIG_DIR | CLAUDE_CODE_ENTRYPOINT | INTERLOCK_(HOME|DEBUG)
    # where requests go, and whose certificates are believed
    | (HTTPS?|ALL|NO|FTP)_PROXY | SSL_CERT_(FILE|DIR) | (REQUESTS|CURL)_CA_BUNDLE
    | NODE_EXTRA_CA_CERTS | NODE_TLS_REJECT_UNAUTHORIZED | SSLKEYLOGFILE
    # which program runs, and what it loads first
    | PATH | HOME | TMPDIR | XDG_.* | (LD|DYLD)_.* | GCONV_PATH
    | SHELL | IFS | CDPATH | ENV | BASH_ENV | BASH_FUNC_.* | BASHOPTS | SHELLOPTS | PS[0-4]
    | PROMPT_COMMAND | ZDOTDIR
    | PYTHON.* | PIP_.* | UV_.* | NODE_(OPTIONS|PATH) | NPM_CONFIG_.* | PERL.* | RUBY(OPT|LIB)
    | GEM_.* | CLASSPATH | (JAVA_TOOL|_JAVA|JDK_JAVA)_OPTIONS | LUA_(INIT|PATH|CPATH).*
    | GO(FLAGS|PROXY|ROOT) | CARGO_.* | RUSTC(_WORKSPACE)?_WRAPPER | (GNU)?MAKEFLAGS | CC | CXX
    # what other programs start
    | GIT_.* | SSH_.* | (MAN|SYSTEMD_)?PAGER | LESS(OPEN|CLOSE|EDIT|KEY.*)? | EDITOR | VISUAL
    | BROWSER | DOCKER_.* | KUBECONFIG
    """,
    re.VERBOSE | re.IGNORECASE,
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
            return f"env.{found.name} is not taken from files of a project"
        case "apiKeyHelper":
            return "apiKeyHelper is not run from files of a project"
        case "permissions.defaultMode" if found.value is PermissionMode.BYPASS_PERMISSIONS:
            return f"{found.key} bypassPermissions is not taken from files of a project"
        case "permissions.additionalDirectories" if _opens_home(folder_of(found, user), user):
            return f"{found.key} {found.value!r} is not taken from files of a project"
    return None


def steers(name: str) -> bool:
    """Whether a variable decides what programs do, rather than what they work on."""
    return _STEERING.fullmatch(name) is not None and _MODELS.fullmatch(name) is None


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
