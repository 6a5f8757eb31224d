"""How a request to the model can fail: one value, classed by what can be done about it."""

from __future__ import annotations

from enum import StrEnum

from attrs import frozen


class FailureKind(StrEnum):
    """The class of a failure; taken from the API's `error.type` before the HTTP status."""

    CONNECTION = "connection"
    TIMEOUT = "timeout"
    STALLED = "stalled"  # bytes may come, content does not
    CUT = "cut"  # the stream ended without message_stop
    PROTOCOL = "protocol"  # the answer is no event stream of the Messages API
    OVERLOADED = "overloaded"
    RATE_LIMITED = "rate_limited"
    SERVER = "server"
    PROMPT_TOO_LONG = "prompt_too_long"
    MEDIA_TOO_LARGE = "media_too_large"
    BLOCK_REFUSED = "block_refused"  # a 400 that names a message or block we can take out
    AUTHENTICATION = "authentication"
    PERMISSION = "permission"
    BILLING = "billing"
    MODEL_NOT_FOUND = "model_not_found"
    INVALID_REQUEST = "invalid_request"
    STORAGE = "storage"  # ours, not the API's: what must be written down cannot be
    UNKNOWN = "unknown"


FOR_NOW = frozenset(
    {
        FailureKind.CONNECTION,
        FailureKind.TIMEOUT,
        FailureKind.STALLED,
        FailureKind.CUT,
        FailureKind.PROTOCOL,
        FailureKind.OVERLOADED,
        FailureKind.RATE_LIMITED,
        FailureKind.SERVER,
    }
)


@frozen(kw_only=True)
class RefusedBlock:
    """A block of the history that a 400 is about."""

    message_id: str
    block: int
    what: str = ""  # for a person: "a call of Bash"
    told: bool = False  # not refused itself: its words stay, as plain text


@frozen(kw_only=True)
class Failure:
    """Why there is no reply. `message` is one line for a person."""

    kind: FailureKind
    message: str
    status: int | None = None
    error_type: str | None = None  # the API's own word
    retry_after: float | None = None  # seconds, a lower bound
    hopeless: bool = False  # the server said that trying again will not help
    request_id: str | None = None
    refused: RefusedBlock | None = None  # what the server named
    beside: tuple[RefusedBlock, ...] = ()  # what has to go with it: a result with its call

    @property
    def to_take_out(self) -> tuple[RefusedBlock, ...]:
        return () if self.refused is None else (self.refused, *self.beside)
