"""What can go wrong with a disk: a kill in the middle, no space, no right, no file at all.

In every case a file holds all of the old or all of the new content, and nothing stays beside it.
"""

from __future__ import annotations

import fcntl
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from attrs import evolve, frozen

from interlock.tools import disk
from interlock.tools.fresh import SUFFIX, Fresh
from interlock.tools.paths import PathMoved
from tests.sessions.disks import files_of_at_most
from tests.tools.places import Place, real, text

ROOT = Path(__file__).parent.parent.parent

WRITER = """
import sys
from pathlib import Path
from interlock.tools import disk

path, size, old = Path(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[1]).read_bytes()
for turn in range(1, 1_000_000):
    new = bytes([65 + turn % 26]) * size
    {step}
    old = new
    if turn == 1:
        print("writing", flush=True)
"""
REPLACING = WRITER.format(step="disk.replace(path, new, expected=old)")
MAKING = WRITER.format(step="disk.create(path.with_name(f'new-{turn}.txt'), new)")


# --- a kill ----------------------------------------------------------------------------------


def killed(script: str, path: Path, after: float, size: int = 400_000) -> None:
    """Run the writer and kill it in the middle of its work."""
    command = [sys.executable, "-c", script, str(path), str(size)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(after)  # the kill is to hit an arbitrary moment
        process.send_signal(signal.SIGKILL)


def whole_generation(data: bytes, size: int = 400_000) -> bool:
    return data == b"start\n" or (len(data) == size and len(set(data)) == 1)


def test_a_kill_in_the_middle_of_many_writes_leaves_the_old_or_the_new(place: Place) -> None:
    path = place.put("a.txt", "start\n")
    moments = random.Random(1)

    for _ in range(12):
        killed(REPLACING, path, moments.uniform(0, 0.03))
        assert whole_generation(path.read_bytes())

    disk.replace(path, b"end\n", expected=path.read_bytes())
    assert [each.name for each in place.folder.iterdir()] == ["a.txt"]


def test_a_kill_in_the_middle_of_making_files_leaves_none_that_is_half(place: Place) -> None:
    path = place.put("a.txt", "start\n")
    moments = random.Random(2)

    for turn in range(6):
        folder = place.folder / str(turn)
        folder.mkdir()
        killed(MAKING, place.put(f"{turn}/a.txt", "start\n"), moments.uniform(0, 0.03))
        made = [each for each in folder.iterdir() if not each.name.endswith(SUFFIX)]
        assert len(made) > 1
        assert all(whole_generation(each.read_bytes()) for each in made)
        disk.create(folder / "last.txt", b"end\n")
        assert not list(folder.glob(f".*{SUFFIX}"))
    assert path.read_bytes() == b"start\n"


def test_what_a_killed_writer_left_is_taken_away_and_what_a_living_one_holds_is_not(
    place: Place,
) -> None:
    path = place.put("a.txt", "one\n")
    dead = place.put(f".000000000000{SUFFIX}", "half")
    alive = place.put(f".111111111111{SUFFIX}", "half")

    with alive.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        disk.replace(path, b"two\n", expected=b"one\n")

    assert not dead.exists()
    assert alive.exists()
    assert path.read_bytes() == b"two\n"


def test_a_file_with_a_name_of_ours_for_the_while_does_the_same(place: Place) -> None:
    """The way of file systems that have no nameless files."""
    path = place.put("a.txt", "one\n")
    folder = os.open(place.folder, os.O_RDONLY)

    def named(number: int, data: bytes) -> Fresh:
        name = f".{number:012}{SUFFIX}"
        file = os.open(place.put(name, data), os.O_RDONLY)
        return Fresh(folder, file, name)

    made, late, over = named(1, b"new\n"), named(2, b"newer\n"), named(3, b"two\n")
    made.appear("b.txt")
    with pytest.raises(FileExistsError):
        late.appear("b.txt")
    over.replace("a.txt")

    assert (place.folder / "b.txt").read_bytes() == b"new\n"
    assert path.read_bytes() == b"two\n"
    for descriptor in (folder, made.file, late.file, over.file):
        os.close(descriptor)


# --- no space --------------------------------------------------------------------------------


@frozen(kw_only=True)
class Call:
    tool: str
    path: str = "a.txt"

    def arguments(self, new: str) -> dict[str, object]:
        edit = {"old_string": "one", "new_string": new}
        match self.tool:
            case "Edit":
                return {"file_path": self.path, **edit}
            case "MultiEdit":
                return {"file_path": self.path, "edits": [edit]}
            case "Write":
                return {"file_path": self.path, "content": new}
        return {"notebook_path": self.path, "cell_id": "cell-0", "new_source": new}


CALLS = (Call(tool="Edit"), Call(tool="MultiEdit"), Call(tool="Write"))
NOTEBOOK = b'{"cells": [{"cell_type": "raw", "source": "one"}], "nbformat": 4}'
EVERY = (*CALLS, Call(tool="NotebookEdit", path="a.ipynb"))


@pytest.mark.parametrize("links", [1, 2], ids=["one name", "two names"])
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.tool)
async def test_without_room_for_the_new_the_old_stays_whole(
    place: Place, call: Call, links: int
) -> None:
    path = place.put("a.txt", "one\n" + "x" * 5_000)
    if links == 2:
        (place.folder / "b.txt").hardlink_to(path)
    await place.said("Read", file_path="a.txt")
    names = sorted(each.name for each in place.folder.iterdir())

    with files_of_at_most(8_000):
        said = await place.refused(call.tool, **call.arguments("y" * 9_000))

    assert said == (
        f"{path} could not be written: the file would be larger than files may be here."
        " It is as it was."
    )
    assert path.read_text() == "one\n" + "x" * 5_000
    assert sorted(each.name for each in place.folder.iterdir()) == names


