"""The API key, from the program that `apiKeyHelper` names: what it prints is the key."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from interlock.configuration import Sourced
from interlock.errors import ConfigurationError

LIMIT_S = 60.0  # it may ask a person, or a far server; a start that hangs helps nobody


def key_from(helper: Sourced[str], environ: Mapping[str, str], cwd: Path) -> str:
    """Run the helper once. Raises ConfigurationError if no key comes of it."""
    # Its error output goes where ours goes: it may tell a person what to do.
    process = subprocess.Popen(
        ["/bin/sh", "-c", helper.value],
        cwd=cwd,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        process_group=0,
    )
    try:
        printed, _ = process.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        raise _failed(helper, f"did not end within {LIMIT_S:g} s") from None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # with what it left running
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
    key = printed.decode("utf-8", "replace").strip()
    if process.returncode:
        raise _failed(helper, f"ended with {process.returncode}")
    if not key or not key.isascii() or not key.isprintable():
        raise _failed(helper, "printed no key" if not key else "printed what can be no key")
    return key


def _failed(helper: Sourced[str], problem: str) -> ConfigurationError:
    words = f"apiKeyHelper {problem}; run it by hand to see why"
    return ConfigurationError([f"{helper.origin.place}: {words}"])
