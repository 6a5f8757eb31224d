"""What is no file is refused by name, at once: a pipe without a writer would be waited for."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from interlock.regular_files import problem_of, read_regular
from interlock.sessions.facts import branch_of


def test_a_file_is_read_whole_or_its_beginning(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"alpha")

    assert (read_regular(tmp_path / "a"), read_regular(tmp_path / "a", 2)) == (b"alpha", b"al")
    assert problem_of(tmp_path / "a") is None
    assert problem_of(tmp_path / "gone") is None


def bound(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (os.mkfifo, "it is a pipe, and no file"),
        (os.mkdir, "it is a folder"),
        (bound, "it is a socket, and no file"),
        (lambda path: path.symlink_to("/dev/zero"), "it is a device, and no file"),
        (lambda path: path.symlink_to(path.name), "it is a link that leads in circles"),
        (lambda path: path.symlink_to("gone"), "it is a link to nothing"),
    ],
    ids=["pipe", "folder", "socket", "device", "circle", "dangling"],
)
async def test_what_is_none_is_refused(
    tmp_path: Path, make: Callable[[Path], object], why: str
) -> None:
    make(tmp_path / "odd")

    with anyio.fail_after(30), pytest.raises(OSError, match="odd"):
        await anyio.to_thread.run_sync(read_regular, tmp_path / "odd", abandon_on_cancel=True)

    assert problem_of(tmp_path / "odd") == why


async def test_a_repository_whose_head_is_a_pipe_has_no_branch(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    os.mkfifo(tmp_path / ".git" / "HEAD")

    with anyio.fail_after(30):
        found = await anyio.to_thread.run_sync(branch_of, tmp_path, abandon_on_cancel=True)

    assert found == ""
