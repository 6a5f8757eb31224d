"""What a session cost is in a file that only grows, and what a kill leaves of it is all of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlock import spending
from interlock.ledger import Account, Payment
from interlock.spending import SpendingFile, Spent
from phases.world.usage import Usage


def paid(request: str, tokens: int, cost: float | None, total: float | None = None) -> Payment:
    usage = Usage(input_tokens=tokens)
    return Payment(request=request, model="m", usage=usage, cost=cost, total=total)


@pytest.fixture
def file(tmp_path: Path) -> SpendingFile:
    return SpendingFile(tmp_path / "session" / "costs.jsonl")


def test_the_last_line_of_a_request_counts(file: SpendingFile) -> None:
    for one in (paid("a", 5, 0.5), paid("a", 7, 0.75), paid("b", 1, 0.25), paid("c", 9, 1.0)):
        file.add(one)
    file.add(paid("c", 0, 0.0))  # taken back

    assert spending.read(file.path) == Spent(accounts={"m": Account(Usage(input_tokens=8), 1.0)})


def test_what_has_no_price_makes_the_cost_unknown_and_not_lower(file: SpendingFile) -> None:
    file.add(paid("a", 5, 0.5, 0.5))
    file.add(paid("b", 5, None, None))

    assert spending.read(file.path).accounts["m"].cost is None
    assert spending.total(file.path) is None


def test_the_total_is_read_from_the_end(file: SpendingFile) -> None:
    for number in range(100):
        file.add(paid(str(number), 1, 0.5, 0.5 * (number + 1)))

    assert file.path.stat().st_size > 4096
    assert spending.total(file.path) == 50.0


def test_a_line_that_a_crash_cut_is_told_and_the_next_one_is_not_glued_to_it(
    file: SpendingFile,
) -> None:
    file.add(paid("a", 5, 0.5))
    with file.path.open("ab") as out:
        out.write(b'{"request": "b", "mo')
    file.add(paid("c", 2, 0.25))

    spent = spending.read(file.path)

    assert spent.accounts == {"m": Account(Usage(input_tokens=7), 0.75)}
    assert spent.damage == ("costs.jsonl:2: no payment, left out: the cost is not whole",)


def test_a_session_without_such_a_file_has_cost_nothing_that_is_known(tmp_path: Path) -> None:
    assert spending.read(tmp_path / "costs.jsonl") == Spent()
    assert spending.total(tmp_path / "costs.jsonl") is None


def test_only_its_owner_can_read_it(file: SpendingFile) -> None:
    file.add(paid("a", 5, 0.5))

    assert file.path.stat().st_mode & 0o777 == 0o600


def test_a_folder_that_cannot_be_written_does_not_end_the_run(tmp_path: Path) -> None:
    (tmp_path / "session").write_text("no folder")

    SpendingFile(tmp_path / "session" / "costs.jsonl").add(paid("a", 5, 0.5))


def test_what_another_program_wrote_of_the_cost_is_taken_over() -> None:
    used = {"inputTokens": 3, "outputTokens": 4, "costUSD": 0.5}
    cached = {"cacheReadInputTokens": 1, "cacheCreationInputTokens": 2}

    spent = spending.foreign({"modelUsage": {"m": used | cached, "n": {"costUSD": 1}, "o": None}})

    usage = Usage(
        input_tokens=3,
        output_tokens=4,
        cache_read_input_tokens=1,
        cache_creation_input_tokens=2,
    )
    assert spent.accounts == {"m": Account(usage, 0.5)}
    assert spending.foreign({"modelUsage": "?"}) == Spent()
