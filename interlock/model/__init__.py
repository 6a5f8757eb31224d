"""The model: what leaves to it, what comes back from it, how it fails and what it costs.

`anthropic` implements the port. `mend` makes a history fit to leave, `request` builds what leaves
(with `turns` and `layout`, which check it); `sse`, `reply` and `blocks` read what comes;
`failures` and `prices` are tables.
"""

from interlock.model.anthropic import AnthropicModel
from interlock.model.loading import preload
from interlock.model.mend import Mender
from interlock.model.turns import HistoryError

__all__ = ["AnthropicModel", "HistoryError", "Mender", "preload"]
