"""The matrix as a table: a row for each edge and each kind of write, a column for each moment."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from attrs import frozen

from tests.crash.case import Case

_WIDTH = 72


@frozen(kw_only=True)
class Result:
    """A case that was judged."""

    case: Case
    wrong: tuple[str, ...]
    killed: bool
    seconds: float

    @property
    def good(self) -> bool:
        return not self.wrong


def rendered(title: str, results: Sequence[Result]) -> str:
    """How many of each row and column are good; a row that is not is marked."""
    columns = list(dict.fromkeys(one.case.column for one in results))
    rows: dict[str, dict[str, list[Result]]] = defaultdict(lambda: defaultdict(list))
    for one in results:
        rows[one.case.row][one.case.column].append(one)
    lines = [f"{title:{_WIDTH}}" + "".join(f"{column:>9}" for column in columns)]
    for row, cells in rows.items():
        told = "".join(f"{_cell(cells[column]):>9}" for column in columns)
        red = any(not one.good for cell in cells.values() for one in cell)
        lines.append(f"{row[:_WIDTH]:{_WIDTH}}{told}{'  <-- RED' if red else ''}")
    return "\n".join(lines)


def _cell(results: Sequence[Result]) -> str:
    if not results:
        return "."
    good = sum(one.good for one in results)
    if len(results) == 1:
        return "ok" if good else "RED"
    return f"{good}/{len(results)}"


def reds(results: Sequence[Result]) -> Iterator[str]:
    """What is wrong, case by case."""
    for one in results:
        if not one.good:
            yield f"RED {one.case}\n" + "\n".join(f"    {line}" for line in one.wrong)
