"""Payments as they come in, and the check that each must pass."""

from dataclasses import dataclass
from decimal import Decimal

CURRENCIES = frozenset({"CHF", "EUR", "USD"})


@dataclass(frozen=True)
class Payment:
    """A customer's order to pay a merchant."""

    merchant_id: str
    amount: Decimal
    currency: str


@dataclass(frozen=True)
class Verdict:
    """Whether a payment can be taken, and all that speaks against it."""

    valid: bool
    problems: tuple[str, ...] = ()


def validate_payment(payment: Payment) -> Verdict:
    """Look for everything that is wrong with a payment, not for the first thing only."""
    problems = []
    if payment.amount <= 0:
        problems.append("the amount must be above zero")
    if payment.currency not in CURRENCIES:
        problems.append(f"the currency {payment.currency} is not accepted")
    return Verdict(valid=not problems, problems=tuple(problems))
