"""Updates of the loop become messages for a program: whole ones, in order, `Init` first."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from attrs import define, field

from interlock.api.messages import (
    AnyMessage,
    AssistantMessage,
    Init,
    NoteMessage,
    SubAgent,
    ToolResultMessage,
    UserMessage,
)
from phases.world.messages import Kind, Message, ToolResult, ToolUse
from phases.world.updates import (
    AttemptDropped,
    Ended,
    FromAgent,
    Notice,
    Recorded,
    TextArrived,
    ThinkingArrived,
    Update,
)

_PARTIAL = (TextArrived, ThinkingArrived, AttemptDropped)  # they run ahead of whole messages


@define(kw_only=True)
class Teller:
    """Tells one prompt. `init` is asked for once, when there is something to tell."""

    put: Callable[[AnyMessage], None]
    init: Callable[[], Init]
    partial: bool  # also what is not whole yet
    _begun: bool = False
    _early: list[Notice] = field(factory=list)  # before the tools of servers are known
    _calls: dict[str, ToolUse] = field(factory=dict)

    def show(self, update: Update) -> None:
        if isinstance(update, Notice) and not self._begun:
            self._early.append(update)
            return
        self.begin()
        for message in self._told(update, None):
            self.put(message)

    def begin(self) -> None:
        if self._begun:
            return
        self._begun = True
        self.put(self.init())
        for notice in self._early:
            self.put(notice)

    def _told(self, update: Update, agent: SubAgent | None) -> Iterator[AnyMessage]:
        match update:
            case Recorded(message):
                yield from self._recorded(message, agent)
            case FromAgent(agent_id=id_, agent_type=type_, tool_use_id=call, update=inner):
                whose = SubAgent(id=id_, type=type_, tool_use_id=call)
                for told in self._told(inner, whose):
                    # Prompts and notes of a child are its parent's affair, not the program's.
                    if isinstance(told, AssistantMessage | ToolResultMessage | FromAgent):
                        yield told
                    elif not isinstance(told, UserMessage | NoteMessage):
                        yield update
            case Ended():
                return  # the result says all of it
            case _ if isinstance(update, _PARTIAL) and not self.partial:
                return
            case _:
                yield update

    def _recorded(self, message: Message, agent: SubAgent | None) -> Iterator[AnyMessage]:
        match message.kind:
            case Kind.REPLY:
                self._calls.update((call.id, call) for call in message.calls)
                yield AssistantMessage(message=message, agent=agent)
            case Kind.RESULT:
                for block in message.content:
                    if isinstance(block, ToolResult):
                        call = self._calls.get(block.tool_use_id)
                        yield ToolResultMessage(
                            message=message, result=block, call=call, agent=agent
                        )
            case Kind.PROMPT:
                yield UserMessage(message=message)
            case _:
                yield NoteMessage(message=message)
