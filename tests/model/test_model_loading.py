"""How the SDK comes into a process: once, in a thread, and without a look for garbage."""

from __future__ import annotations

import json
import subprocess
import sys
from ast import literal_eval

# The SDK must not be imported yet: so each of these is a process of its own.
_COUNTED = """
import asyncio, gc, json, sys
from interlock.model.loading import loaded, preload

def note(phase, info):
    if phase == "start" and "anthropic" in sys.modules:
        looks.append(info["generation"])

looks = []
gc.callbacks.append(note)
{manner}
gc.callbacks.clear()
print(json.dumps([len(looks), gc.isenabled(), gc.get_freeze_count(), gc.get_count()[0]]))
"""
_LIVE = """
import asyncio, sys
from interlock.model.loading import loaded, preload

async def main():
    preload()
    while "anthropic" not in sys.modules:  # it is there long before it can be used
        await asyncio.sleep(0)
    waiting, turns = asyncio.ensure_future(loaded()), 0
    while not waiting.done():
        await asyncio.sleep(0)
        turns += 1
    return turns, hasattr(sys.modules["anthropic"], "AsyncAnthropic")

print(asyncio.run(main()))
"""


def said_by(code: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    return ran.stdout.strip()


def test_nothing_is_collected_while_the_sdk_is_imported_and_all_of_it_is_old_then() -> None:
    looks, enabled, frozen, young = json.loads(said_by(_COUNTED.format(manner="preload().join()")))

    assert looks == 0
    assert enabled
    assert frozen == 0
    assert young < 10_000


def test_who_has_switched_the_collector_off_finds_it_off() -> None:
    manner = "gc.disable(); preload().join()"
    _, enabled, frozen, _ = json.loads(said_by(_COUNTED.format(manner=manner)))

    assert not enabled
    assert frozen == 0


def test_the_event_loop_goes_on_while_the_sdk_is_imported() -> None:
    turns, usable = literal_eval(said_by(_LIVE))

    assert turns > 1
    assert usable
