"""Declare a machine as one table of typed edges.

A table reads aloud: *at this state, told this outcome: when these guards hold, go there;
otherwise go there.* Guards and reducers are plain functions, given directly. Everything else
(running, drawing, checking, explaining) reads the `Machine` that `machine()` returns; a table
that is wrong never gets that far. Read `run` next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Generic, TypeVar

from attrs import evolve, field, frozen

L = TypeVar("L")
O = TypeVar("O")  # noqa: E741 - L and O, as in every signature of this package
# A way that asks less of an outcome (for a Protocol it meets) serves every outcome that has it.
O_contra = TypeVar("O_contra", contravariant=True)

Guard = Callable[[Any, Any], bool]
Reducer = Callable[[Any, Any], Any]


@frozen
class Way(Generic[L, O_contra]):
    """One way out of a state, before it knows which state that is."""

    guards: tuple[Callable[[L, O_contra], bool], ...]
    go: StrEnum
    then: Callable[[L, O_contra], L] | None


def when(
    *guards: Callable[[L, O], bool], go: StrEnum, then: Callable[[L, O], L] | None = None
) -> Way[L, O]:
    """A way taken if all `guards` hold; `then` makes the next loop, else the machine's `keep`."""
    return Way(guards, go, then)


def to(target: StrEnum, *, then: Callable[[L, O], L] | None = None) -> Way[L, O]:
    """The way that is always open; stands last."""
    return Way((), target, then)


@frozen
class Node(Generic[L]):
    """All that can follow one outcome in one state, in the order it is tried."""

    source: StrEnum
    outcome: type[Any]
    ways: tuple[Way[L, Any], ...]


def at(source: StrEnum, outcome: type[O], *ways: Way[L, O], otherwise: Way[L, O]) -> Node[L]:
    """What follows `outcome` in `source`; `otherwise` is required, so nothing gets stuck."""
    return Node(source, outcome, (*ways, otherwise))


@frozen
class Everywhere:
    """One row that holds in every state that is no ending; expanded when the table is built."""

    outcome: type[Any]
    go: StrEnum
    after: Guard | None


def everywhere(outcome: type[O], *, go: StrEnum, after: Guard | None = None) -> Everywhere:
    """In every state, told `outcome`: go there.

    Where a state's first row is guarded by `after` alone, that row keeps its precedence.
    """
    return Everywhere(outcome, go, after)


@frozen
class Edge:
    """One row of the finished table.

    `reason` is the name of the reducer or, into an ending, of the ending; None where an edge
    only passes on. `closes` tells whether it ends an iteration: it leads to an ending, or back
    to where the machine starts.
    """

    index: int
    source: StrEnum
    outcome: type[Any]
    guards: tuple[Guard, ...]
    destination: StrEnum
    reducer: Reducer
    reason: str | None
    closes: bool
    general: bool = False  # comes from an `everywhere` row

    @property
    def guard_names(self) -> tuple[str, ...]:
        return tuple(name_of(guard) for guard in self.guards)

    def __str__(self) -> str:
        when_ = ", ".join(self.guard_names) or "otherwise"
        tail = f" ({self.reason})" if self.reason else ""
        return f"{self.source} --{self.outcome.__name__}[{when_}]--> {self.destination}{tail}"


@frozen(eq=False)
class Machine(Generic[L]):
    """A finished, checked table. Frozen: a different table is a different machine."""

    name: str
    loop: type[L]
    initial: StrEnum
    endings: frozenset[StrEnum]
    states: tuple[StrEnum, ...]
    edges: tuple[Edge, ...]
    keep: Reducer
    rows: Mapping[tuple[StrEnum, type[Any]], tuple[Edge, ...]] = field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        rows: dict[tuple[StrEnum, type[Any]], list[Edge]] = {}
        for edge in self.edges:
            rows.setdefault((edge.source, edge.outcome), []).append(edge)
        object.__setattr__(self, "rows", {key: tuple(value) for key, value in rows.items()})

    def outcomes_of(self, state: StrEnum) -> tuple[type[Any], ...]:
        """The outcome types that `state` knows, in table order."""
        return tuple(dict.fromkeys(e.outcome for e in self.edges if e.source == state))

    def phase_outcome(self, state: StrEnum) -> type[Any]:
        """The one outcome type that the work of `state` itself reports."""
        return next(e.outcome for e in self.edges if e.source == state and not e.general)

    @property
    def guards(self) -> tuple[Guard, ...]:
        """Every guard of the table once, in table order."""
        return tuple(dict.fromkeys(guard for edge in self.edges for guard in edge.guards))

    def with_edges(self, edges: Iterable[Edge]) -> Machine[L]:
        """The same machine over other rows, unchecked: for mutation tests and what-if replay."""
        renumbered = tuple(evolve(edge, index=i) for i, edge in enumerate(edges))
        return Machine(
            self.name, self.loop, self.initial, self.endings, self.states, renumbered, self.keep
        )


def machine(
    name: str,
    *rows: Node[L] | Everywhere,
    loop: type[L],
    states: type[StrEnum],
    initial: StrEnum,
    endings: Iterable[StrEnum],
    keep: Callable[[L, Any], L],
) -> Machine[L]:
    """Build and check a machine.

    `keep` is the reducer of edges that name none. Raises DeclarationError, naming the edge,
    for: an unknown, unreachable or inescapable state; two equal edges; an edge behind one that
    always holds; a source without an unguarded last edge; a guard or reducer that is async, has
    no plain name, or whose annotations do not fit the outcome or the loop; two outcome types,
    or two guards of one source, that share a name.
    """
    # Imported here: the checks read Machine and Edge, this function calls the checks.
    from fsm.sound import insist_on_soundness

    final = frozenset(endings)
    nodes = [row for row in rows if isinstance(row, Node)]
    general = [row for row in rows if isinstance(row, Everywhere)]
    edges: list[Edge] = []
    for source, outcome, way, is_general in _expanded(nodes, general):
        closes = way.go in final or way.go == initial
        reason = way.go.value if way.go in final else (name_of(way.then) if way.then else None)
        edges.append(
            Edge(
                index=len(edges),
                source=source,
                outcome=outcome,
                guards=tuple(way.guards),
                destination=way.go,
                reducer=way.then or keep,
                reason=reason,
                closes=closes,
                general=is_general,
            )
        )
    built: Machine[L] = Machine(name, loop, initial, final, tuple(states), tuple(edges), keep)
    insist_on_soundness(built)
    return built


def _expanded(
    nodes: Sequence[Node[Any]], general: Sequence[Everywhere]
) -> Iterator[tuple[StrEnum, type[Any], Way[Any, Any], bool]]:
    begun: set[StrEnum] = set()
    for node in nodes:
        for way in node.ways:
            yield node.source, node.outcome, way, False
        if node.source in begun:
            continue  # a state that knows two outcomes still needs each general row only once
        begun.add(node.source)
        for row in general:
            first = node.ways[0]
            if row.after is not None and first.guards == (row.after,):
                yield node.source, row.outcome, first, True
            yield node.source, row.outcome, Way((), row.go, None), True


def name_of(function: Callable[..., Any]) -> str:
    """The name a guard or reducer is known by, in tables, records and diagrams."""
    name = getattr(function, "__name__", None)
    return name if isinstance(name, str) else repr(function)


def composite_of(state: StrEnum) -> str | None:
    """The composite state that `state` is a part of ("recovery" for "recovery.backoff")."""
    head, dot, _ = state.value.rpartition(".")
    return head if dot else None