async def test_writing_in_place_that_breaks_off_half_way_puts_the_old_back(place: Place) -> None:
    path = place.put("a.txt", "x" * 5_000)
    (place.folder / "b.txt").hardlink_to(path)

    with files_of_at_most(2_000), pytest.raises(OSError, match="large"):
        disk.replace(path, b"y" * 5_000, expected=b"x" * 5_000)

    assert path.read_text() == "x" * 5_000


async def test_a_new_file_without_room_is_not_made_nor_are_its_folders(place: Place) -> None:
    with files_of_at_most(100):
        await place.refused("Write", file_path="a/b/c.txt", content="y" * 9_000)

    assert list(place.folder.iterdir()) == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    folder = real(tmp_path) / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(folder)]
    try:
        mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    if not mounted:
        pytest.skip("no file system may be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("links", [1, 2], ids=["one name", "two names"])
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.tool)
async def test_on_a_full_disk_the_old_stays_whole(
    small_disk: Path, call: Call, links: int
) -> None:
    place = Place(small_disk)
    old = "one\n" + "x" * 30_000
    path = place.put("a.txt", old)
    if links == 2:
        (small_disk / "b.txt").hardlink_to(path)
    await place.said("Read", file_path="a.txt")

    said = await place.refused(call.tool, **call.arguments("y" * 70_000))

    assert said == f"{path} could not be written: the disk is full. It is as it was."
    assert path.read_text() == old
    await place.said("Edit", file_path="a.txt", old_string="one", new_string="1")


# --- no right, no file -----------------------------------------------------------------------


@pytest.mark.parametrize("call", EVERY, ids=lambda call: call.tool)
async def test_a_read_only_file_stays_as_it_is_even_for_root(place: Place, call: Call) -> None:
    path = place.put(call.path, NOTEBOOK)
    path.chmod(0o444)
    await place.said("Read", file_path=call.path)

    said = await place.refused(call.tool, **call.arguments("two"))

    assert said == f"{path} could not be written: it is read-only (mode 0444). It is as it was."
    assert path.read_bytes() == NOTEBOOK


