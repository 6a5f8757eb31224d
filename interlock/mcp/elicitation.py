"""A server asks the person something in the midst of a call: a form by its fields, or an address.

Nobody is answered for: where no person is, the request is dismissed, but for servers whose
definition says `trusted`, which get their own defaults if those are all that they need.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attrs import frozen

from interlock.tools import Person, UserAnswer, UserQuestion
from interlock.tools.ask_user import Option
from interlock.tools.deciding import NO, YES, decided
from phases.world.messages import Json

if TYPE_CHECKING:
    from mcp_types import ElicitRequestParams, ElicitResult

_TRIES = 3  # for answers that do not fit
_FIELDS = 20
_GO_ON, _OPENED, _DECLINE = "Answer", "Opened", "Decline"


async def answered(
    server: str, params: ElicitRequestParams, person: Person | None, *, trusted: bool
) -> ElicitResult:
    """The person's answer, or that there is none."""
    from mcp_types import ElicitRequestURLParams, ElicitResult

    if isinstance(params, ElicitRequestURLParams):
        return await _address(server, params.message, params.url, person)
    form = fields_of(params.requested_schema)
    said = None if person is None else await decided(person, _consent(server, params.message))
    if person is None or said is None:
        filled = {one.name: one.default for one in form if one.has_default}
        if trusted and all(one.has_default for one in form if one.required):
            return ElicitResult(action="accept", content=filled)
        return ElicitResult(action="cancel")
    if said != _GO_ON:
        return ElicitResult(action="decline")
    content: dict[str, Any] = {}
    for one in form:
        value = await _asked(one, person)
        if value is _NOTHING and one.required:
            return ElicitResult(action="cancel")
        if value is not _NOTHING:
            content[one.name] = value
    return ElicitResult(action="accept", content=content)


async def _address(server: str, message: str, url: str, person: Person | None) -> ElicitResult:
    from mcp_types import ElicitResult

    if person is None:
        return ElicitResult(action="cancel")
    question = UserQuestion(
        question=f"The MCP server {server} asks you to open {url} in a browser: {message}",
        header="Address",
        options=(
            Option(label=_OPENED, description="I opened it, or will.", also=YES),
            Option(label=_DECLINE, description="I will not.", also=NO),
        ),
    )
    said = await decided(person, question)
    if said is None:
        return ElicitResult(action="cancel")
    return ElicitResult(action="accept" if said == _OPENED else "decline")


def _consent(server: str, message: str) -> UserQuestion:
    return UserQuestion(
        question=f"The MCP server {server} asks: {message}",
        header="MCP",
        options=(
            Option(label=_GO_ON, description="What you say goes to that server.", also=YES),
            Option(label=_DECLINE, description="It learns nothing.", also=NO),
        ),
    )


# --- a form ----------------------------------------------------------------------------------

_NOTHING = object()


@frozen(kw_only=True)
class Field:
    """One field of a form."""

    name: str
    title: str
    kind: str  # string, number, integer, boolean or array
    required: bool
    choices: tuple[tuple[str, str], ...] = ()  # value and what it is called
    default: Json = None
    has_default: bool = False


def fields_of(schema: Mapping[str, Json]) -> tuple[Field, ...]:
    """The fields of a requested schema; those of no known shape are left out."""
    properties = schema.get("properties")
    required = schema.get("required") or ()
    if not isinstance(properties, Mapping):
        return ()
    return tuple(
        _field(name, one, required=name in required)
        for name, one in list(properties.items())[:_FIELDS]
        if isinstance(one, Mapping)
    )


def _field(name: str, schema: Mapping[str, Json], *, required: bool) -> Field:
    title = str(schema.get("title") or name)
    if schema.get("description"):
        title = f"{title}: {schema['description']}"
    kind = str(schema.get("type", "string"))
    listed = schema.get("items", {}) if kind == "array" else schema
    return Field(
        name=name,
        title=title,
        kind=kind,
        required=required,
        choices=_choices(listed if isinstance(listed, Mapping) else {}),
        default=schema.get("default"),
        has_default="default" in schema,
    )


def _choices(schema: Mapping[str, Json]) -> tuple[tuple[str, str], ...]:
    titled = schema.get("oneOf") or schema.get("anyOf")
    if isinstance(titled, list):
        return tuple(
            (str(one["const"]), str(one.get("title", one["const"])))
            for one in titled
            if isinstance(one, Mapping) and "const" in one
        )
    values = schema.get("enum")
    if not isinstance(values, list):
        return ()
    names = schema.get("enumNames")
    called = names if isinstance(names, list) and len(names) == len(values) else values
    return tuple((str(value), str(name)) for value, name in zip(values, called, strict=True))


async def _asked(one: Field, person: Person) -> Any:
    question = _question(one)
    for _ in range(_TRIES):
        answers = await person.answer([question])
        if not answers:
            return _NOTHING
        try:
            return _value(one, answers[0])
        except ValueError as problem:
            question = UserQuestion(
                question=f"{one.title} ({problem})",
                header=question.header,
                options=question.options,
                several=question.several,
            )
    return _NOTHING


_LEAVE_OUT = "Leave it out"


def _question(one: Field) -> UserQuestion:
    options: Sequence[Option] = [Option(label=called) for _, called in one.choices]
    if one.kind == "boolean":
        options = [Option(label="Yes"), Option(label="No")]
    if one.has_default and not one.choices and one.kind != "boolean":
        options = [Option(label=str(one.default), description="the default")]
    if not one.required:
        options = [*options, Option(label=_LEAVE_OUT)]
    return UserQuestion(
        question=one.title,
        header=one.name[:12],
        options=tuple(options),
        several=one.kind == "array",
    )


def _value(one: Field, answer: UserAnswer) -> Any:
    """What was answered, as the field's type. Raises ValueError, with what would do."""
    if _LEAVE_OUT in answer.chosen:
        return _NOTHING
    by_name = {called: value for value, called in one.choices}
    said = [*answer.chosen, *([answer.words.strip()] if answer.words.strip() else [])]
    values = [by_name.get(word, word) for word in said]
    if not values:
        return one.default if one.has_default else _NOTHING
    known = {value for value, _ in one.choices}
    if known and not known.issuperset(values):
        raise ValueError(f"answer with one of {', '.join(name for _, name in one.choices)}")
    match one.kind:
        case "array":
            return values
        case "boolean":
            return _yes_or_no(values[0])
        case "integer":
            return int(values[0])
        case "number":
            return float(values[0])
    return values[0]


def _yes_or_no(word: str) -> bool:
    if word.lower() not in ("yes", "y", "true", "no", "n", "false"):
        raise ValueError("answer yes or no")
    return word.lower() in ("yes", "y", "true")
