"""What two processes say to each other about a child, as lines of JSON and back.

From there: every update that a watcher here would see, questions about calls, what was paid, the
files that are left, and one report at the end, numbered, so that a reader can go on after a cut.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import UnionType
from typing import Any, get_args

from attrs import evolve, field, frozen
from cattrs import Converter
from cattrs.errors import ClassValidationError
from cattrs.gen import make_dict_unstructure_fn

from interlock.agents.definition import AgentDefinition
from interlock.agents.errand import Errand, Report
from interlock.ledger import Payment
from interlock.permissions import Decision, Question
from phases.world.messages import (
    Media,
    Message,
    Opaque,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
)
from phases.world.updates import Update

VERSION = 2
RUNS = "/v1/runs"
Json = Any


@frozen(kw_only=True)
class Order:
    """What is asked for: an errand without what only its parent's process knows."""

    version: int
    agent_id: str
    definition: AgentDefinition
    description: str
    prompt: str
    tool_use_id: str
    parent_agent_id: str | None
    depth: int
    models: tuple[str, ...]
    chain_id: str
    budget_usd: float | None = None
    inherited: tuple[Message, ...] | None = None  # what a fork begins with

    @classmethod
    def of(cls, errand: Errand, denied: tuple[str, ...]) -> Order:
        """`denied` are the deny rules of its parent: what they hide is left out of searches
        there, too."""
        definition = errand.definition
        rules = (*definition.disallowed_tools, *denied)
        return cls(
            version=VERSION,
            agent_id=errand.agent_id,
            definition=evolve(definition, disallowed_tools=rules),
            description=errand.description,
            prompt=errand.prompt,
            tool_use_id=errand.tool_use_id,
            parent_agent_id=errand.parent_agent_id,
            depth=errand.depth,
            models=errand.models,
            chain_id=errand.chain_id,
            budget_usd=errand.budget_usd,
            inherited=errand.inherited,
        )

    def errand(self, cwd: Path) -> Errand:
        return Errand(
            agent_id=self.agent_id,
            definition=self.definition,
            description=self.description,
            prompt=self.prompt,
            tool_use_id=self.tool_use_id,
            parent_agent_id=self.parent_agent_id,
            depth=self.depth,
            cwd=cwd,
            models=self.models,
            chain_id=self.chain_id,
            budget_usd=self.budget_usd,
            inherited=self.inherited,
        )


@frozen(kw_only=True)
class Shown:
    """Something that a watcher sees."""

    update: Update


@frozen(kw_only=True)
class Asked:
    """May this call run? It waits until it is answered. `decision` is what is known there."""

    number: int
    question: Question
    decision: Decision
    preview: str | None = None


@frozen(kw_only=True)
class Paid:
    """What a request there cost; the last one of a request counts."""

    payment: Payment


@frozen(kw_only=True)
class Left:
    """A file that the run has left: of a transcript, a trace, a child, a long result."""

    name: str  # from the session's folder
    text: str


@frozen(kw_only=True)
class Over:
    """The last line. `folder` is the session's there: paths in the report may name it."""

    report: Report
    folder: str = ""


@frozen(kw_only=True)
class Refused:
    """The last line, where no child could be run at all."""

    why: str


Said = Shown | Asked | Paid | Left | Over | Refused


@frozen(kw_only=True)
class Answered:
    """The answer to a question."""

    number: int
    decision: Decision


@frozen(kw_only=True)
class Welcome:
    """What a run is called there, and the folder it works in."""

    id: str
    root: Path
    version: int = field(default=VERSION)


class Garbled(ValueError):
    """What came is not of this version."""


def encoded(value: object) -> Json:
    return _CONVERTER.unstructure(value)


def decoded(said: Json, kind: Any) -> Any:
    """A value of this kind. Raises Garbled."""
    try:
        return _CONVERTER.structure(said, kind)
    except (ClassValidationError, KeyError, TypeError, ValueError, AttributeError) as error:
        name = getattr(kind, "__name__", str(kind))
        raise Garbled(f"what came is no {name} of this version: {error!r}") from error


_NAMED: dict[str, type] = {
    each.__name__: each
    for each in (
        *get_args(Update),
        *get_args(Said),
        *(Text, Thinking, RedactedThinking, ToolUse, ToolResult, Media, Opaque),
    )
}


def _converter() -> Converter:
    """Where several types may stand, each says which it is."""
    made = Converter(unstruct_collection_overrides={tuple: list}, detailed_validation=False)
    made.register_unstructure_hook(Path, str)
    made.register_structure_hook(Path, lambda said, _: Path(said))
    made.register_structure_hook(float, lambda said, _: said)
    made.register_unstructure_hook(Question, lambda question: _plain(question, made))
    for name, kind in _NAMED.items():
        made.register_unstructure_hook(kind, _naming(name, kind, made))
    made.register_structure_hook_func(_is_named, lambda said, _: _one(said, made))
    return made


def _plain(question: Question, made: Converter) -> Json:
    fields = make_dict_unstructure_fn(Question, made)
    return {**fields(evolve(question, preview=None)), "preview": None}


def _is_named(kind: Any) -> bool:
    return isinstance(kind, UnionType) and set(get_args(kind)) <= set(_NAMED.values())


def _naming(name: str, kind: type, made: Converter) -> Callable[[Any], Json]:
    """Made when it is needed first: types name each other in a circle."""

    def unstructure(value: Any) -> Json:
        fields = _FIELDS.get(kind)
        if fields is None:
            fields = _FIELDS[kind] = make_dict_unstructure_fn(kind, made)
        return {"is": name, **fields(value)}

    return unstructure


def _one(said: Json, made: Converter) -> Any:
    return made.structure(said, _NAMED[said["is"]])


_FIELDS: dict[type, Callable[[Any], Json]] = {}
_CONVERTER = _converter()
