"""How much a model may think before it answers, as the request says it."""

from __future__ import annotations

import orjson
from attrs import frozen

_LEAST_BUDGET = 1024  # tokens; the API refuses less


@frozen
class Asked:
    """What a request says of thinking, and how much may then be written in all."""

    cap: int
    words: bytes


@frozen(kw_only=True)
class Thinks:
    """How the model thinks: by a budget in tokens, or not at all. A model that thinks as it sees
    fit takes no budget. `display` is what it shows of it."""

    budget: int | None = None
    off: bool = False
    display: str | None = None

    @property
    def most(self) -> int | None:
        """The budget as the API takes it."""
        return max(self.budget, _LEAST_BUDGET) if self.budget and not self.off else None

    @property
    def shown(self) -> bytes:
        return b',"display":%b' % orjson.dumps(self.display) if self.display else b""

    def asked(self, cap: int, most_output: int | None, *, adaptive: bool, budgeted: bool) -> Asked:
        """`cap` is how much may be written beside the thinking, `most_output` what the model can
        write at most, where that is known. `budgeted`: there is to be thinking by the budget."""
        if adaptive:
            return Asked(cap, b',"thinking":{"type":"adaptive"%b}' % self.shown)
        if self.off:
            return Asked(cap, b',"thinking":{"type":"disabled"}')
        budget = self.most
        if budget is None or not budgeted:
            return Asked(cap, b"")
        if cap <= budget:
            cap += budget
        if most_output is not None and cap > most_output:
            cap = most_output
            budget = max(_LEAST_BUDGET, min(budget, cap - 1))
        words = b',"thinking":{"type":"enabled","budget_tokens":%d%b}' % (budget, self.shown)
        return Asked(cap, words)
