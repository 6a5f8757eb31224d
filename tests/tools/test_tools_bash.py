"""Bash: it comes back, says how it ended, and leaves nothing behind that it does not name."""

from __future__ import annotations

import os
import time
import tracemalloc
from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from attrs import frozen

from interlock.tools import Bash, Output, ShellSettings
from interlock.tools.paths import BadPath
from tests.tools.places import Place, text
from tests.waiting import until


def running(mark: str) -> list[int]:
    """Processes whose command line or environment holds the mark."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            held = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if mark.encode() in held and state != "Z":
            found.append(int(entry.name))
    return found


# --- what it says ----------------------------------------------------------------------------


async def test_output_and_errors_come_together_in_order(place: Place) -> None:
    assert await place.said("Bash", command="echo 1; echo 2 >&2; echo 3") == "1\n2\n3"


async def test_an_exit_code_is_told_and_an_error(place: Place) -> None:
    assert await place.refused("Bash", command="echo no; exit 3") == "no\n(Exit code 3.)"


async def test_a_signal_is_told(place: Place) -> None:
    assert "signal 9 (SIGKILL)" in await place.refused("Bash", command="kill -9 $$")


async def test_a_command_that_says_nothing_is_not_answered_with_nothing(place: Place) -> None:
    assert await place.said("Bash", command="true") == "(no output)"


async def test_a_line_that_is_no_bash_is_an_error(place: Place) -> None:
    assert "syntax error" in await place.refused("Bash", command="foo (")


async def test_there_is_no_terminal_and_no_input(place: Place) -> None:
    said = await place.said("Bash", command="read x; echo got:$x; test -t 0 || echo no terminal")

    assert said == "got:\nno terminal"
    assert "No such device" in await place.refused("Bash", command="cat </dev/tty")


@pytest.mark.parametrize("command", ["", "  \n", "echo a\0b", "echo \ud800"])
async def test_a_line_that_cannot_be_run_is_refused(place: Place, command: str) -> None:
    await place.refused("Bash", command=command)


async def test_odd_bytes_harm_nothing_around_them(place: Place) -> None:
    said = await place.said("Bash", command=r"printf 'ok-before\n\201 raw \360\nok-after\n'")

    assert said == "ok-before\n\ufffd raw \ufffd\nok-after"


async def test_letters_are_whole_however_they_arrive(place: Place) -> None:
    python = "import sys; sys.stdout.write(chr(0x4f60) * 50000)"
    place.context.limits = type(place.limits)(tool_output_cap=80_000)

    said = await place.said("Bash", command=f'python3 -c "{python}"')

    assert said == "你" * 50_000


async def test_nul_progress_bars_and_colours_become_plain_text(place: Place) -> None:
    said = await place.said(
        "Bash", command=r"printf 'a\000b\n10%%\r55%%\r100%%\n\033[31mred\033[0m\r\nend\n'"
    )

    assert said == "ab\n100%\nred\nend"


async def test_giant_output_is_kept_at_both_ends_in_bounded_memory(place: Place) -> None:
    command = (
        "for i in 1 2 3 4 5 6 7 8; do head -c 4194304 /dev/zero | tr '\\0' y; echo; done;"
        " head -c 1048576 /dev/zero | tr '\\0' e >&2; echo; echo LAST-LINE-MARKER"
    )
    place.context.progress = lambda text: None
    await place.said("Bash", command="true")
    tracemalloc.start()

    said = await place.said("Bash", command=f"echo FIRST; {command}")

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert said.startswith("FIRST\nyyy")
    assert said.endswith("eee\nLAST-LINE-MARKER")
    assert len(said) <= place.limits.tool_output_cap
    assert peak < 8 << 20
    saved = place.folder.parent / "spill/call.txt"
    assert str(saved) in said
    assert saved.stat().st_size == 33 * (1 << 20) + len("FIRST\n\nLAST-LINE-MARKER\n") + 8
    assert saved.stat().st_mode & 0o077 == 0


async def test_output_is_shown_while_the_command_runs(place: Place) -> None:
    seen = place.folder / "seen"
    place.context.progress = lambda text: seen.touch() if "begun" in text else None

    said = await place.said(
        "Bash", command="echo begun; while ! test -e seen; do sleep 0.01; done; echo done"
    )

    assert said == "begun\ndone"


async def test_of_a_flood_only_the_newest_is_shown_live(place: Place) -> None:
    await place.said("Bash", command="seq 1000000")

    assert max(map(len, place.heard)) <= 8_192
    assert place.heard[-1].endswith("1000000\n")


# --- the folder ------------------------------------------------------------------------------


async def test_the_folder_is_kept_from_call_to_call(place: Place) -> None:
    (place.folder / "sub").mkdir()

    await place.said("Bash", command="cd sub")

    assert place.context.cwd == place.folder / "sub"
    assert await place.said("Bash", command="pwd") == str(place.folder / "sub")


@pytest.mark.parametrize(
    "ending", ["exit 0", "exit 4", "set -e; false", "trap 'echo bye' EXIT", "false"]
)
async def test_the_folder_is_known_however_the_command_ends(place: Place, ending: str) -> None:
    (place.folder / "sub").mkdir()

    await place.call("Bash", command=f"cd sub; {ending}")

    assert place.context.cwd == place.folder / "sub"


async def test_a_deleted_folder_is_left_for_the_nearest_that_exists(place: Place) -> None:
    await place.said("Bash", command="mkdir -p gone/deep && cd gone/deep && pwd")

    said = await place.said("Bash", command="rm -rf ../../gone")

    assert f"no longer exists; the next command starts in {place.folder}.)" in said
    assert await place.said("Bash", command="echo still-here") == "still-here"
    assert await place.said("Bash", command="cd .. ; pwd") == str(place.folder.parent)


async def test_a_folder_someone_else_deletes_is_noticed_before_the_next_call(
    place: Place,
) -> None:
    await place.said("Bash", command="mkdir gone && cd gone")
    (place.folder / "gone").rmdir()

    said = await place.said("Bash", command="echo still-here")

    assert said.startswith("still-here\n(The folder ")
    assert said.endswith(f"no longer exists; this ran in {place.folder}.)")


async def test_a_file_tool_does_not_act_elsewhere_when_the_folder_is_gone(place: Place) -> None:
    place.put("a.txt", "of the folder above")
    await place.said("Bash", command="mkdir gone && cd gone && rmdir ../gone")

    for tool, more in (("Write", {"content": "x"}), ("Read", {})):
        with pytest.raises(BadPath, match=r"gone no longer exists; give 'a.txt' as an absolute"):
            await place.call(tool, file_path="a.txt", **more)

    assert (place.folder / "a.txt").read_text() == "of the folder above"
    assert not (place.folder / "gone").exists()


async def test_a_folder_with_odd_letters_in_its_name_is_kept(place: Place) -> None:
    await place.said("Bash", command="mkdir $'a\\nb c' && cd $'a\\nb c'")

    assert place.context.cwd == place.folder / "a\nb c"


# --- children --------------------------------------------------------------------------------


async def test_a_background_child_does_not_keep_the_call(place: Place) -> None:
    begun = time.monotonic()

    said = await place.said("Bash", command="sleep 61 & echo done")

    assert time.monotonic() - begun < 5
    assert said.startswith("done\n(Still running in the background: ")
    assert "sleep 61" in said


async def test_a_child_that_keeps_printing_goes_on_with_somewhere_to_print(place: Place) -> None:
    said = await place.said(
        "Bash",
        command=(
            "(while ! test -e stop; do echo tick; sleep 0.02; done; echo last; touch stopped) &"
            " echo foreground-done"
        ),
    )
    assert "foreground-done" in said
    place.put("stop", "")
    await until((place.folder / "stopped").exists)

    later = place.folder.parent / "spill/call-later.txt"
    assert str(later) in said
    await until(lambda: "last" in later.read_text())


async def test_the_time_limit_ends_the_whole_tree(place: Place) -> None:
    mark = f"mark-{os.getpid()}-limit"
    command = f"""
