"""Bash: run a command line in the session's folder."""

from __future__ import annotations

import atexit
import math
import os
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path

from attrs import evolve, frozen

from interlock.permissions import reads_only, runs_nothing
from interlock.tools.background import Background
from interlock.tools.background_log import MAX_ON_DISK, Log
from interlock.tools.ending import how_it_ended, left_behind
from interlock.tools.excerpt import Excerpt
from interlock.tools.paths import brief, unusable
from interlock.tools.seams import Confinement, Notices
from interlock.tools.shell import Command, Finished
from interlock.tools.shell_state import ShellState, TooLarge
from interlock.tools.tool import Arguments, Output, Tool, ToolContext, ToolError, Touches
from interlock.tools.watchdog import Watchdog

_ROOM_FOR_NOTES = 1_500  # characters below the cap for what we say about the end
_MOST_SHOWN = 8_192  # characters of live progress at a time
_LONGEST_LINE = 120_000  # bytes; a program gets at most 128 KiB in one argument on Linux
_NOT_BEGUN = (
    "(The shell did not come as far as the command. In case variables that earlier commands"
    " exported are the reason, they are as at the session's start again: run it once more.)"
)
_NOT_TOLD = (
    "(Folder and exported variables are as before this command: its shell ended before it could"
    " tell them, as `exec`, a signal, or `set -e` with a trap on EXIT make it.)"
)
# Nothing may wait for a person who is not there, or colour what a model reads.
_ENVIRONMENT = {
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
}


@frozen(kw_only=True)
class ShellSettings:
    """Seconds. `environment` None: this process's own."""

    default_timeout: float = 120.0  # BASH_DEFAULT_TIMEOUT_MS
    max_timeout: float = 600.0  # BASH_MAX_TIMEOUT_MS
    environment: Mapping[str, str] | None = None
    confinement: Confinement | None = None  # None: a command may do what its user may
    notices: Notices | None = None  # where the end of a background command is told


