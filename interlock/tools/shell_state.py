"""What one command leaves for the next: the folder, and the variables it exported or unset.

The shell itself tells, through a descriptor that only it writes to: nothing is put on disk, so a
secret in a variable is in no file. A shell that is ended, or breaks its own report, leaves things
as they were before. Options, functions, aliases and variables that are not exported are not kept.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from attrs import field, frozen

from interlock.tools.processes import MARK
from phases.world.messages import Json

# All on one line: so the lines bash complains of are the command's own, and the end has been read
# before a command with quotes that do not close, after which bash knows its own grammar no more.
# What is ours is silent under `set -x`, too.
_SCRIPT = 'eval "$1"; eval "$__interlock_line"; { __interlock_end; } 2>/dev/null'
# The command runs through eval so that `cd` and `export` last. A child must not hold the report's
# descriptor, but in a function the shell's end comes before a redirection's: so it is closed on
# exec, as are the copies that bash puts away, of which it is made. A trap of the command's own
# replaces ours; `exit` puts ours around it. Not `trap`: in a function it cannot take away ERR.
# Only builtins: a variable may be too long for any program to be started.
_SETUP = """
for __interlock_name in {{10..40}}; do
  [ -e "/dev/fd/$__interlock_name" ] || break
done
exec {own}>&{given}
{{ exec {own}>&"$__interlock_name"; }} {given}>&- 2>/dev/null
exec {given}>&-
__interlock_tell() {{
  local IFS=$'\\n' __interlock_names __interlock_name
  __interlock_names=$(compgen -e) || return
  printf '@\\0%s\\0' "$PWD"
  for __interlock_name in $__interlock_names; do
    if [ "${{!__interlock_name+x}}" ]; then
      printf '%s=%s\\0' "$__interlock_name" "${{!__interlock_name}}"
    fi
  done
  printf '@@\\0'
}}
__interlock_exit() {{
  local __interlock_code=$?
  [ "${{__interlock_told-}}$BASH_SUBSHELL" != 0 ] || __interlock_tell >&{own}
  return "$__interlock_code"
}}
__interlock_end() {{
  local __interlock_code=$?
  __interlock_tell >&{own}
  __interlock_told=1
  return "$__interlock_code"
}}
__interlock_around() {{
  eval "set -- $(builtin trap -p EXIT)"
  case ${{3-}} in
    *__interlock_exit*) ;;
    *) builtin trap -- "{{ __interlock_exit && :; }} 2>/dev/null
${{3-}}
{{ __interlock_exit; }} 2>/dev/null" EXIT ;;
  esac
}}
exit() {{
  {{
    local __interlock_code=$?
    if [ "${{__interlock_exiting-}}$BASH_SUBSHELL" = 0 ]; then
      __interlock_exiting=1
      __interlock_around
      [ "$#" != 0 ] || set -- "$__interlock_code"
    fi
  }} 2>/dev/null
  builtin exit "$@"
}}
builtin trap '{{ __interlock_exit; }} 2>/dev/null' EXIT
__interlock_line=$2
set --
printf '+\\0' >&{own}
"""
# Far from the numbers that commands and bash itself use.
_OWN = (187, 188)
_BEGUN, _STATE, _END = b"+", b"@", b"@@"
MOST_REPORTED = 4 << 20  # bytes; what is longer is no environment a program could be given
# A program gets at most 128 KiB in one string on Linux, and 1 MiB in all on macOS.
_MOST_OF_ONE = (128 << 10) - 1
_MOST_OF_ALL = 512 << 10
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
# Made anew by each shell; or they would steer how the next one starts, `set -n` among them.
_NOT_KEPT = frozenset(
    {"_", "SHLVL", "PWD", "IFS", "SHELLOPTS", "BASHOPTS", "BASH_ENV", "ENV", MARK}
)


@frozen(kw_only=True)
class Report:
    """What a shell told about itself."""

    begun: bool = False  # it came as far as the command
    folder: Path | None = None
    exported: Mapping[str, str] | None = None  # all of them; None: it could not tell

    @classmethod
    def read(cls, told: bytes) -> Report:
        """The last whole one counts. It comes from the command's own shell: believe no form."""
        fields = told.split(b"\0")[:-1]
        begun = fields[:1] == [_BEGUN]
        if _END not in fields:
            return cls(begun=begun)
        end = len(fields) - 1 - fields[::-1].index(_END)
        start = max((at for at in range(end) if fields[at] == _STATE), default=None)
        if start is None or start + 1 >= end:
            return cls(begun=begun)
        folder = os.fsdecode(fields[start + 1])
        pairs = (os.fsdecode(one).partition("=") for one in fields[start + 2 : end])
        return cls(
            begun=begun,
            folder=Path(folder) if folder.startswith("/") else None,
            exported={name: value for name, _, value in pairs if _kept(name)},
        )


