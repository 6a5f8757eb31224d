"""Drive the agent once: one prompt in, updates rendered, one exit code out.

Knows neither how an agent is built (`interlock/assembly`) nor how updates look (`render`,
`stream_json`); it sees to prompt, signals, streams and exit codes.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, redirect_stdout, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from attrs import frozen

from interlock.agents.files import from_json
from interlock.cli import stdin
from interlock.cli.choosing import person_or_nobody
from interlock.cli.flags import words_of
from interlock.cli.logs import configure
from interlock.cli.main import PIPE_CLOSED, complain
from interlock.cli.output import Output
from interlock.cli.render import Json, Live, Plain, Renderer, Session
from interlock.cli.signals import Signals
from interlock.cli.verdict import line_of
from interlock.configuration import Flags, sources_of
from interlock.configured import configured
from interlock.errors import InterlockError, UsageError
from interlock.housekeeping import Housekeeping
from interlock.interrupt import InterruptSignal
from interlock.json_flag import text_of
from interlock.options import Asking, Options, PermissionMode, Resume, Thinking
from interlock.permissions import Asker, BadRule, NobodyAsks, terminal_or_nobody
from interlock.sandbox.policy import Mode
from interlock.settings import Settings
from interlock.structured import schema_in
from interlock.summary import RunSummary, broken
from interlock.tools.ask_user import Person
from phases.world.updates import Show

if TYPE_CHECKING:
    from interlock.plugins import Plugins


class Agent(Session, Protocol):
    """What is asked of an agent here."""

    @property
    def transcript_path(self) -> Path: ...
    def interrupt(self) -> None: ...
    async def prompt(self, text: str, show: Show, *, typed: str | None = None) -> RunSummary: ...
    async def settle(self, summary: RunSummary, show: Show) -> RunSummary: ...


class Opener(Protocol):
    """Builds an agent: `interlock.assembly.open_agent`, or a fake of it."""

    def __call__(
        self, options: Options, settings: Settings, *, asker: Asker, person: Person | None
    ) -> AbstractAsyncContextManager[Agent]: ...


@frozen(kw_only=True)
class Job:
    """One call of the command line, read and checked."""

    prompt: str
    typed: str | None  # the part of it that is no piped data; None: all
    options: Options
    settings: Settings
    output_format: str
    verbose: bool
    hook_events: bool
    ask: bool  # somebody may be asked


def run(asked: argparse.Namespace, opener: Opener | None = None) -> int:
    """Run the prompt that `asked` holds and return the exit code. Raises InterlockError."""
    signals = Signals()
    signals.install()
    job = job_of(asked, os.environ)
    # The process is ours alone: what files put into `env` counts for all that it does, proxies
    # and git among it.
    os.environ.update(job.options.environment)
    configure(debug=asked.debug or job.settings.debug)
    output = Output()
    if opener is None:
        from interlock.assembly import open_agent

        opener = open_agent
    keeping = Housekeeping.of(job.settings, tell=complain)
    with keeping, redirect_stdout(sys.stderr):  # a stray print of some library is no result
        try:
            summary = asyncio.run(_session(job, opener, output, signals, keeping))
        except BadRule as error:
            raise UsageError(str(error)) from error
    signals.settled()
    return _exit_code(summary, output, signals)


def job_of(asked: argparse.Namespace, environ: Mapping[str, str]) -> Job:
    """What is to be done. Reads standard input. Raises InterlockError before any request."""
    found = configured(options_of(asked), flags_of(asked), environ)
    for warning in found.configuration.warnings:
        complain(warning)
    return Job(
        prompt=_prompt(asked),
        typed=asked.prompt,
        options=found.options,
        settings=found.settings,
        output_format=asked.output_format,
        # A person who waits at a terminal wants to see the answer as it comes.
        verbose=asked.verbose or at_a_terminal(asked),
        hook_events=asked.include_hook_events,
        ask=not asked.print and asked.output_format == "text",
    )


def at_a_terminal(asked: argparse.Namespace) -> bool:
    """Whether a person reads along."""
    return not asked.print and asked.output_format == "text" and os.isatty(1) and os.isatty(2)


def options_of(asked: argparse.Namespace) -> Options:
    """The agent's options. Raises UsageError."""
    tools = words_of(asked.tools)
    return Options(
        cwd=folder_of(asked.cwd),
        model=asked.model,
        fallback_models=words_of([asked.fallback_model] if asked.fallback_model else None),
        max_turns=asked.max_turns,
        max_budget_usd=asked.max_budget_usd,
        token_budget=asked.token_budget,
        system_prompt=_system_prompt(asked),
        append_system_prompt=asked.append_system_prompt,
        json_schema=None if asked.json_schema is None else schema_in(asked.json_schema),
        tools=None if asked.tools is None or tools == ("default",) else tools,
        allowed_tools=words_of(asked.allowedTools),
        disallowed_tools=words_of(asked.disallowedTools),
        permission_mode=PermissionMode(asked.permission_mode or PermissionMode.DEFAULT),
        directories=tuple(folder_of(each, "--add-dir") for each in asked.add_dir or ()),
        sandbox_mode=Mode(asked.sandbox) if asked.sandbox else None,
        agents=from_json(asked.agents) if asked.agents else (),
        session_id=asked.session_id,
        resume=resume_of(asked),
        asking=asking_of(asked),
        include_partial_messages=asked.include_partial_messages,
        record=asked.record,
        plugins=plugins_of(asked.plugin_dir),
    )


