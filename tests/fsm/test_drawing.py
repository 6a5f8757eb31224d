"""Pictures are made from the table: one arrow for each edge, in a grammar Mermaid reads."""

from __future__ import annotations

import itertools
import re
from enum import StrEnum

import pytest
from attrs import evolve
from hypothesis import given

from fsm import Machine, at, machine, to
from fsm.draw import markdown, mermaid
from tests.fsm.doors import DOOR, TURNSTILE, At, Coins, Pushed, keep_coins
from tests.fsm.random_machines import machines

# Each line of a stateDiagram-v2 that we write has one of these shapes.
ID = r"[A-Za-z_][A-Za-z0-9_]*"
TEXT = r'(?:#\d+;|[^#;:"<>{}\n])+'
ARROW = rf"(?:{ID}|\[\*\]) --> (?:{ID}|\[\*\])(?: : {TEXT})?"
NAMED, NOTE = rf'state "{TEXT}" as {ID}', rf"note right of {ID} : {TEXT}"
SHAPES = re.compile(rf"{ARROW}|{NAMED}|{NOTE}|state {ID} \{{|\}}")
RESERVED = {"end", "state", "note", "class", "direction", "style", "default", "as"}


def arrows(picture: str) -> list[str]:
    """The arrows between states, without those from and to the outside."""
    lines = [line.strip() for line in picture.splitlines()]
    return [line for line in lines if " --> " in line and "[*]" not in line]


def insist_on_grammar(picture: str) -> None:
    first, *others = picture.splitlines()
    assert first == "stateDiagram-v2"
    depth = 0
    for line in others:
        assert SHAPES.fullmatch(line.strip()), line
        depth += line.endswith("{") - line.endswith("}")
        for name in re.findall(rf"({ID}) -->|--> ({ID})|as ({ID})", line):
            assert not RESERVED & set(name), line
    assert depth == 0


@pytest.mark.parametrize("machine", [DOOR, TURNSTILE], ids=lambda m: m.name)
@pytest.mark.parametrize("compact", [False, True])
def test_every_line_is_one_that_mermaid_reads(machine: Machine[object], compact: bool) -> None:
    insist_on_grammar(mermaid(machine, compact=compact))


@pytest.mark.parametrize("machine", [DOOR, TURNSTILE], ids=lambda m: m.name)
def test_the_picture_has_as_many_arrows_as_the_table_has_edges(machine: Machine[object]) -> None:
    assert len(arrows(mermaid(machine))) == len(machine.edges)


@given(machines())
def test_and_so_has_the_picture_of_any_machine(machine: Machine[int]) -> None:
    insist_on_grammar(mermaid(machine))
    insist_on_grammar(mermaid(machine, compact=True))
    assert len(arrows(mermaid(machine))) == len(machine.edges)


def test_the_whole_picture_of_a_turnstile() -> None:
    assert mermaid(TURNSTILE) == (
        "stateDiagram-v2\n"
        "    [*] --> locked\n"
        "    locked --> open : Coin [is_good] / paid\n"
        "    locked --> locked : Coin\n"
        "    locked --> closed_down : Evening\n"
        "    locked --> locked : Pushed\n"
        "    open --> locked : Pushed\n"
        "    open --> closed_down : Evening\n"
        "    closed_down --> [*]\n"
    )


def test_a_composite_state_is_drawn_as_a_box_with_readable_names() -> None:
    picture = mermaid(DOOR)

    assert '    state waiting {\n        state "pause" as waiting_pause\n    }\n' in picture
    assert (
        "    knocking --> waiting_pause : Knocked [silent, tries_left] / another_try\n" in picture
    )


def test_every_ending_leads_out() -> None:
    for ending in DOOR.endings:
        assert f"    {ending} --> [*]\n" in mermaid(DOOR)


def test_the_compact_picture_merges_arrows_and_puts_general_rows_into_a_note() -> None:
    picture = mermaid(DOOR, compact=True)

    assert "    knocking --> ready : another_key or oiled or next_day\n" in picture
    assert "    note right of fell : from 3 states, told Stumbled\n" in picture
    assert len(arrows(picture)) == len(set(arrows(picture))) == 9


def test_an_arrow_that_is_also_taken_without_a_guard_says_so_in_the_compact_picture() -> None:
    edges = [
        evolve(edge, destination=At.CALLED_AWAY) if edge.reason == "gave_up" else edge
        for edge in DOOR.edges
    ]

    picture = mermaid(DOOR.with_edges(edges), compact=True)

    # `gave_up` is the reason it kept, and no longer the name of where it leads.
    assert "    knocking --> called_away : called or gave_up\n" in picture
    assert "    locked --> locked : otherwise\n" in mermaid(TURNSTILE, compact=True)


class Awkward(StrEnum):
    """Names that are words of Mermaid's, or that meet where a dot becomes an underscore."""

    STATE = "state"
    NOTE = "note"
    WHOLE = "recovery"
    PART = "recovery.state"
    LIKE_PART = "recovery_state"
    DONE = "done"


def test_awkward_names_get_ids_of_their_own_and_keep_their_labels() -> None:
    awkward = machine(
        "awkward",
        *(at(a, Pushed, otherwise=to(b)) for a, b in itertools.pairwise(Awkward)),
        loop=Coins,
        states=Awkward,
        initial=Awkward.STATE,
        endings=[Awkward.DONE],
        keep=keep_coins,
    )

    picture = mermaid(awkward)

    insist_on_grammar(picture)
    assert arrows(picture) == [
        "state_ --> note_ : Pushed",
        "note_ --> recovery_ : Pushed",
        "recovery_ --> recovery_state : Pushed",
        "recovery_state --> recovery_state_ : Pushed",
        "recovery_state_ --> done : Pushed",
    ]
    assert 'state "recovery_state" as recovery_state_' in picture


def test_a_table_in_markdown_reads_from_first_to_last() -> None:
    assert markdown(DOOR) == (
        "| from | guards | to | reason |\n"
        "| --- | --- | --- | --- |\n"
        "| every state whose first row asks this | told `Stumbled`: `called` "
        "| where that row goes | |\n"
        "| every state | told `Stumbled` | `fell` | ending |\n"
        "| `ready` | `called` | `called_away` | ending |\n"
        "| `ready` | otherwise | `knocking` | |\n"
        "| `knocking` | `called` | `called_away` | ending |\n"
        "| `knocking` | `invited` | `went_in` | ending |\n"
        "| `knocking` | `silent`, `tries_left` | `waiting.pause` | `another_try` |\n"
        "| `knocking` | `keys_left` | `ready` | `another_key` |\n"
        "| `knocking` | `oil_left` | `ready` | `oiled` |\n"
        "| `knocking` | `days_left` | `ready` | `next_day` |\n"
        "| `knocking` | otherwise | `gave_up` | ending |\n"
        "| `waiting.pause` | `called` | `called_away` | ending |\n"
        "| `waiting.pause` | otherwise | `knocking` | |\n"
    )


def test_a_state_that_knows_several_outcomes_says_which_one_a_row_is_for() -> None:
    assert "| `locked` | told `Coin`: `is_good` | `open` | `paid` |\n" in markdown(TURNSTILE)
    assert "| `open` | otherwise | `locked` | |\n" in markdown(TURNSTILE)


def test_a_general_row_that_a_state_has_lost_names_the_states_that_still_have_it() -> None:
    fewer = TURNSTILE.with_edges(TURNSTILE.edges[:-1])

    assert "| `locked` | told `Evening` | `closed_down` | ending |\n" in markdown(fewer)
