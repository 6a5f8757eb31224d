"""Asking a person whether a call may run: at the terminal, or nobody where there is none.

The terminal is /dev/tty, not standard input: that may be a pipe with the prompt in it. What a
model wrote is shown with its control characters made visible, so that it cannot repaint the
screen under the question.
"""

from __future__ import annotations

import os
import termios
from collections.abc import Mapping
from typing import Any, Protocol

import orjson
from attrs import frozen

from interlock.permissions.advice import ASK_INSTEAD, GO_ON
from interlock.permissions.decision import Decision, Question
from interlock.permissions.suggest import suggested, told
from interlock.permissions.updates import Update
from interlock.terminal import heard, say
from interlock.visible import visible
from phases.world.ports import Interrupt

_MAX_SHOWN = 120  # lines of one argument or of a diff; the eye gives up sooner
_MAX_WIDTH = 400  # characters of a line


@frozen(kw_only=True)
class Answer:
    """What the person said. `always`: and for the rest of the session, by the rule that was
    shown. `updates` change the session's rules, mode or folders before anything else runs."""

    allowed: bool
    reason: str
    always: bool = False
    interrupted: bool = False  # there was no answer
    updates: tuple[Update, ...] = ()
    arguments: Mapping[str, Any] | None = None  # in place of the call's own: these are allowed


class Asker(Protocol):
    async def ask(self, question: Question, decision: Decision) -> Answer: ...


@frozen
class NobodyAsks:
    """No one can be asked: deny at once, and say what would have helped.

    `mend` is how the user can permit it; `{tool}` in it is what was called.
    """

    mend: str = "with --allowedTools {tool!r} or with --permission-mode"

    async def ask(self, question: Question, decision: Decision) -> Answer:
        reason = (
            f"{decision.reason}, and this session runs without anyone to ask. {GO_ON} (The user"
            f" can permit it {self.mend.format(tool=question.tool)}.)"
        )
        return Answer(allowed=False, reason=reason)


@frozen(kw_only=True)
class TerminalAsker:
    """Asks at the terminal: y, a (always, in this session) or n with a reason."""

    interrupt: Interrupt
    path: str = "/dev/tty"

    async def ask(self, question: Question, decision: Decision) -> Answer:
        try:
            terminal = os.open(self.path, os.O_RDWR | os.O_NOCTTY)
        except OSError:
            return await NobodyAsks().ask(question, decision)
        try:
            with self.interrupt.scope():
                shown = await _shown(question, decision)
                # Keys pressed before the question stood there are no answer to it.
                termios.tcflush(terminal, termios.TCIFLUSH)
                say(terminal, shown)
                return await _answer(terminal)
        except OSError:
            return Answer(allowed=False, reason="the terminal went away before an answer came")
        finally:
            os.close(terminal)
        reason = "the user interrupted instead of answering"
        return Answer(allowed=False, reason=reason, interrupted=True)


async def _answer(terminal: int) -> Answer:
    while True:
        say(terminal, "  [y] yes   [a] always in this session   [n] no, and why > ")
        line = await heard(terminal)
        if line is None:
            return Answer(allowed=False, reason="the terminal closed before an answer came")
        word, _, rest = line.strip().partition(" ")
        match word.lower():
            case "y" | "yes":
                return Answer(allowed=True, reason="the user allowed it")
            case "a" | "always":
                return Answer(allowed=True, reason="the user allowed it", always=True)
            case "n" | "no":
                said = rest.strip() or await _why(terminal)
                return Answer(allowed=False, reason=_refusal(said))


async def _why(terminal: int) -> str:
    say(terminal, "  what should be done instead? (Enter for nothing) > ")
    return (await heard(terminal) or "").strip()


def _refusal(said: str) -> str:
    if said:
        return f"the user said no: {said}"
    return f"the user said no. {ASK_INSTEAD}"


async def _shown(question: Question, decision: Decision) -> str:
    asker = "" if question.agent_id is None else f"the agent {question.agent_type}: "
    lines = ["", f"{asker}{question.tool} wants to run: {decision.reason}"]
    preview = await question.preview() if question.preview is not None else None
    lines += _arguments(question.arguments, short=preview is not None)
    if preview is not None:
        lines += _bounded(preview)
    lines += [
        f"  - {part.shown}: {part.reason}" for part in decision.parts if len(decision.parts) > 1
    ]
    meaning = told(suggested(question))
    where = f"in {question.cwd}; " if question.command is not None else ""
    lines.append(f"  ({where}always means, in this session: {meaning})")
    return "\n".join(visible(line) for line in lines) + "\n"


def _arguments(arguments: Mapping[str, Any], short: bool) -> list[str]:
    found = []
    for name, value in arguments.items():
        text = value if isinstance(value, str) else orjson.dumps(value).decode()
        lines = _bounded(text, 1 if short else _MAX_SHOWN)
        found += [f"  {name}: {lines[0]}", *(f"    {line}" for line in lines[1:])]
    return found


def _bounded(text: str, most: int = _MAX_SHOWN) -> list[str]:
    lines = text.split("\n")
    shown = [line if len(line) <= _MAX_WIDTH else line[:_MAX_WIDTH] + " ..." for line in lines]
    if len(shown) > most:
        return [*shown[:most], f"... and {len(shown) - most} more lines"]
    return shown


def terminal_or_nobody(interrupt: Interrupt) -> Asker:
    """The terminal if this process has one."""
    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return NobodyAsks()
    return TerminalAsker(interrupt=interrupt)
