"""What reaches a run from the side: queued messages, finished prefetches, captions of tools.

`queue` keeps what was typed or reported meanwhile, `prefetch` what was looked up meanwhile;
`attachments` hands both over between two turns. `captions` is its own affair. None waits.
"""

from interlock.inbox.attachments import Beside, Inbox, files_told
from interlock.inbox.captions import CAPTION_SYSTEM, Captions
from interlock.inbox.lifecycle import QUEUED_MESSAGE, Stage
from interlock.inbox.prefetch import AlreadyRead, Found, Prefetch, PrefetchSource
from interlock.inbox.queue import Mail, Mode, Priority, Queued, Waiting

__all__ = [
    "CAPTION_SYSTEM",
    "QUEUED_MESSAGE",
    "AlreadyRead",
    "Beside",
    "Captions",
    "Found",
    "Inbox",
    "Mail",
    "Mode",
    "Prefetch",
    "PrefetchSource",
    "Priority",
    "Queued",
    "Stage",
    "Waiting",
    "files_told",
]