@frozen(kw_only=True)
class ShellState:
    """What commands have changed of what the session began with.

    Only the difference is held, so what the user's own environment says (and hides) is no part
    of it. `as_data` may hold secrets that a command exported: keep it where only the user reads.
    """

    folder: Path | None = None  # None: no command has run
    exported: Mapping[str, str] = field(factory=dict)
    unset: frozenset[str] = frozenset()

    def over(self, environment: Mapping[str, str]) -> dict[str, str]:
        """The environment of the next command."""
        kept = {name: value for name, value in environment.items() if name not in self.unset}
        return {**kept, **self.exported}

    def after(self, begun: Mapping[str, str], now: Mapping[str, str]) -> ShellState:
        """What a command that began with one environment and ended with another leaves.

        Its changes alone are taken over: another command may have ended in between. Raises
        TooLarge.
        """
        changed = {
            name: value for name, value in now.items() if _kept(name) and begun.get(name) != value
        }
        gone = {name for name in begun if _kept(name) and name not in now}
        exported = {n: v for n, v in {**self.exported, **changed}.items() if n not in gone}
        _insist_on_size(exported)
        return ShellState(
            folder=self.folder,
            exported=exported,
            unset=(self.unset - changed.keys()) | gone,
        )

    @property
    def is_clean(self) -> bool:
        return not self.exported and not self.unset

    def as_data(self) -> dict[str, Json]:
        """As JSON can hold it; bytes that are no UTF-8 are lone surrogates (`surrogateescape`)."""
        return {
            "folder": str(self.folder) if self.folder is not None else None,
            "exported": dict(self.exported),
            "unset": sorted(self.unset),
        }

    @classmethod
    def of_data(cls, data: Mapping[str, Json]) -> ShellState:
        folder = data["folder"]
        return cls(
            folder=Path(folder) if folder is not None else None,
            exported=dict(data["exported"]),
            unset=frozenset(data["unset"]),
        )


def wrapped(line: str, report: int) -> tuple[str, ...]:
    """What bash is given to run this line and report to this descriptor."""
    own = next(number for number in _OWN if number != report)
    return ("-c", _SCRIPT, "bash", _SETUP.format(given=report, own=own), line)


class TooLarge(ValueError):
    """Variables that no program could be started with. The text is for the model."""


def _kept(name: str) -> bool:
    return (
        _NAME.fullmatch(name) is not None
        and name not in _NOT_KEPT
        and not name.startswith("__interlock")
    )


def _insist_on_size(exported: Mapping[str, str]) -> None:
    sizes = {name: len(name) + 1 + len(os.fsencode(value)) for name, value in exported.items()}
    long = sorted(name for name, size in sizes.items() if size > _MOST_OF_ONE)
    if long:
        raise TooLarge(f"{_listed(long)}: longer than the {_MOST_OF_ONE} bytes a program can get")
    if sum(sizes.values()) > _MOST_OF_ALL:
        largest = sorted(sizes, key=lambda name: -sizes[name])[:3]
        raise TooLarge(f"more than {_MOST_OF_ALL} bytes, most of it in {_listed(largest)}")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)