class Bash(Tool):
    name = "Bash"
    time_limit = None  # its own, per call
    falls_with_siblings = True
    description = (
        "Runs a command line with bash and returns what it prints, standard output and errors"
        " together in order, and its exit code if that is not 0.\n"
        "- The working folder and exported variables are kept from call to call (`cd`, `export`,"
        " `unset`, `source venv/bin/activate`); other variables, functions, aliases and options"
        " of the shell are not. After a time limit or an interrupt both are as before the call;"
        " where the shell ends so that it cannot tell them (`exec`), that is said. Write `cd` only"
        " where you mean to stay there.\n"
        "- There is no terminal and standard input is empty: a program that asks gets no answer."
        " Give options such as `--yes` or `-m`.\n"
        "- `timeout` is in milliseconds; by default a command has 120000, at most 600000. At the"
        " limit the command and all it started are ended, save a daemon that hides (cleared"
        " environment, own session, no output), and what it had printed is returned.\n"
        "- With `run_in_background` the call returns at once with an id, for what takes long or"
        " never ends: a server, a build. It has no time limit unless you give `timeout`; what it"
        " changes of folder and variables is not kept. TaskOutput shows what it prints, TaskStop"
        " ends it, a notice comes when it has ended: do not wait for it with `sleep`. Of its"
        f" output the first {MAX_ON_DISK >> 20} MiB and the newest are kept.\n"
        "- A program started with `&` goes on after the call, too. All of them end when the"
        " session ends.\n"
        "- Of long output the beginning and the end are shown, and the file with all of it is"
        " named.\n"
        "- Use Read, Grep, Glob, Edit and Write instead of cat, grep, find and sed: they need"
        " less approval and show more. Quote paths that hold blanks. Chain commands that depend"
        " on each other with `&&` in one call."
    )
    input_schema = {  # noqa: RUF012 (never changed)
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": "The command line."},
            "timeout": {
                "type": "integer",
                "description": "Time limit in milliseconds.",
                "minimum": 1,
            },
            "run_in_background": {
                "type": "boolean",
                "description": "Return at once, and let the command go on.",
            },
            "description": {
                "type": "string",
                "description": "What the command is for, in five to ten words, for the user.",
            },
        },
        "required": ["command"],
        "additionalProperties": False,
    }

    def __init__(self, settings: ShellSettings | None = None) -> None:
        self._settings = settings or ShellSettings()
        self.state = ShellState()
        confinement = self._settings.confinement
        if confinement is not None and confinement.description:
            self.description = f"{type(self).description}\n{confinement.description}"
        self._session = secrets.token_hex(8)
        self._watchdog = Watchdog(f"{self._session}.")
        self.background = Background(self._settings.notices, self._watchdog.mind)
        self._registered = False
        self._announced: Path | None = None  # a folder whose end the model has been told of

    def effects(self, arguments: Arguments) -> bool:
        return not runs_nothing(arguments["command"])

    def concurrency_safe(self, arguments: Arguments) -> bool:
        return reads_only(arguments["command"])

    def touches(self, arguments: Arguments, cwd: Path) -> Touches:
        return Touches(command=arguments["command"])

    async def run(self, arguments: Arguments, context: ToolContext) -> Output:
        line = _checked(arguments["command"])
        cwd, notes = self._folder(context)
        self._guard()
        if arguments.get("run_in_background"):
            return self._in_background(line, cwd, notes, arguments, context)
        excerpt = Excerpt(
            max(500, context.limits.tool_output_cap - _ROOM_FOR_NOTES),
            context.spill / f"{context.call_id}.txt",
        )

        def write(text: str) -> None:
            if text:
                excerpt.add(text)
                # Who watches a flood cannot read it: its newest part is enough.
                context.progress(text if len(text) <= _MOST_SHOWN else text[-_MOST_SHOWN:])

        context.so_far = excerpt.text
        limit = self._limit(arguments)
        environment = self._environment()
        command = self._command(line, cwd, environment, context, time_limit=limit, write=write)
        try:
            command.start()
            self._watchdog.mind(command.output)
            finished = await command.follow()
        finally:
            excerpt.close()
        if finished.running:
            self._watchdog.mind(str(finished.session))
        context.cwd = finished.report.folder or cwd
        notes += [
            *self._vanished(context),
            *_ending(finished, limit),
            *left_behind(finished),
            *command.settled,
            *self._keep(finished, environment),
        ]
        self.state = evolve(self.state, folder=context.cwd)
        output = excerpt.text().strip("\n") or ("" if notes else "(no output)")
        failed = finished.timed_out or finished.code != 0
        said = "\n".join([output, *notes]).strip("\n")
        return Output(said, is_error=failed, timed_out=finished.timed_out)

    def _in_background(
        self,
        line: str,
        cwd: Path,
        notes: list[str],
        arguments: Arguments,
        context: ToolContext,
    ) -> Output:
        limit = math.inf if arguments.get("timeout") is None else arguments["timeout"] / 1000

        def command(log: Log) -> Command:
            environment = self._environment()
            return self._command(line, cwd, environment, context, time_limit=limit, write=log.add)

        path = context.spill / f"{context.call_id}-background.txt"
        one = self.background.start(command, path, context.use_id)
        return Output("\n".join([f"Running in the background as {one.id}.", *notes]))

    def _folder(self, context: ToolContext) -> tuple[Path, list[str]]:
        """Where to run, with a note if that is not where the model thinks it is."""
        why = unusable(context.cwd)
        if why is None:
            return context.cwd, []
        cwd = _nearest(context.cwd, context.root)
        if context.cwd == self._announced:
            return cwd, []
        return cwd, [f"(The folder {brief(context.cwd)} {why}; this ran in {brief(cwd)}.)"]

    def _vanished(self, context: ToolContext) -> list[str]:
        """A note if the command has left its folder behind deleted, or closed.

        The folder stays what it is until the next command: a file tool in the same reply must not
        act in another one, of which the model has not heard yet.
        """
        why = unusable(context.cwd)
        if why is None:
            return []
        self._announced = context.cwd
        nearest = brief(_nearest(context.cwd, context.root))
        return [f"(The folder {brief(context.cwd)} {why}; the next command starts in {nearest}.)"]

    def _command(
        self,
        line: str,
        cwd: Path,
        environment: Mapping[str, str],
        context: ToolContext,
        *,
        time_limit: float,
        write: Callable[[str], None],
    ) -> Command:
        return Command(
            line=line,
            cwd=cwd,
            environment=environment,
            mark=f"{self._session}.{secrets.token_hex(8)}",
            time_limit=time_limit,
            write=write,
            later=context.spill / f"{context.call_id}-later.txt",
            confinement=self._settings.confinement,
        )

    def _keep(self, finished: Finished, begun: Mapping[str, str]) -> list[str]:
        """Take over what the command exported; what the model must know of that."""
        report = finished.report
        if not report.begun and not self.state.is_clean:
            self.state = ShellState()
            return [_NOT_BEGUN]
        if report.exported is None:
            return [_NOT_TOLD] if report.begun and not finished.timed_out else []
        try:
            self.state = self.state.after(begun, report.exported)
        except TooLarge as problem:
            return [f"(Exported variables are as before this command: {problem}.)"]
        return []

    def close(self) -> None:
        """End everything this session's commands left running."""
        self.background.close()
        self._watchdog.stop()
        if self._registered:
            atexit.unregister(self.close)
            self._registered = False

    def _guard(self) -> None:
        self._watchdog.start()
        if not self._registered:
            atexit.register(self.close)
            self._registered = True

    def _limit(self, arguments: Arguments) -> float:
        asked = arguments.get("timeout")
        seconds = self._settings.default_timeout if asked is None else asked / 1000
        return min(seconds, self._settings.max_timeout)

    def _environment(self) -> dict[str, str]:
        given = self._settings.environment
        return self.state.over({**(os.environ if given is None else given), **_ENVIRONMENT})


def _checked(line: str) -> str:
    if not line.strip():
        raise ToolError("The command is empty.")
    if "\0" in line:
        raise ToolError("A command line cannot hold a NUL character.")
    try:
        size = len(os.fsencode(line))
    except UnicodeEncodeError as error:
        raise ToolError("The command holds half a character (a lone surrogate).") from error
    if size > _LONGEST_LINE:
        raise ToolError(
            f"The command is too long: {size} bytes, at most {_LONGEST_LINE}. Write it to a file"
            " with Write and run that."
        )
    return line


def _nearest(folder: Path, root: Path) -> Path:
    """The nearest folder above in which a command can start, or where the session works."""
    above = (one for one in folder.parents if one != Path("/"))
    return next((one for one in above if unusable(one) is None), root)


def _ending(finished: Finished, limit: float) -> list[str]:
    if finished.timed_out:
        note = (
            f"(Ended at the time limit of {limit:g} s, with all it had started that can be found."
            " A higher `timeout` can be given; a server belongs in the background:"
            " `run_in_background`.)"
        )
        return [note]
    if finished.code < 0:
        return [f"(Ended by {how_it_ended(finished.code)}.)"]
    return [f"(Exit code {finished.code}.)"] if finished.code else []
