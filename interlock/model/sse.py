"""Server-sent events, from bytes as the network cuts them to whole events.

Follows the WHATWG text strictly: three kinds of line end, comments, `retry` and `id` lines,
several data lines, a byte order mark. An event that its blank line has not ended yet does not
exist. Knows nothing of JSON or of the Messages API; what events say is read in `reply.py`.
"""

from __future__ import annotations

BOM = b"\xef\xbb\xbf"
# A whole reply of today's models is below a megabyte, so an event of this size is no event: it
# is a server that never sends a blank line, and it must not fill our memory.
MAX_EVENT_BYTES = 32 * 1024 * 1024

SseEvent = tuple[str, bytes]  # name, empty where the stream gave none; data


class SseError(ValueError):
    """The stream is no event stream, or none that can be read with bounded memory."""


class SseParser:
    """Feed it bytes; it returns the events that they complete."""

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._most = max_event_bytes
        self._pieces: list[bytes] = []  # since the last blank line; joined only when one comes
        self._size = 0
        self._began = False
        self._after_cr = False  # the last byte was CR: an LF that follows belongs to it

    def feed(self, data: bytes) -> list[SseEvent]:
        """The events that `data` completes, in order."""
        data = self._with_lf_ends(data)
        if not self._began:
            data = self._without_bom(data)
        pieces = self._pieces
        if not data:
            return []
        # The blank line may lie across the seam, so the last byte before it is looked at too.
        seam = pieces[-1][-1:] if pieces else b""
        if b"\n\n" not in seam + data:
            pieces.append(data)
            self._size += len(data)
            if self._size > self._most:
                raise SseError(f"an event longer than {self._most} bytes")
            return []
        blocks = b"".join((*pieces, data)).split(b"\n\n")
        rest = blocks.pop()
        pieces.clear()
        if rest:
            pieces.append(rest)
        self._size = len(rest)
        return [event for block in blocks if (event := _event(block)) is not None]

    def _with_lf_ends(self, data: bytes) -> bytes:
        if self._after_cr and data:
            data = data.removeprefix(b"\n")
            self._after_cr = False
            if not data:
                return data
        if b"\r" in data:
            self._after_cr = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return data

    def _without_bom(self, data: bytes) -> bytes:
        data = b"".join((*self._pieces, data))
        self._pieces.clear()
        if len(data) < len(BOM) and BOM.startswith(data):
            if data:
                self._pieces.append(data)
            return b""
        self._began = True
        return data.removeprefix(BOM)


def _event(block: bytes) -> SseEvent | None:
    """The event in the lines before a blank one; None where they hold no data."""
    first, _, rest = block.lstrip(b"\n").partition(b"\n")
    if first.startswith(b"event:") and rest.startswith(b"data:") and b"\n" not in rest:
        # The shape of nearly every event there is.
        name = first[7:] if first.startswith(b"event: ") else first[6:]
        return name.decode("utf-8", "replace"), rest[6:] if rest[5:6] == b" " else rest[5:]
    return _any_event(block)


def _any_event(block: bytes) -> SseEvent | None:
    name, data = b"", []
    for line in block.split(b"\n"):
        field, colon, value = line.partition(b":")
        if colon:
            value = value.removeprefix(b" ")
        if field == b"event":
            name = value
        elif field == b"data":
            data.append(value)
    if not data:
        return None
    return name.decode("utf-8", "replace"), b"\n".join(data)
