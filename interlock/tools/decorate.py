"""`@tool`: a typed function becomes a tool.

    @tool(effects=False)
    async def weather(city: str, days: int = 3) -> str:
        \"\"\"The forecast for a city.

        Args:
            city: Its name, in English.
            days: How many days to look ahead.
        \"\"\"

The schema comes from the type hints, the descriptions from the docstring. Without a word it is
careful: the tool may change the world, runs alone, and asks for approval.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from functools import partial, update_wrapper
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Generic,
    ParamSpec,
    TypeVar,
    get_type_hints,
    overload,
)

import anyio.from_thread
import anyio.to_thread
import attrs
from attrs import evolve

from interlock.errors import InterlockError
from interlock.fitting import misfits
from interlock.tools.tool import Arguments, Output, Tool, ToolContext, ToolError
from phases.world.messages import Json, Media, Text, encoded

if TYPE_CHECKING:
    from pydantic import BaseModel

P = ParamSpec("P")
R = TypeVar("R")

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # what the Messages API takes


class BadTool(InterlockError, TypeError):
    """A function that cannot be a tool: told where it is written, not when it is called."""


class FunctionTool(Tool, Generic[P, R]):
    """A function as a tool; called like a function, it is one still."""

    def __init__(
        self,
        function: Callable[P, R],
        *,
        name: str | None = None,
        description: str | None = None,
        effects: bool = True,
        concurrency_safe: bool = False,
        time_limit: float | None = 120.0,
    ) -> None:
        _insist_on_kinds(
            (function, Callable[..., Any], "the function"),
            (name, str | None, "name"),
            (description, str | None, "description"),
            (effects, bool, "effects"),
            (concurrency_safe, bool, "concurrency_safe"),
            (time_limit, float | None, "time_limit"),
        )
        self._function = function
        self._call: Callable[..., Any] = function
        self.name = name or str(getattr(function, "__name__", ""))
        if not _NAME.fullmatch(self.name):
            raise BadTool(
                f"{self.name!r} is no name for a tool: up to 64 letters, digits, _ and -;"
                ' give one: @tool(name="…")'
            )
        self.time_limit = time_limit
        self._effects, self._safe = effects, concurrency_safe
        self._injected, parameters = _parameters(function, self.name)
        told, of_parameters = _docstring(function)
        self.description = description or told
        if not self.description:
            raise BadTool(f"the tool {self.name} needs a docstring: the model goes by it")
        self._model = _model(self.name, parameters, of_parameters)
        self.input_schema = _schema(self._model)
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._function(*args, **kwargs)

    def effects(self, arguments: Arguments) -> bool:
        return self._effects

    def concurrency_safe(self, arguments: Arguments) -> bool:
        return self._safe

    async def run(self, arguments: Arguments, context: ToolContext) -> Output:
        given = self._read(arguments)
        if inspect.iscoroutinefunction(self._function):
            self._inject(given, context)
            return _output(await self._call(**given))
        self._inject(given, evolve(context, progress=_from_a_thread(context.progress)))
        # An interrupt leaves the thread behind: nothing can end one from outside. It ends itself
        # at its next word of progress, which raises there.
        call = partial(self._call, **given)
        return _output(await anyio.to_thread.run_sync(call, abandon_on_cancel=True))

    def _inject(self, given: dict[str, Any], context: ToolContext) -> None:
        if self._injected is not None:
            given[self._injected] = context

    def _read(self, arguments: Arguments) -> dict[str, Any]:
        """The arguments as the hints want them: numbers, enums, models. Raises `ToolError`."""
        from pydantic import ValidationError

        try:
            model = self._model.model_validate(dict(arguments))
        except ValidationError as error:
            problems = "; ".join(
                f"`{'.'.join(map(str, one['loc']))}`: {one['msg']}" for one in error.errors()
            )
            raise ToolError(f"The input does not fit the tool {self.name}: {problems}.") from error
        fields = type(model).model_fields
        # What was not given is left to the function's own default.
        return {
            field.alias or name: getattr(model, name)
            for name, field in fields.items()
            if name in model.model_fields_set
        }


@overload
def tool(function: Callable[P, R], /) -> FunctionTool[P, R]: ...


@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    effects: bool = True,
    concurrency_safe: bool = False,
    time_limit: float | None = 120.0,
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...


def tool(function: Callable[P, R] | None = None, /, **chosen: Any) -> Any:
    """Make a typed function a tool. Raises `BadTool` for one that cannot be.

    An async function is cancelled on an interrupt; any other runs in a thread. A parameter
    annotated `ToolContext` is not the model's to fill: it brings the working folder, `limits`,
    and `progress("…")`. What is returned is the result: text as it is, `Output`, `Media`; dicts,
    lists, dataclasses, attrs classes and models as JSON, and nothing else. `ToolError` says to
    the model what went wrong, in your words; other errors are told with their type.
    """
    if function is not None:
        return FunctionTool(function)
    return partial(FunctionTool, **chosen)


def _insist_on_kinds(*given: tuple[object, Any, str]) -> None:
    for value, hint, what in given:
        for line in misfits(value, hint, what):
            raise BadTool(f"@tool: {line}")


def _parameters(
    function: Callable[..., Any], name: str
) -> tuple[str | None, Mapping[str, tuple[Any, Any]]]:
    """The parameter that takes the context, and the others: hint and default."""
    try:
        hints = get_type_hints(function, include_extras=True)
        signature = inspect.signature(function)
    except (NameError, TypeError, ValueError) as error:  # the last two: of no Python function
        raise BadTool(f"the type hints of the tool {name} cannot be read: {error}") from error
    injected, found = None, dict[str, tuple[Any, Any]]()
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise BadTool(f"the tool {name} cannot have *{parameter.name}: name each parameter")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise BadTool(f"the parameter {parameter.name} of the tool {name} must have a name")
        if parameter.name not in hints:
            raise BadTool(f"the parameter {parameter.name} of the tool {name} needs a type hint")
        hint = hints[parameter.name]
        if hint is ToolContext:
            injected = parameter.name
            continue
        found[parameter.name] = (hint, parameter.default)
    return injected, found


def _docstring(function: Callable[..., Any]) -> tuple[str, Mapping[str, str]]:
    """What the docstring says of the whole, and of each parameter; in any common style."""
    import docstring_parser

    parsed = docstring_parser.parse(inspect.getdoc(function) or "")
    parts = (parsed.short_description, parsed.long_description)
    of_parameters = {one.arg_name: one.description or "" for one in parsed.params}
    return "\n\n".join(part for part in parts if part), of_parameters


def _model(
    name: str, parameters: Mapping[str, tuple[Any, Any]], told: Mapping[str, str]
) -> type[BaseModel]:
    from pydantic import ConfigDict, Field, create_model
    from pydantic.errors import PydanticUserError

    fields: dict[str, Any] = {}
    for at, (parameter, (hint, default)) in enumerate(parameters.items()):
        required = default is inspect.Parameter.empty
        if told.get(parameter):
            hint = Annotated[hint, Field(description=told[parameter])]
        # Under a name of our own: `schema`, `json` and the like are taken in a model.
        fields[f"p{at}"] = (hint, Field(... if required else default, alias=parameter))
    config = ConfigDict(extra="forbid", arbitrary_types_allowed=False)
    try:
        return create_model(name, __config__=config, **fields)
    except (PydanticUserError, TypeError) as error:
        why = str(error).split("\n", 1)[0]
        raise BadTool(f"the type hints of the tool {name} make no schema: {why}") from error


def _schema(model: type[BaseModel]) -> Mapping[str, Json]:
    schema = _without_titles(model.model_json_schema(by_alias=True))
    return {"type": "object", "properties": {}, **schema}


def _without_titles(schema: Json) -> Json:
    """Pydantic titles every part with its own name: tokens that tell nothing."""
    if isinstance(schema, list):
        return [_without_titles(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _without_titles(one) for name, one in value.items()}
        if key in ("properties", "$defs")
        else _without_titles(value)
        for key, value in schema.items()
        if key != "title" or not isinstance(value, str)
    }


def _from_a_thread(progress: Callable[[str], None]) -> Callable[[str], None]:
    def told(text: str) -> None:
        anyio.from_thread.check_cancelled()
        anyio.from_thread.run_sync(progress, text)

    return told


def _output(value: Any) -> Output:
    match value:
        case Output():
            return value
        case None:
            return Output("(done; nothing to tell)")
        case str():
            return Output(value)
        case Text() | Media():
            return Output((value,))
        case bytes() | bytearray() | memoryview():
            kind = type(value).__name__
            raise TypeError(f"it returned {kind}; return text (decoded), or Media for a picture")
    from pydantic_core import to_json

    try:
        return Output(to_json(value, fallback=attrs.asdict, inf_nan_mode="null").decode())
    except ValueError:  # a lone surrogate, or nothing JSON knows
        pass
    try:
        return Output(encoded(value).decode())
    except (TypeError, ValueError):  # ValueError: it holds itself
        kind = type(value).__name__
        raise TypeError(f"it returned {kind}; return text, Output, Media, or JSON") from None
