"""Disks that take no more: a real one that is small, one that may not be written, a limit."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, *, size: str = "256k") -> Iterator[Path]:
    """A file system of its own at `folder`; skips the test where none may be mounted."""
    folder.mkdir(parents=True)
    _insist("mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder))
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def read_only(folder: Path) -> None:
    """What a disk does that reports a fault: nothing can be written to it any more."""
    _insist("mount", "-o", "remount,ro", str(folder))


def _insist(*command: str) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        pytest.skip(f"no file system may be mounted here: {error}")
    if done.returncode:
        pytest.skip(f"no file system may be mounted here: {done.stderr}")


def fill(folder: Path) -> Path:
    """Take all room there is, to the last byte of the last page."""
    full = folder / "filler"
    with full.open("ab", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            try:
                while file.write(b"x" * size):
                    pass
            except OSError:
                continue
    return full


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """A limit on file sizes: a write stops in the middle, as where a quota is used up."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
