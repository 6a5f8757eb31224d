"""Reading lines from a person while the agent works: prompt_toolkit, and who may ask meanwhile.

Imported for a session at a terminal only.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

from attrs import define, field, frozen
from prompt_toolkit import PromptSession
from prompt_toolkit.application import in_terminal
from prompt_toolkit.completion import Completer
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.output import Output, create_output
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.patch_stdout import patch_stdout

from interlock.cli.interactive import Interrupting
from interlock.permissions import Answer, Asker, Decision, Question
from interlock.tools.ask_user import Person, UserAnswer, UserQuestion
from interlock.visible import visible

_LEAVE = "(Ctrl-D or /exit to leave)"


@frozen
class Suspending:
    """Asks while the line that is being typed is put aside."""

    asker: Asker

    async def ask(self, question: Question, decision: Decision) -> Answer:
        async with in_terminal():
            return await self.asker.ask(question, decision)


@frozen
class SuspendingPerson:
    """Answers the model's questions, likewise."""

    person: Person

    async def answer(self, questions: Sequence[UserQuestion]) -> Sequence[UserAnswer] | None:
        async with in_terminal():
            return await self.person.answer(questions)


@define
class TerminalKeys:
    """Lines typed at the terminal. `history` is the file that remembers them, if it can."""

    history: Path | None = None
    completer: Completer | None = None  # what the Tab key offers
    _session: PromptSession[str] | None = field(default=None, init=False)
    _left: bool = field(default=False, init=False)

    async def lines(self, interrupt: Interrupting) -> AsyncIterator[str]:
        """Each line that is typed; Ctrl-D ends it, Ctrl-C calls `interrupt`."""
        session = self._session = PromptSession(
            history=_history(self.history),
            completer=self.completer,
            complete_while_typing=False,
            key_bindings=_keys(interrupt, self.say),
            output=_screen(),
        )
        with patch_stdout(raw=True):
            while not self._left:
                try:
                    yield await session.prompt_async("> ", handle_sigint=False)
                except EOFError:
                    return

    def say(self, text: str) -> None:
        self.write("".join(f"{visible(line)}\n" for line in text.split("\n")))

    def write(self, text: str) -> None:
        """Above the line that is being typed."""
        sys.stdout.write(text)
        sys.stdout.flush()

    def leave(self) -> None:
        self._left = True
        if self._session is not None and self._session.app.is_running:
            self._session.app.exit(exception=EOFError())


def _keys(interrupt: Interrupting, say: Callable[[str], None]) -> KeyBindings:
    keys = KeyBindings()

    @keys.add("c-c")
    def stop(event: KeyPressEvent) -> None:
        if event.current_buffer.text:
            event.current_buffer.reset()
        elif not interrupt():
            say(_LEAVE)

    return keys


def _screen() -> Output:
    """Without asking the terminal where its cursor is: some do not answer, and one waits."""
    output = create_output()
    if isinstance(output, Vt100_Output):
        output.enable_cpr = False
    return output


def _history(path: Path | None) -> History:
    if path is None:
        return InMemoryHistory()
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()  # what is typed goes on all the same
    return FileHistory(str(path))
