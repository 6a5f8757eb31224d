"""A session that another program drives, over lines of JSON: the protocol of agent SDKs.

`wire` reads lines, `exchange` keeps the requests of both sides, `opening` what the host asks for
first. `hooks`, `asking` and `servers` put our questions to it, `requests` does what it wants done,
`turns` runs its prompts. `session` is all of it. docs/sdk.md is for those who use it.
"""

from interlock.control.exchange import Exchange, HostGone, HostRefused
from interlock.control.opening import BadOpening, Opening, opening_of
from interlock.control.session import Controlled, Host
from interlock.control.wire import BadLine, Feed

__all__ = [
    "BadLine",
    "BadOpening",
    "Controlled",
    "Exchange",
    "Feed",
    "Host",
    "HostGone",
    "HostRefused",
    "Opening",
    "opening_of",
]
