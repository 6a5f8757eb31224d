"""The form that an answer is to have: a type, or a JSON Schema; read back as that type."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from inspect import isroutine
from typing import TYPE_CHECKING, Any

from interlock.structured import AnswerSchema
from phases.world.messages import Json

if TYPE_CHECKING:
    from pydantic import TypeAdapter


class AnswerForm:
    """What `AgentOptions.answer` asks for. Raises UsageError for what makes no schema."""

    def __init__(self, given: Any) -> None:
        from interlock.errors import UsageError

        self._given = given
        self.schema: Mapping[str, Json]
        if isinstance(given, Mapping):
            self.schema = given
        else:
            from pydantic.errors import PydanticUserError

            if isinstance(given, str) or isroutine(given):  # of these pydantic makes the oddest
                mend = "give a type, or a JSON Schema as a mapping"
                raise UsageError(f"answer: {given!r} makes no JSON Schema: {mend}")
            try:
                self.schema = self._type.json_schema()
            except (PydanticUserError, TypeError, NameError) as error:
                why = str(error).split("\n", 1)[0]
                raise UsageError(f"answer: {given!r} makes no JSON Schema: {why}") from None
        AnswerSchema(self.schema, "answer")

    def read(self, value: Json) -> Any:
        """The answer as its type. Raises ValueError, with every place that is wrong."""
        if isinstance(self._given, Mapping):
            return value
        from pydantic import ValidationError

        try:
            return self._type.validate_python(value)
        except ValidationError as error:
            problems = (
                f"$.{'.'.join(map(str, one['loc']))}: {one['msg']}".replace("$.:", "$:")
                for one in error.errors()
            )
            raise ValueError("; ".join(problems)) from error

    @cached_property
    def _type(self) -> TypeAdapter[Any]:
        from pydantic import TypeAdapter

        return TypeAdapter(self._given)
