"""The checks a table must pass before it becomes a machine.

Structure and types only: whether the *laws* of a particular machine hold is `check`'s work.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from fsm.declare import Edge, Machine, name_of
from fsm.errors import DeclarationError

_UNIONS = (Union, UnionType)
_PLAIN_NAME = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)?")


def insist_on_soundness(machine: Machine[Any]) -> None:
    """Raise DeclarationError, naming the edge or state, for the first thing that is wrong."""
    _names(machine)
    _outcome_names(machine)
    for edge in machine.edges:
        _endpoints(machine, edge)
        _types(machine, edge)
    for edges in machine.rows.values():
        _order(machine, edges)
    _reachability(machine)


def _names(machine: Machine[Any]) -> None:
    for state in (*machine.states, machine.initial, *machine.endings):
        if state not in machine.states:
            raise DeclarationError(machine.name, f"state {state}", "is not one of its states")
        if not _PLAIN_NAME.fullmatch(state.value) or state.value == "end":
            # Names go into diagrams and file names as they are; `end` is a word of Mermaid's.
            raise DeclarationError(
                machine.name, f"state {state}", "must be a plain lower_case name, and not 'end'"
            )


def _outcome_names(machine: Machine[Any]) -> None:
    # A trigger is known by the name of its outcome type, so one name must mean one type.
    known: dict[str, type[Any]] = {}
    for edge in machine.edges:
        if known.setdefault(edge.outcome.__name__, edge.outcome) is not edge.outcome:
            raise DeclarationError(
                machine.name, str(edge), "another outcome type has the same name"
            )


def _endpoints(machine: Machine[Any], edge: Edge) -> None:
    for state in (edge.source, edge.destination):
        if state not in machine.states:
            raise DeclarationError(machine.name, str(edge), f"unknown state {state}")
    if edge.source in machine.endings:
        raise DeclarationError(machine.name, str(edge), f"{edge.source} is an ending")


def _order(machine: Machine[Any], edges: tuple[Edge, ...]) -> None:
    named: dict[str, Any] = {}
    for edge in edges:
        for guard in edge.guards:
            if named.setdefault(name_of(guard), guard) is not guard:
                raise DeclarationError(
                    machine.name, str(edge), f"two guards are called {name_of(guard)}"
                )
    seen: set[tuple[Any, ...]] = set()
    for position, edge in enumerate(edges):
        if edge.guards in seen:
            raise DeclarationError(machine.name, str(edge), "stands twice")
        seen.add(edge.guards)
        if not edge.guards and position < len(edges) - 1:
            raise DeclarationError(
                machine.name,
                str(edges[position + 1]),
                "can never be taken: the edge before it always holds",
            )
    if edges[-1].guards:
        raise DeclarationError(
            machine.name,
            str(edges[-1]),
            "is the last of its source and still has a guard: an outcome could get stuck",
        )


def _reachability(machine: Machine[Any]) -> None:
    forward: dict[StrEnum, set[StrEnum]] = {}
    backward: dict[StrEnum, set[StrEnum]] = {}
    for edge in machine.edges:
        forward.setdefault(edge.source, set()).add(edge.destination)
        backward.setdefault(edge.destination, set()).add(edge.source)
    reached = _closure({machine.initial}, forward)
    escaping = _closure(set(machine.endings), backward)
    for state in machine.states:
        if state not in reached:
            raise DeclarationError(machine.name, f"state {state}", "no edge leads there")
        if state not in escaping:
            raise DeclarationError(
                machine.name, f"state {state}", "no way leads from it to an ending"
            )


def _closure(start: set[StrEnum], arrows: dict[StrEnum, set[StrEnum]]) -> set[StrEnum]:
    found, waiting = set(start), list(start)
    while waiting:
        for state in arrows.get(waiting.pop(), set()) - found:
            found.add(state)
            waiting.append(state)
    return found


def _types(machine: Machine[Any], edge: Edge) -> None:
    for guard in edge.guards:
        _signature(machine, edge, guard, "guard", returns=bool)
    _signature(machine, edge, edge.reducer, "reducer", returns=machine.loop)


def _signature(
    machine: Machine[Any], edge: Edge, function: Callable[..., Any], kind: str, *, returns: type
) -> None:
    problem = _unusable(function)
    if problem:
        raise DeclarationError(machine.name, str(edge), f"{kind} {name_of(function)} {problem}")
    read = _annotations(function)
    if read is None:
        return  # without annotations that resolve here there is nothing to compare
    hints, parameters = read
    if len(parameters) != 2:
        raise DeclarationError(
            machine.name, str(edge), f"{kind} {name_of(function)} must take (loop, outcome)"
        )
    wanted = ((parameters[0], machine.loop), (parameters[1], edge.outcome))
    for parameter, given in wanted:
        if not _accepts(hints.get(parameter, object), given):
            raise DeclarationError(
                machine.name,
                str(edge),
                f"{kind} {name_of(function)} takes {_name(hints[parameter])} as {parameter}, "
                f"but is given {given.__name__}",
            )
    if not _accepts(returns, hints.get("return", returns)):
        raise DeclarationError(
            machine.name,
            str(edge),
            f"{kind} {name_of(function)} returns {_name(hints['return'])}, not {returns.__name__}",
        )


@lru_cache(maxsize=256)  # most guards stand on many edges, and reading them is half of the checks
def _annotations(function: Callable[..., Any]) -> tuple[dict[str, Any], list[str]] | None:
    try:
        return get_type_hints(function), list(inspect.signature(function).parameters)
    except (NameError, TypeError, ValueError):
        return None


def _unusable(function: Callable[..., Any]) -> str | None:
    called = getattr(function, "__call__", None)  # noqa: B004 - of an object that is callable
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called):
        return "is async; decisions are not"
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        return "is a generator: what it returns is always true"
    if not name_of(function).isidentifier():
        return "needs a plain name: records and diagrams call it by that"
    return None


def _accepts(annotation: Any, given: Any) -> bool:
    """Whether a value of type `given` may go where `annotation` is asked for."""
    if annotation is Any or annotation is object or given is Any:
        return True
    if get_origin(given) in _UNIONS:
        return all(_accepts(annotation, each) for each in get_args(given))
    if get_origin(annotation) in _UNIONS:
        return any(_accepts(each, given) for each in get_args(annotation))
    if getattr(annotation, "_is_protocol", False):
        return all(_has(given, member) for member in _members(annotation))
    wanted, offered = get_origin(annotation) or annotation, get_origin(given) or given
    if isinstance(wanted, type) and isinstance(offered, type):
        return issubclass(offered, wanted)
    return True  # a type variable or another form that only the type checker can judge


def _members(protocol: Any) -> set[str]:
    classes = [each for each in protocol.__mro__ if getattr(each, "_is_protocol", False)]
    names = {name for each in classes for name in (*vars(each), *inspect.get_annotations(each))}
    return {name for name in names if not name.startswith("_")}


def _has(given: Any, member: str) -> bool:
    # The class of a value whose fields are not slots knows them by annotation only.
    return hasattr(given, member) or any(
        member in inspect.get_annotations(each) for each in getattr(given, "__mro__", ())
    )


def _name(annotation: Any) -> str:
    return str(getattr(annotation, "__name__", annotation))
