"""A command's bytes as text a model can read: what would be on the screen, without the show.

Works piece by piece. Bad bytes become U+FFFD, a letter cut by a piece's end does not; colour and
cursor sequences and other control characters go; a line that was redrawn with CR keeps its last
state.
"""

from __future__ import annotations

import codecs
import re

from attrs import define, field

_MAX_HELD = 16_384  # characters of a line kept back; a longer one is no progress bar
_SEQUENCE = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles, links
    r"|\x1b[ -/]*[0-Z\\^-~]"
    r"|\x9b[0-?]*[ -/]*[@-~]"
)
_BEGUN = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)?\Z")
_OVERSTRUCK = re.compile(r"[^\n\r\x08]\x08|(?:(?<=[\n\r])|\A)\x08")
_CONTROLS = dict.fromkeys([*range(8), 11, 12, *range(14, 32), *range(127, 160)])
_UNCONTROLLED = bytes([9, 10, *range(32, 127), *range(128, 256)])
_C1 = re.compile(b"\xc2[\x80-\x9f]")  # control characters as UTF-8 has them
_REDRAWN = re.compile(r"[^\n]*\r(?=[^\n\r])")


@define
class Screen:
    _decoder: codecs.IncrementalDecoder = field(
        factory=lambda: codecs.getincrementaldecoder("utf-8")("replace")
    )
    _sequence: str = ""  # the beginning of a control sequence
    _line: str = ""  # the last line, which may be redrawn yet

    def feed(self, chunk: bytes) -> str:
        """The text that is certain by now."""
        if self._is_plain(chunk):
            return self._certain(self._line + self._decoder.decode(chunk))
        text = self._sequence + self._decoder.decode(chunk)
        begun = _BEGUN.search(text, max(0, len(text) - 4096))
        self._sequence = begun[0] if begun else ""
        return self._settled(text[: begun.start()] if begun else text)

    def end(self) -> str:
        """The rest; nothing more will come."""
        rest = self._settled(self._decoder.decode(b"", final=True))
        last, self._line = _drawn(self._line).rstrip("\r"), ""
        return rest + last

    @property
    def unfinished(self) -> str:
        """The last line as it stands, not yet certain."""
        return _drawn(self._line).rstrip("\r")

    def _settled(self, text: str) -> str:
        # The last line is kept as it came: what redraws it may still be on its way.
        return self._certain(self._line + _SEQUENCE.sub("", text).translate(_CONTROLS))

    def _is_plain(self, chunk: bytes) -> bool:
        """Whether there is nothing to clean up: most floods, and this is much faster."""
        return not (
            chunk.translate(None, _UNCONTROLLED)
            or self._sequence
            or "\r" in self._line
            or "\x08" in self._line
            or _C1.search(self._decoder.getstate()[0] + chunk)
        )

    def _certain(self, text: str) -> str:
        whole, newline, self._line = text.rpartition("\n")
        whole = _drawn(whole + newline)
        if len(self._line) > _MAX_HELD:
            self._line = _drawn(self._line)
        if len(self._line) > _MAX_HELD:
            # A CR at the very end may belong to a line end.
            kept = "\r" if self._line.endswith("\r") else ""
            whole, self._line = whole + self._line.removesuffix("\r"), kept
        return whole


def _drawn(text: str) -> str:
    """What stays of lines after everything in them has been drawn over."""
    while "\x08" in text:
        text = _OVERSTRUCK.sub("", text)
    if "\r" in text:
        text = re.sub(r"\r+\n", "\n", text)
        text = _REDRAWN.sub("", text)
    return text
