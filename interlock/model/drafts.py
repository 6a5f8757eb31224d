"""A history while it is mended: its messages as drafts, and the turns they make."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from attrs import Factory, define, evolve

from interlock.model.layout import says_something
from phases.world.messages import Block, Kind, Message, Text, ToolResult, derived_id, encoded


@define(eq=False)
class Draft:
    """One message under change. `did` are the words for what was changed."""

    message: Message
    content: list[Block]
    new: bool = False
    did: list[str] = Factory(list)

    @classmethod
    def of(cls, message: Message) -> Draft:
        return cls(message, list(message.content))

    @property
    def role(self) -> str:
        return self.message.role

    @property
    def says_something(self) -> bool:
        return says_something(self.content)

    def finished(self) -> Message:
        """The message as it is now, with an id of its own that tells which one it replaces.

        The id follows from what is said, so that another mending of the same message, under
        other circumstances, is not taken for this one.
        """
        if self.new:
            return evolve(self.message, content=tuple(self.content))
        if not self.did:
            return self.message
        said = b",".join(encoded(block.wire()) for block in self.content)
        digest = sha256(said).hexdigest()
        return evolve(
            self.message,
            id=derived_id(self.message.id, f"mended {digest}"),
            content=tuple(self.content),
            replaces=self.message.id,
        )


def inserted(beside: Message, tag: str, kind: Kind, content: list[Block], did: str) -> Draft:
    """A message that was missing, by the one it stands beside."""
    message = Message(
        id=derived_id(beside.id, tag),
        role="user",
        kind=kind,
        content=(),
        source=beside.id if kind is Kind.RESULT else None,
    )
    return Draft(message, content, new=True, did=[did])


def turns_of(drafts: Iterable[Draft]) -> list[list[Draft]]:
    """Neighbouring drafts of one role; those that say nothing belong to none."""
    turns: list[list[Draft]] = []
    for draft in drafts:
        if not draft.says_something:
            continue
        if turns and turns[-1][0].role == draft.role:
            turns[-1].append(draft)
        else:
            turns.append([draft])
    return turns


def answer(call_id: str, words: str) -> ToolResult:
    return ToolResult(call_id, (Text(words),), is_error=True)
