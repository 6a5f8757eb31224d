"""A small machine, as good as it gets, to be declared wrongly."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import pytest
from attrs import frozen

from fsm import DeclarationError, Everywhere, Machine, Node, at, machine, to


class S(StrEnum):
    A = "a"
    B = "b"
    Z = "z"


@frozen
class Loop:
    n: int


@frozen
class Told:
    ok: bool = True


@frozen
class Other:
    pass


def keep(loop: Loop, outcome: object) -> Loop:
    return loop


def ok(loop: Loop, outcome: Told) -> bool:
    return outcome.ok


def built(
    *rows: Node[Loop] | Everywhere,
    states: type[StrEnum] = S,
    initial: StrEnum = S.A,
    endings: tuple[StrEnum, ...] = (S.Z,),
    keep: Callable[[Loop, Any], Loop] = keep,
) -> Machine[Loop]:
    return machine(
        "m", *rows, loop=Loop, states=states, initial=initial, endings=endings, keep=keep
    )


def refused(*rows: Node[Loop] | Everywhere, **others: Any) -> DeclarationError:
    with pytest.raises(DeclarationError) as caught:
        built(*rows, **others)
    return caught.value


A_TO_B: Node[Loop] = at(S.A, Told, otherwise=to(S.B))
B_TO_Z: Node[Loop] = at(S.B, Told, otherwise=to(S.Z))
