"""The far side: bounds for this process, one question in, one answer out."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable, Mapping
from typing import Any

_MEMORY = 1_500 << 20  # bytes of address space: a picture of 100 megapixels fits
_CPU_S = 30


class Unreadable(Exception):
    """The bytes cannot be decoded; the text ends a sentence about them."""


Answer = tuple[Mapping[str, Any], bytes]


def serve(work: Callable[[bytes, Mapping[str, Any]], Answer]) -> None:
    """Read a line of JSON and the bytes behind it; write what `work` makes of them."""
    _bound(resource.RLIMIT_AS, _MEMORY)
    _bound(resource.RLIMIT_CPU, _CPU_S)
    _bound(resource.RLIMIT_CORE, 0)
    ask = json.loads(sys.stdin.buffer.readline())
    try:
        facts, data = work(sys.stdin.buffer.read(), ask)
    except Unreadable as problem:
        facts, data = {"problem": str(problem)}, b""
    except MemoryError:
        facts, data = {"problem": "it takes too much memory to decode"}, b""
    # ASCII: half a character (a lone surrogate) from a file must not break the answer.
    sys.stdout.buffer.write(json.dumps(facts).encode() + b"\n" + data)
    sys.stdout.buffer.flush()


def _bound(what: int, most: int) -> None:
    try:
        _, hard = resource.getrlimit(what)
        at_most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (at_most, hard))
    except (OSError, ValueError):
        pass  # not every system keeps every bound; the time limit stands