def asking_of(asked: argparse.Namespace) -> Asking:
    """How the model is asked."""
    return Asking(
        thinking=Thinking(asked.thinking) if asked.thinking else None,
        thinking_budget=asked.max_thinking_tokens,
        thinking_display=asked.thinking_display,
        effort=asked.effort,
        task_budget=asked.task_budget,
        betas=words_of(asked.betas),
    )


def _system_prompt(asked: argparse.Namespace) -> str | None:
    path: str | None = asked.system_prompt_file
    if path is None:
        given: str | None = asked.system_prompt
        return given
    return text_of(path, "--system-prompt-file")


def resume_of(asked: argparse.Namespace) -> Resume | None:
    """The session to go on with. What settings files say of model and mode gives way to its own;
    what a flag says does not."""
    if asked.resume is None and not getattr(asked, "continue"):
        return None
    return Resume(
        session=asked.resume,
        fork=asked.fork_session,
        at=asked.resume_session_at,
        over_model=asked.model is None,
        over_mode=asked.permission_mode is None,
    )


def flags_of(asked: argparse.Namespace) -> Flags:
    """What goes over settings files, and which of them are read. Raises UsageError."""
    return Flags(
        model=asked.model,
        fallback_models=words_of([asked.fallback_model] if asked.fallback_model else None),
        permission_mode=PermissionMode(asked.permission_mode) if asked.permission_mode else None,
        settings=asked.settings,
        sources=sources_of(asked.setting_sources),
        mcp_config=tuple(asked.mcp_config or ()),
        strict_mcp=asked.strict_mcp_config,
    )


def folder_of(given: str | None, flag: str = "--cwd") -> Path:
    """The folder that a flag names. Raises UsageError."""
    if given == "":  # an unset variable of a script: to work where it stands is not what it meant
        raise UsageError(f"{flag} is empty; name a folder, or leave {flag} out")
    try:
        folder = Path(given).absolute() if given is not None else Path.cwd()
    except FileNotFoundError:
        raise UsageError("the working folder is gone; start in another, or use --cwd") from None
    if not folder.is_dir():
        raise UsageError(f"no such folder: {given} ({flag})")
    return folder


def plugins_of(given: Sequence[str] | None) -> Plugins | None:
    """The plugins that flags name. Raises UsageError for a folder that is not there."""
    if not given:
        return None
    from interlock.plugins import read_plugins  # here: most sessions have none

    named = (str(Path(each).expanduser()) if each else each for each in given)
    return read_plugins(folder_of(each, "--plugin-dir") for each in named)


