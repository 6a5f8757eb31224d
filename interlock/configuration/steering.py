"""The variables by which programs are steered: what they load, run, believe and send where to.

A list of names and endings that are known to do so, for whoever must not be steered by strangers.
It cannot be complete: a program may obey any name. Ours are all on it, whatever they mean.
"""

from __future__ import annotations

import re
from functools import cache

_STEERING = r"""
    # this agent, and those that read the same names: each has its place in settings, or none
    (INTERLOCK|CLAUDE|ANTHROPIC)_.* | CLAUDECODE
    # where requests and keys go, and whose certificates are believed
    | AWS_.* | CLOUDSDK_.* | GH_(HOST|PATH)
    | .*_PROXY | SSL_CERT_(FILE|DIR) | .*_CA_(BUNDLE|CERTS?|FILE|PATH)
    | NODE_TLS_REJECT_UNAUTHORIZED | SSLKEYLOGFILE | OPENSSL_.* | GNUPGHOME | GPG_.*
    # which program runs, and what the loader and the shell read first
    | HOME | .*_HOME | USER | LOGNAME | TMP | TEMP | TMPDIR | XDG_.* | DBUS_.* | SUDO_.*
    | [A-Z0-9]*PATH | (LD|DYLD)_.* | GCONV_PATH | GLIBC_TUNABLES | NIX_.*
    | SHELL | IFS | ENV | BASH_(ENV|FUNC_.*|LOADABLES_PATH|XTRACEFD|COMPAT) | BASHOPTS | SHELLOPTS
    | PS[0-4] | PROMPT_COMMAND | ZDOTDIR | ZSH.* | HISTFILE
    # languages, their tools and their packages
    | PYTHON.* | PYTEST_.* | PIP_.* | PIPENV_.* | UV_.* | POETRY_.* | PDM_.* | CONDA_.* | PYENV_.*
    | VIRTUAL_ENV | (TOX|NOX|COVERAGE|MYPY|JUPYTER)_.* | IPYTHONDIR
    | NODE_(OPTIONS|PATH|EXTRA_CA_CERTS|REPL_.*)
    | (NPM|YARN|PNPM|BUN|DENO|COREPACK|NVM|FNM|VOLTA|ELECTRON)_.*
    | TS_NODE_.* | PERL.* | RUBY.* | (GEM|BUNDLE|RBENV)_.* | PHP_INI_SCAN_DIR | COMPOSER_.*
    | (JAVA|JDK|_JAVA|MAVEN|GRADLE|ANT|SBT)_.* | (DOTNET|CORECLR|COR|COMPLUS|NUGET|MSBUILD)_.*
    | LUA_(INIT|PATH|CPATH).* | (ERL|ELIXIR|MIX|JULIA|GHC|CABAL|STACK|OCAML|OPAM|GUILE)_.*
    | R_(PROFILE|ENVIRON|LIBS).*
    | GO(FLAGS|PROXY|ROOT|ENV|BIN|TOOLCHAIN|(NO)?SUMDB|NOPROXY|INSECURE|PRIVATE|WORK|VCS|AUTH)
    | CGO_.* | CARGO(_.*)? | RUSTC(_.*)? | RUSTDOC | RUSTUP_.* | (ASDF|MISE|DIRENV)_.*
    # compilers and what builds with them: their flags load plugins, and can name other compilers
    | CC | CXX | CPP | FC | LD | AS | AR | NM | RANLIB | STRIP | [A-Z]*FLAGS | MAKE | MAKEFILES
    | (CMAKE|CCACHE|SCCACHE|DISTCC)_.* | PKG_CONFIG.* | CONFIG_(SITE|SHELL) | GCC_EXEC_PREFIX
    | LIBRARY_PATH | [A-Z]+_INCLUDE_PATH
    # other people's tools, and what they start
    | GIT_.* | SSH_.* | (RSYNC|SVN)_.* | CVS_RSH | HG[A-Z]* | (FZF|BAT|DELTA)_.*
    | LESS(OPEN|CLOSE|EDIT|KEY.*)? | PAGER | EDITOR | VISUAL | BROWSER | EXINIT | [A-Z]*VIMINIT
    | (DOCKER|BUILDKIT|KUBE|HELM|ANSIBLE|VAGRANT|CURL)_.* | KUBECONFIG
    | TF_(CLI|PLUGIN|REATTACH|DATA).* | CHROME_(BIN|PATH)
    # whatever the program: names that end so hold code, options, or the way to a file of these
    | .*_(ADDOPTS|OPTS?|OPTIONS|ARGS|FLAGS|PLUGINS?|MODULES?_PATH|HOOKS|PRELOAD|STARTUP)
    | .*_(CONFIG|CONF|CONFIG_(PATH|FILE|DIR)|RC|RCFILE|RC_FILES?) | [A-Z0-9]{3,}RC | [A-Z0-9]+OPTS?
    | .*_(PLUGIN|LIBRARY|EXEC|EXECUTABLE)_(PATH|DIR|FILE)
    | .*_(MODULES|EXTRA_MODULES|EXECUTABLE)
    | MANPAGER | .*_(PAGER|EDITOR|BROWSER|SHELL|RSH|CMD|COMMAND|WRAPPER|LAUNCHER|ASKPASS)
    """


def steers(name: str) -> bool:
    """Whether a variable decides what programs do, rather than what they work on."""
    return _pattern().fullmatch(name) is not None


@cache
def _pattern() -> re.Pattern[str]:
    # Compiled for the first name: it takes 8 ms, and few sessions set variables.
    return re.compile(_STEERING, re.VERBOSE | re.IGNORECASE)