export MARK={mark}
echo before
(trap '' TERM; while :; do sleep 1; done) &
sh -c 'sleep 100; : {mark}' &
setsid sh -c 'sleep 100; : {mark}' &
env -i sh -c 'sleep 100; : {mark}' &
sleep 100
"""
    said = await place.refused("Bash", command=command, timeout=300)

    assert said.startswith("before\n")
    assert "time limit of 0.3 s" in said
    assert "could not be ended" not in said
    assert running(mark) == []


async def test_a_cancelled_call_is_over_only_when_its_tree_is(place: Place) -> None:
    mark = f"mark-{os.getpid()}-cancel"
    command = f"export MARK={mark}; (trap '' TERM; sleep 100) & echo half; touch begun; sleep 100"
    output: Output | None = None
    async with anyio.create_task_group() as tasks:

        async def call() -> None:
            nonlocal output
            output = await place.call("Bash", command=command)

        tasks.start_soon(call)
        await until((place.folder / "begun").exists)
        assert running(mark)
        tasks.cancel_scope.cancel()

    assert output is None
    assert running(mark) == []
    assert place.context.so_far().startswith("half\n")


async def test_closing_ends_what_was_left_running(place: Place) -> None:
    mark = f"mark-{os.getpid()}-close"
    await place.said("Bash", command=f"MARK={mark} nohup sleep 100 >/dev/null 2>&1 &")
    await place.said("Bash", command=f"env -i sh -c 'sleep 100; : {mark}' >/dev/null 2>&1 & true")
    assert len(running(mark)) >= 2

    place.tools["Bash"].close()

    assert running(mark) == []


# --- settings --------------------------------------------------------------------------------


async def test_limits_come_from_the_settings_and_the_longest_counts(place: Place) -> None:
    bash = Bash(ShellSettings(default_timeout=0.2, max_timeout=0.3))
    place.tools["Bash"] = bash

    by_default = text(await place.call("Bash", command="sleep 100"))
    asked = text(await place.call("Bash", command="sleep 100", timeout=500_000))

    assert "time limit of 0.2 s" in by_default
    assert "time limit of 0.3 s" in asked


# --- confinement -----------------------------------------------------------------------------


@frozen
class Niced:
    """Stands for a sandbox: another program starts the shell, and hands on what it has open."""

    description: str = "- A command runs at low priority."

    def settle(self) -> tuple[str, ...]:
        return ()

    def wrapped(self, argv: Sequence[str], *, cwd: Path) -> tuple[str, ...]:
        return ("nice", "-n", "5", *argv)


async def test_a_confined_command_runs_in_what_confines_it_and_keeps_its_folder(
    place: Place,
) -> None:
    bash = place.tools["Bash"] = Bash(ShellSettings(confinement=Niced()))

    said = await place.said("Bash", command="mkdir sub; cd sub; nice")

    assert said == "5"
    assert place.context.cwd == place.folder / "sub"
    assert bash.description.endswith("\n- A command runs at low priority.")