def _prompt(asked: argparse.Namespace) -> str:
    argument: str | None = asked.prompt
    if argument is None:
        piped = stdin.read_alone(0, complain)
    else:
        piped = stdin.read_beside_argument(0, complain)
    prompt = stdin.joined(argument, piped)
    if prompt.strip():
        return prompt
    swallowed = next(
        (
            flag
            for flag in ("allowedTools", "disallowedTools", "tools")
            if len(getattr(asked, flag) or ()) > 1
        ),
        None,
    )
    if argument is None and swallowed is not None:
        raise UsageError(
            f"no prompt: --{swallowed} takes every word behind it; put the prompt first, or "
            "behind a --"
        )
    raise UsageError("no prompt: give one as an argument or on standard input (interlock --help)")


async def _session(
    job: Job, opener: Opener, output: Output, signals: Signals, keeping: Housekeeping
) -> RunSummary:
    interrupt = InterruptSignal()
    asker = terminal_or_nobody(interrupt) if job.ask else NobodyAsks()
    person = person_or_nobody(interrupt) if job.ask else None
    opened = opener(job.options, job.settings, asker=asker, person=person)
    async with opened as agent:

        def stop() -> None:
            interrupt.request()
            agent.interrupt()

        output.on_gone = stop
        signals.attach(asyncio.get_running_loop(), stop)
        renderer = renderer_of(job, agent, output)
        renderer.begin()
        summary = await _run(job, agent, keeping.watching(renderer.show), output)
        summary = await agent.settle(summary, renderer.show)
        renderer.end(summary)
    return summary


async def _run(job: Job, agent: Agent, show: Show, output: Output) -> RunSummary:
    if output.gone:
        return broken(agent.session_id, "nobody reads the output")
    try:
        done = await _said_to_us(job, agent, show)
        return done or await agent.prompt(job.prompt, show, typed=job.typed)
    except InterlockError as error:
        return broken(agent.session_id, str(error))
    except Exception as error:  # a bug of ours
        # Outside the loop no phase turns a bug into an ending; the one result comes all the same.
        if job.settings.debug:
            raise
        words = f"internal error: {type(error).__name__}: {error}"
        return broken(agent.session_id, f"{words} (set INTERLOCK_DEBUG=1 to see where)")


async def _said_to_us(job: Job, agent: Agent, show: Show) -> RunSummary | None:
    """What comes of a slash command that is the program's own; None for words for the model."""
    said = job.prompt if job.typed is None else job.typed
    if not said.lstrip().startswith("/"):
        return None
    from interlock.agent import Agent as Whole
    from interlock.cli import unattended

    return await unattended.run_command(agent, said, show) if isinstance(agent, Whole) else None


def renderer_of(job: Job, session: Session, output: Output) -> Renderer:
    """The renderer of the output format that was asked for."""
    live = Live(write=_stderr, verbose=job.verbose)
    match job.output_format:
        case "stream-json":
            from interlock.agent import Agent as Whole
            from interlock.cli.stream_json import StreamJson
            from interlock.control.greeting import listed

            whole = session if isinstance(session, Whole) else None
            return StreamJson(
                output=output,
                session=session,
                key_source=key_source(job.settings),
                partial=job.options.include_partial_messages,
                hook_events=job.hook_events,
                listed=dict if whole is None else partial(listed, whole),
            )
        case "json":
            return Json(output=output, live=live)
        case _:
            seen = job.verbose and os.isatty(1) and os.isatty(2)
            return Plain(output=output, live=live, repeat=not seen)


def _exit_code(summary: RunSummary, output: Output, signals: Signals) -> int:
    if output.problem is not None:
        complain(f"the answer cannot be written: {output.problem}")
        return 1
    if output.gone:
        return PIPE_CLOSED
    line = line_of(summary)
    if line is not None:
        complain(line)
    if signals.code is not None and (line is not None or signals.code != 130):
        return signals.code
    return exit_code_of(summary)


def exit_code_of(summary: RunSummary) -> int:
    """The code for an ending that no signal has brought about (docs/headless.md)."""
    return 0 if line_of(summary) is None else 1


def key_source(settings: Settings) -> str:
    if settings.api_key is not None:
        return "ANTHROPIC_API_KEY"
    return "ANTHROPIC_AUTH_TOKEN" if settings.auth_token is not None else "none"


def _stderr(text: str) -> None:
    with suppress(OSError):  # nobody watches
        os.write(2, text.encode("utf-8", "replace"))
