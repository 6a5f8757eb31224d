"""Command lines that have broken other tools, as they were reported, word for word."""

from __future__ import annotations

import time
from pathlib import Path

import anyio
import pytest

from tests.tools.places import Place
from tests.tools.test_tools_bash import running
from tests.waiting import until

CHILD = "sleep 60 & echo done"
PRINTING_CHILD = "(while :; do echo tick; sleep 0.2; done) & sleep 1; echo foreground-done"
ORPHANS = """\
export MARK=orphan-mark
echo before
(trap '' TERM; while :; do sleep 1; done) &
sh -c 'sleep 100; : orphan-mark' &
sleep 100
"""
# No mark in its environment, a session of its own, and no parent that leads to it.
HIDDEN = "(env -i PATH=$PATH setsid sh -c '{}sleep 100; : hidden-mark' &)"
BAD_BYTES = r"printf 'ok-before\n\201 raw \360\nok-after\n'"
MANY_LETTERS = 'python3 -c "import sys; sys.stdout.write(chr(0x4f60)*50000)"'
CONTROLS = r"printf 'a\000b\n10%%\r55%%\r100%%\n\033[31mred\033[0m\n'"


# --- a background child ----------------------------------------------------------------------


async def test_a_sleeping_child_keeps_nobody(place: Place) -> None:
    begun = time.monotonic()

    said = await place.said("Bash", command=CHILD)

    assert time.monotonic() - begun < 5
    assert said.startswith("done\n(Still running in the background: ")


async def test_a_printing_child_keeps_nobody_and_its_output_so_far_is_there(place: Place) -> None:
    begun = time.monotonic()

    said = await place.said("Bash", command=PRINTING_CHILD)

    assert time.monotonic() - begun < 6
    assert said.startswith("tick\ntick\n")
    assert "\nforeground-done\n" in said
    assert "Still running in the background: " in said


# --- a time limit ----------------------------------------------------------------------------


async def test_at_the_limit_the_whole_tree_is_ended(place: Place) -> None:
    said = await place.refused("Bash", command=ORPHANS, timeout=2_000)

    assert said.startswith("before\n")
    assert "(Ended at the time limit of 2 s" in said
    assert running("orphan-mark") == []


async def test_at_an_interrupt_the_whole_tree_is_ended(place: Place) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: place.call("Bash", command=ORPHANS))
        await until(lambda: len(running("orphan-mark")) >= 4)
        tasks.cancel_scope.cancel()

    assert running("orphan-mark") == []
    assert place.context.so_far().startswith("before\n")


@pytest.mark.parametrize("stubborn", ["", 'trap "" TERM; sleep 100; '])
async def test_at_the_limit_a_child_that_hides_is_found_by_where_it_prints(
    place: Place, stubborn: str
) -> None:
    hidden = HIDDEN.format(stubborn)

    await place.refused("Bash", command=f"{hidden}; sleep 100", timeout=1_000)

    assert running("hidden-mark") == []


async def test_at_the_limit_a_stubborn_child_is_found_after_the_parent_that_led_to_it(
    place: Place,
) -> None:
    stubborn = "env -i PATH=$PATH setsid sh -c 'trap \"\" TERM; sleep 100; sleep 100; : led-mark'"

    await place.refused("Bash", command=f"{stubborn} >/dev/null 2>&1 & wait", timeout=1_000)

    assert running("led-mark") == []


async def test_a_child_that_hides_is_named_and_ends_with_the_session(place: Place) -> None:
    said = await place.said("Bash", command=f"{HIDDEN.format('')}; sleep 0.3; echo done")

    assert said.startswith("done\n(Still running in the background: ")
    assert running("hidden-mark") != []
    place.tools["Bash"].close()
    assert running("hidden-mark") == []


async def test_what_is_stopped_is_ended_too(place: Place) -> None:
    stopped = "sh -c 'kill -STOP $$; : stopped-mark' & (kill -STOP $BASHPID) & kill -STOP $$"

    await place.refused("Bash", command=stopped, timeout=500)

    assert running("stopped-mark") == []


async def test_a_group_that_is_gone_already_is_no_error(place: Place) -> None:
    said = await place.refused(
        "Bash",
        command="trap 'exit 0' TERM; echo before; while :; do sleep 0.01; done",
        timeout=300,
    )

    assert said.startswith("before\n")
    assert "(Ended at the time limit of 0.3 s" in said
    assert "could not be ended" not in said


# --- odd bytes -------------------------------------------------------------------------------


async def test_bad_bytes_leave_the_lines_around_them(place: Place) -> None:
    assert await place.said("Bash", command=BAD_BYTES) == "ok-before\n\ufffd raw \ufffd\nok-after"


async def test_no_letter_is_broken_by_how_output_arrives(place: Place) -> None:
    said = await place.said("Bash", command=MANY_LETTERS)

    assert "\ufffd" not in said
    assert set(said.splitlines()[0]) == {"你"}
    whole = place.folder.parent / "spill/call.txt"
    assert whole.read_text() == "你" * 50_000


async def test_controls_are_gone_from_the_text_and_from_the_file(place: Place) -> None:
    assert await place.said("Bash", command=CONTROLS) == "ab\n100%\nred"


# --- a deleted folder ------------------------------------------------------------------------


async def test_five_calls_around_a_deleted_folder(place: Place) -> None:
    place.put("file.txt", "")
    made = await place.said("Bash", command="mkdir -p gone && cd gone && pwd")
    removed = await place.said("Bash", command="rm -rf ../gone")
    still = await place.said("Bash", command="echo still-here")
    above = await place.said("Bash", command="cd .. ; pwd")
    listed = await place.said("Bash", command="ls")

    assert made == f"{place.folder}/gone"
    assert removed == (
        f"(The folder {place.folder}/gone no longer exists;"
        f" the next command starts in {place.folder}.)"
    )
    assert still == "still-here"
    assert above == str(place.folder.parent)
    assert listed.splitlines() == sorted([place.folder.name])


async def test_where_every_folder_above_is_gone_too_the_root_of_the_session_is_left(
    place: Place, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere/deep"
    elsewhere.mkdir(parents=True)
    await place.said("Bash", command=f"cd {elsewhere}")

    said = await place.said("Bash", command=f"rm -rf {tmp_path}/elsewhere; echo removed")

    assert said.startswith("removed\n(The folder ")
    assert await place.said("Bash", command="pwd") == str(tmp_path.resolve())


@pytest.mark.parametrize("command", ["cd ../gone && rm -rf ../gone", "rmdir $PWD; kill -9 $$"])
async def test_it_is_said_however_the_folder_went(place: Place, command: str) -> None:
    await place.said("Bash", command="mkdir gone; cd gone")

    output = await place.call("Bash", command=command)

    assert "no longer exists; the next command starts in" in str(output.content)
    assert await place.said("Bash", command="echo works") == "works"
