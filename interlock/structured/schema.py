"""A caller's JSON Schema: refused at the start where no answer could ever be held against it.

The Messages API wants the input of a tool to be an object. A schema of anything else (a list, a
choice of several forms) is offered as an object with the one property `answer`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from interlock.errors import UsageError
from interlock.json_flag import object_in
from interlock.tools.schema import BadInput, checked
from phases.world.messages import Json

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

WRAPPED = "answer"
ORIGIN = "--json-schema"
_MOST_PROBLEMS = 10  # that one refusal names
_LONGEST = 300  # characters of what is said of one
_CHOICES = ("anyOf", "oneOf", "allOf", "not", "if", "$ref")  # the API takes none at the root
_DEFINITIONS = ("$defs", "definitions")
_VALUES = ("const", "default", "enum", "examples")  # what stands below is no schema


def schema_in(text: str, origin: str = ORIGIN) -> Mapping[str, Json]:
    """The schema in a flag's text: JSON, or `@path` of a file that holds such. Raises UsageError.

    Whether it is one is for AnswerSchema to say.
    """
    return object_in(text, origin, '{"type": "object", ...}')


class AnswerSchema:
    """A schema that answers can be held against. Raises UsageError for one that cannot be used.

    `origin` is the flag or argument that it came by.
    """

    def __init__(self, given: Mapping[str, Json], origin: str = ORIGIN) -> None:
        self._given = dict(given)
        self._origin = origin
        self._insist_on_sense()

    @property
    def is_wrapped(self) -> bool:
        """Whether the tool takes the answer as a property, since it is no plain object."""
        if any(word in self._given for word in _CHOICES):
            return True
        # Without a type any value fits, a list or a text as well: unless it speaks of properties.
        usual = "object" if "properties" in self._given else "any"
        kind: Json = self._given.get("type", usual)
        return bool(kind != "object")

    @cached_property
    def input_schema(self) -> dict[str, Json]:
        """What the tool asks for."""
        if not self.is_wrapped:
            return {**self._given, "type": "object"}
        inner = dict(self._given)
        # References are read from the root, and the root is another one now.
        hoisted = {word: inner.pop(word) for word in _DEFINITIONS if word in inner}
        return {
            "type": "object",
            "properties": {WRAPPED: inner},
            "required": [WRAPPED],
            "additionalProperties": False,
            **hoisted,
        }

    def read(self, given: Mapping[str, Json]) -> tuple[Json, tuple[str, ...]]:
        """The answer in the tool's input, and what is wrong with it; nothing, if it fits.

        Where nothing but the kind is wrong, "3" for 3 or JSON in a string, it is put right.
        """
        problems: tuple[str, ...] = ()
        for attempt in self._attempts(given):
            if self.is_wrapped and set(attempt) != {WRAPPED}:
                found: tuple[str, ...] = (f"give one property, `{WRAPPED}`, that holds it all",)
            else:
                value = attempt[WRAPPED] if self.is_wrapped else attempt
                found = self._problems(value)
                if not found:
                    return value, ()
            problems = problems or found
        return None, problems

    def _attempts(self, given: Mapping[str, Json]) -> Iterator[Mapping[str, Json]]:
        yield dict(given)
        try:
            mended = checked(given, self.input_schema)
        except BadInput:
            return
        if mended != given:
            yield mended

    def _problems(self, value: Json) -> tuple[str, ...]:
        from jsonschema.exceptions import relevance

        errors = sorted(self._validator.iter_errors(value), key=relevance, reverse=True)
        errors.sort(key=lambda error: error.json_path)
        told = [f"{error.json_path}: {_short(error.message)}" for error in errors]
        more = len(told) - _MOST_PROBLEMS
        return (*told[:_MOST_PROBLEMS], *((f"and {more} more",) if more > 0 else ()))

    @cached_property
    def _validator(self) -> Validator:
        """Never asks the network: a registry of its own holds the dialects, and nothing else."""
        from jsonschema.validators import Draft202012Validator, validator_for
        from referencing.jsonschema import EMPTY_REGISTRY

        kind = validator_for(self._given, default=Draft202012Validator)
        made: Validator = kind(
            self._given, registry=EMPTY_REGISTRY, format_checker=kind.FORMAT_CHECKER
        )
        return made

    def _insist_on_sense(self) -> None:
        from jsonschema.exceptions import SchemaError

        try:
            self._validator.check_schema(self._given)
        except SchemaError as error:
            raise UsageError(
                f"{self._origin} is no JSON Schema: {error.json_path}: {_short(error.message)}"
            ) from None
        for where, schema in _schemas(self._given, "$"):
            self._insist_on_reference(where, schema.get("$ref"))

    def _insist_on_reference(self, where: str, reference: object) -> None:
        from referencing import Registry
        from referencing.exceptions import Unresolvable
        from referencing.jsonschema import DRAFT202012

        if not isinstance(reference, str):
            return
        root = DRAFT202012.create_resource(self._given)
        base = root.id() or ""
        registry: Registry[Any] = Registry().with_resource(base, root)
        try:
            registry.resolver(base).lookup(reference)
        except Unresolvable:
            raise UsageError(
                f"{self._origin}: {where}: nothing is found at $ref {_short(repr(reference))};"
                ' put it under "$defs" and refer to "#/$defs/NAME"'
            ) from None


def _schemas(schema: object, where: str) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """Every object in it that may be a schema, with its place."""
    if isinstance(schema, list):
        for at, each in enumerate(schema):
            yield from _schemas(each, f"{where}[{at}]")
    if isinstance(schema, dict):
        yield where, schema
        for name, each in schema.items():
            if name not in _VALUES:
                yield from _schemas(each, f"{where}.{name}")


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
