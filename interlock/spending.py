"""What each request of a session cost, a line each, written as soon as it is known.

So a session that is killed costs on resume what it had cost by then: nothing is summed up later
that a crash could lose. The first line of a request says what the server had counted when the
answer began; a later one with the same id takes its place. From a power cut it is kept like the
transcript: forced onto the disk at the same moments.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
from attrs import define, field, frozen
from cattrs import Converter

from interlock.durability import Disk, Moment
from interlock.home import COSTS
from interlock.ledger import Account, Payment
from interlock.quiet import Quiet
from interlock.regular_files import open_regular, read_regular
from interlock.sessions.ends import Listed
from interlock.sessions.lines import append_line
from interlock.sessions.transcript import private_folder
from phases.world.messages import encoded
from phases.world.usage import Usage

_log = Quiet(__name__)
_converter = Converter(detailed_validation=False)
_LAYERS = 2  # folders that lead to the file and may be new when the transcript's are known
_LAST = 4096  # bytes that hold the last line, which has the session's total in it


@frozen(kw_only=True)
class Spent:
    """What a session has used of each model, and lines of its file that say nothing."""

    accounts: Mapping[str, Account] = field(factory=dict)
    damage: tuple[str, ...] = ()


@define
class SpendingFile:
    """The file of one session; it is made with the first payment."""

    path: Path
    disk: Disk = field(factory=Disk)
    _unsynced: bool = False
    _named: bool = False  # the disk knows the file by its name
    _failed: bool = False

    def add(self, payment: Payment) -> None:
        """Write it down. Never raises: the run goes on without."""
        with self._forgiving():
            private_folder(self.path.parent)
            with self._opened() as file:
                self._unsynced = True
                append_line(file, encoded(_converter.unstructure(payment)))
        if self.disk.wants(Moment.RECORD):
            self.sync()

    def sync(self) -> None:
        """Return when the disk has all that was written. Never raises."""
        if not self._unsynced:
            return
        with self._forgiving():
            with self._opened() as file:
                self.disk.sync(file)
            if not self._named:
                self.disk.sync_folders(self.path.parents[:_LAYERS])
                self._named = True
            self._unsynced = False

    @contextmanager
    def _opened(self) -> Iterator[int]:
        file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            yield file
        finally:
            os.close(file)

    @contextmanager
    def _forgiving(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if not self._failed:
                _log.warning("cost not kept", path=str(self.path), error=str(error))
            self._failed = True


def read(path: Path) -> Spent:
    """Everything that the session whose file this is has paid."""
    try:
        lines = read_regular(path).splitlines()
    except OSError:
        return Spent()
    paid: dict[str, Payment] = {}
    damage = []
    for number, line in enumerate(lines, 1):
        payment = _payment(line)
        if payment is None:
            damage.append(f"{path.name}:{number}: no payment, left out: the cost is not whole")
            continue
        paid.pop(payment.request, None)
        paid[payment.request] = payment
    accounts: dict[str, Account] = {}
    for payment in paid.values():
        if payment.usage != Usage():
            accounts.setdefault(payment.model, Account()).book(payment.usage, payment.cost)
    return Spent(accounts=accounts, damage=tuple(damage))


def total(path: Path) -> float | None:
    """What the session has cost in USD, from the end of its file; None where it is not known."""
    try:
        with open_regular(path) as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _LAST))
            lines = file.read().splitlines()
    except OSError:
        return None
    last = next((each for line in reversed(lines) if (each := _payment(line)) is not None), None)
    return None if last is None else last.total


def cost_of(found: Listed) -> float | None:
    """What a session that lies on disk has cost in USD, as far as it is known."""
    own = found.path.with_suffix("") / COSTS
    if own.exists():
        return total(own)
    told = (found.cost_state or {}).get("totalCostUSD")
    return float(told) if isinstance(told, int | float) else None


def foreign(cost_state: Mapping[str, Any]) -> Spent:
    """What another program wrote into its transcript of the cost, as far as it can be read."""
    accounts = {}
    used = cost_state.get("modelUsage")
    for model, told in used.items() if isinstance(used, dict) else ():
        try:
            usage = Usage(
                input_tokens=int(told["inputTokens"]),
                output_tokens=int(told["outputTokens"]),
                cache_read_input_tokens=int(told["cacheReadInputTokens"]),
                cache_creation_input_tokens=int(told["cacheCreationInputTokens"]),
            )
            accounts[model] = Account(usage, float(told["costUSD"]))
        except (KeyError, TypeError, ValueError):
            continue
    return Spent(accounts=accounts)


def _payment(line: bytes) -> Payment | None:
    try:
        return _converter.structure(orjson.loads(line), Payment)
    except Exception:  # cattrs raises whatever the first wrong value leads to
        return None
