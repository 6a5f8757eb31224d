"""Whether a value is what a type hint says, told in words a person can act on.

For the doors that programs call: what a type checker would have refused is refused here too, with
its place, before anything comes of it. Knows the hints that the public API uses and no others: one
it does not know lets everything pass.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, wraps
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin
from typing import get_type_hints as _evaluated

import attrs
from attrs import frozen

from interlock.errors import UsageError

F = TypeVar("F", bound=Callable[..., Any])
Shown = Callable[[object], str]
_LONGEST = 80  # characters of a value
_LISTINGS = (tuple, list, set, frozenset, Sequence, Iterable, Collection)
_WORDS: Mapping[Any, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    bytes: "bytes",
    NoneType: "None",
    Path: "a path",
    PathLike: "a path",
    Mapping: "a mapping",
    dict: "a mapping",
    Callable: "a function",
    **dict.fromkeys(_LISTINGS, "a list"),
}


@frozen
class Else:
    """In `Annotated[hint, Else("…")]`: what is said of a value in place of `is not text`."""

    words: str | Callable[[Any], str]

    def of(self, value: object) -> str:
        return self.words if isinstance(self.words, str) else self.words(value)


def shown(value: object) -> str:
    """The value, in short."""
    try:
        text = repr(value)
    except Exception:  # somebody else's code, which we only wanted to name
        return kind_of(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def kind_of(value: object) -> str:
    """What it is, for values that are to stand in no message."""
    return f"a value of type {type(value).__name__}"


def misfits(value: object, hint: Any, where: str, show: Shown = shown) -> Iterator[str]:
    """Each place in `value` that is not as `hint` says, as `where: what it is not`."""
    base, instead = _unwrapped(hint)
    if _of_kind(value, base):
        yield from _inside(value, base, where, show)
    else:
        words = f"is not {named(base)}" if instead is None else instead.of(value)
        yield f"{where}: {show(value)} {words}"


def misfit_fields(
    value: object, kind: type[attrs.AttrsInstance], where: str = ""
) -> Iterator[str]:
    """The same for each field of an attrs class; what its `repr` hides is hidden here too."""
    try:
        hints = hints_of(kind)
    except NameError:
        return  # its hints are for type checkers alone
    for one in attrs.fields(kind):
        given = getattr(value, one.name)
        if one.init and given is not one.default:
            show = shown if one.repr else kind_of
            yield from misfits(given, hints[one.name], f"{where}{one.alias}", show)


def checked_arguments(function: F) -> F:
    """The function, whose arguments are as its hints say. It raises UsageError for others."""
    signature = inspect.signature(function)

    def check(*args: Any, **kwargs: Any) -> None:
        given = signature.bind(*args, **kwargs).arguments  # TypeError: as for any function
        hints = hints_of(function)
        wrong = [
            line
            for name, value in given.items()
            if name in hints
            for line in misfits(value, hints[name], name)
        ]
        if wrong:
            who = function.__qualname__.partition(".<locals>")[0]
            raise UsageError(f"{who}: {'; '.join(wrong)}")

    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            check(*args, **kwargs)
            return await function(*args, **kwargs)

        return cast("F", awaited)

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        check(*args, **kwargs)
        return function(*args, **kwargs)

    return cast("F", called)


@cache
def hints_of(owner: Callable[..., Any]) -> Mapping[str, Any]:
    """The hints of a function's arguments, or of a class's fields, evaluated."""
    return _evaluated(owner, include_extras=True)


def named(hint: Any) -> str:
    """The kind in words: `text`, `a list`, `a Hook or None`."""
    base, _ = _unwrapped(hint)
    if _is_union(base):
        *first, last = dict.fromkeys(map(named, get_args(base)))
        return f"{', '.join(first)} or {last}" if first else last
    origin = get_origin(base) or base
    if origin is Literal:
        return " or ".join(map(repr, get_args(base)))
    if origin in _WORDS:
        return _WORDS[origin]
    name = getattr(origin, "__name__", str(origin))
    return f"{'an' if name[:1] in 'AEIOU' else 'a'} {name}"


def _unwrapped(hint: Any) -> tuple[Any, Else | None]:
    """What is annotated, and the words that it brings along."""
    if get_origin(hint) is not Annotated:
        return hint, None
    base, *notes = get_args(hint)
    return base, next((note for note in notes if isinstance(note, Else)), None)


def _of_kind(value: object, hint: Any) -> bool:
    """Whether it is of this kind, whatever it holds."""
    hint, _ = _unwrapped(hint)
    if _is_union(hint):
        return any(_of_kind(value, each) for each in get_args(hint))
    origin = get_origin(hint) or hint
    if origin is Literal:
        return value in get_args(hint)
    if origin in (int, float):
        kinds = (int,) if origin is int else (int, float)
        return isinstance(value, kinds) and not isinstance(value, bool)
    if origin in _LISTINGS and isinstance(value, str | bytes | Mapping):
        return False
    return origin in (Any, object) or not isinstance(origin, type) or isinstance(value, origin)


def _inside(value: object, hint: Any, where: str, show: Shown) -> Iterator[str]:
    """The same for what it holds."""
    if _is_union(hint):
        members = [one for one in get_args(hint) if _of_kind(value, one)]
        yield from min((list(misfits(value, one, where, show)) for one in members), key=len)
        return
    origin, parts = get_origin(hint) or hint, get_args(hint)
    if isinstance(origin, type) and attrs.has(origin):
        yield from misfit_fields(value, origin, f"{where}.")
    elif parts and isinstance(value, list | tuple | set | frozenset):
        for at, one in enumerate(value):
            yield from misfits(one, parts[0], f"{where}[{at}]", show)
    elif len(parts) == 2 and isinstance(value, Mapping):
        for key, one in value.items():
            yield from misfits(key, parts[0], f"{where} (a name in it)", show)
            yield from misfits(one, parts[1], f"{where}[{shown(key)}]", show)


def _is_union(hint: Any) -> bool:
    return get_origin(hint) in (Union, UnionType)