@pytest.mark.parametrize("kind", ["fifo", "socket", "folder", "null"])
@pytest.mark.parametrize("call", EVERY, ids=lambda call: call.tool)
async def test_what_is_no_file_is_refused_at_once(place: Place, call: Call, kind: str) -> None:
    path = place.folder / "odd.ipynb"
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "socket":
            with socket.socket(socket.AF_UNIX) as listening:
                listening.bind(os.path.relpath(path))
        case "folder":
            path.mkdir()
        case "null":
            path.symlink_to("/dev/null")
    before = path.stat().st_mode

    said = await place.refused(call.tool, **evolve(call, path="odd.ipynb").arguments("x"))

    assert (
        "is a folder." in said
        or "is a device, pipe or socket, not a file." in said
        or (kind == "null" and "is no notebook" in said)
    )
    assert path.stat().st_mode == before
    assert Path("/dev/null").is_char_device()


async def test_a_path_through_a_file_is_refused(place: Place) -> None:
    place.put("a.txt", "one\n")

    for call in CALLS:
        said = await place.refused(
            call.tool, **evolve(call, path="a.txt/b/c.txt").arguments("two")
        )
        assert "a part of the path is a file" in said or "does not exist" in said
    assert (place.folder / "a.txt").read_text() == "one\n"


async def test_a_file_that_is_mounted_by_itself_is_written_in_place(small_disk: Path) -> None:
    """As containers put single files in: no rename can go over them."""
    place = Place(small_disk)
    path = place.put("a.txt", "one\n")
    under = place.put("under.txt", "one\n")
    await anyio.run_process(["mount", "--bind", str(under), str(path)])
    try:
        await place.said("Read", file_path="a.txt")

        said = await place.said("Edit", file_path="a.txt", old_string="one", new_string="two")

        assert "in place" in said
        assert under.read_text() == path.read_text() == "two\n"
    finally:
        await anyio.run_process(["umount", str(path)])


# --- links put in the way --------------------------------------------------------------------


def test_a_folder_that_became_a_link_leads_nowhere(place: Place) -> None:
    outside = place.folder.parent / "outside"
    outside.mkdir()
    (outside / "a.txt").write_text("one\n")
    (place.folder / "sub").symlink_to(outside)

    with pytest.raises(PathMoved):
        disk.replace(place.folder / "sub/a.txt", b"two\n", expected=b"one\n")
    with pytest.raises(PathMoved):
        disk.create(place.folder / "sub/new.txt", b"two\n")
    with pytest.raises(PathMoved):
        disk.create(place.folder / "sub/deep/new.txt", b"two\n")

    assert [each.name for each in outside.iterdir()] == ["a.txt"]
    assert (outside / "a.txt").read_text() == "one\n"


def test_a_file_put_in_the_place_of_another_is_not_overwritten(place: Place) -> None:
    path = place.put("a.txt", "one\n")
    place.put("theirs.txt", "theirs\n").replace(path)

    with pytest.raises(disk.ChangedMeanwhile):
        disk.replace(path, b"mine\n", expected=b"one\n")

    assert path.read_text() == "theirs\n"


async def test_a_file_that_came_to_be_meanwhile_is_not_overwritten(place: Place) -> None:
    path = place.put("a.txt", "theirs\n")

    with pytest.raises(disk.ChangedMeanwhile):
        disk.create(path, b"mine\n")

    assert path.read_text() == "theirs\n"
    assert [each.name for each in place.folder.iterdir()] == ["a.txt"]


async def test_the_answer_tells_of_hard_links_and_how_many(place: Place) -> None:
    path = place.put("a.txt", "one\n")
    for name in ("b.txt", "c.txt"):
        (place.folder / name).hardlink_to(path)
    await place.said("Read", file_path="a.txt")

    said = text(await place.call("Edit", file_path="a.txt", old_string="one", new_string="two"))

    assert "The file has 3 names (hard links); all of them show the change" in said
    assert "written in place" in said
