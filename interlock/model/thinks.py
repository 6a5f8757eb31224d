"""How much a model may think before it answers, as the request says it."""

from __future__ import annotations

import orjson
from attrs import frozen

_LEAST_BUDGET = 1024  # tokens; the API refuses less


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
