"""Commands in the background: started, looked at, ended, and their end is told."""

from __future__ import annotations

import os
import time
from pathlib import Path
from threading import active_count

import anyio
import anyio.lowlevel
import pytest
from attrs import define, field

from fsm import decide
from interlock.machines import MACHINES
from interlock.tools import Bash, ShellSettings
from interlock.tools.background import MOST_RUNNING, BackgroundCommand
from interlock.tools.background_lifecycle import (
    BACKGROUND_COMMAND,
    EndAsked,
    Ended,
    Known,
    Stage,
)
from interlock.tools.background_log import NEWEST, Log
from interlock.tools.task_output import TaskOutput
from interlock.tools.task_stop import TaskStop
from phases.world.updates import CommandEnded, CommandStarted, Update
from tests.tools.places import Place
from tests.tools.test_tools_bash import running
from tests.waiting import until


@define
class Heard:
    """Where notices arrive."""

    notices: list[str] = field(factory=list)
    shown: list[Update] = field(factory=list)
    agent_id: str | None = None

    def show(self, update: Update) -> None:
        self.shown.append(update)

    def notify(self, text: str) -> None:
        self.notices.append(text)


@pytest.fixture
def heard(place: Place) -> Heard:
    """What a place's background commands tell; its tools are made for that."""
    heard = Heard()
    bash = Bash(ShellSettings(notices=heard))
    place.tools |= {
        tool.name: tool for tool in (bash, TaskOutput(bash.background), TaskStop(bash.background))
    }
    return heard


def started(place: Place, id_: str = "bash_1") -> BackgroundCommand:
    bash = place.tools["Bash"]
    assert isinstance(bash, Bash)
    return bash.background.find(id_)


async def over(place: Place, id_: str = "bash_1") -> None:
    with anyio.fail_after(20):
        await started(place, id_).over.wait()


async def background(place: Place, command: str, **more: object) -> str:
    return await place.said("Bash", command=command, run_in_background=True, **more)


# --- starting and ending ---------------------------------------------------------------------


async def test_it_returns_at_once_and_its_end_is_told(place: Place, heard: Heard) -> None:
    begun = time.monotonic()

    said = await background(place, "echo begun; while ! test -e stop; do sleep 0.01; done; exit 3")

    assert time.monotonic() - begun < 5
    assert said == "Running in the background as bash_1."
    assert heard.notices == []
    place.put("stop", "")
    await over(place)
    (notice,) = heard.notices
    assert notice.startswith("The background command bash_1 finished with exit code 3 after 0 s.")
    assert notice.endswith("It was: echo begun; while ! test -e stop; do sleep 0.01; done; exit 3")


async def test_who_watches_the_session_is_told_that_it_begins_and_how_it_ends(
    place: Place, heard: Heard
) -> None:
    await background(place, "echo fine")
    await over(place)
    await background(place, "exit 3")
    await over(place, "bash_2")
    await background(place, "sleep 100")
    await place.said("TaskStop", task_id="bash_3")

    begun = [update.line for update in heard.shown if isinstance(update, CommandStarted)]
    assert begun == ["echo fine", "exit 3", "sleep 100"]
    ended = [update for update in heard.shown if isinstance(update, CommandEnded)]
    assert [(each.id, each.status) for each in ended] == [
        ("bash_1", "completed"),
        ("bash_2", "failed"),
        ("bash_3", "stopped"),
    ]
    assert Path(ended[0].output).read_text() == "fine\n"


async def test_a_signal_that_ends_it_is_named(place: Place, heard: Heard) -> None:
    await background(place, "kill -9 $$")
    await over(place)

    assert "bash_1 finished with signal 9 (SIGKILL) after 0 s." in heard.notices[0]


async def test_it_begins_with_the_folder_and_variables_and_leaves_them(
    place: Place, heard: Heard
) -> None:
    await place.said("Bash", command="mkdir sub; cd sub; export X=1")

    await background(place, "pwd; echo $X; cd /; export X=2")

    await over(place)
    assert (await place.said("TaskOutput", task_id="bash_1")).startswith(
        f"{place.folder}/sub\n1\n"
    )
    assert await place.said("Bash", command="pwd; echo $X") == f"{place.folder}/sub\n1"


async def test_a_time_limit_ends_its_tree_and_is_told(place: Place, heard: Heard) -> None:
    mark = f"mark-{os.getpid()}-bg-limit"

    await background(place, f"(trap '' TERM; : {mark}; sleep 100) & sleep 100", timeout=200)
    await over(place)

    assert "bash_1 was ended at its time limit of 0.2 s." in heard.notices[0]
    assert running(mark) == []


async def test_it_has_no_time_limit_of_its_own(place: Place, heard: Heard) -> None:
    bash = Bash(ShellSettings(default_timeout=0.05, max_timeout=0.05, notices=heard))
    place.tools["Bash"] = bash

    await background(place, "sleep 0.3; echo done")
    await over(place)

    assert "finished with exit code 0" in heard.notices[0]
    bash.close()


async def test_killing_ends_the_whole_tree_and_no_notice_follows(
    place: Place, heard: Heard
) -> None:
    mark = f"mark-{os.getpid()}-bg-kill"
    await background(
        place, f"echo half; (trap '' TERM; : {mark}; touch begun; sleep 100) & sleep 100"
    )
    await until((place.folder / "begun").exists)

    said = await place.said("TaskStop", task_id="bash_1")

    assert said.startswith("bash_1 was ended after ")
    assert running(mark) == []
    assert heard.notices == []
    last = await place.said("TaskOutput", task_id="bash_1")
    assert last.startswith("half\n")  # and perhaps bash's own word about what was ended
    assert "(bash_1 was ended" in last
    again = await place.said("TaskStop", task_id="bash_1")
    assert again.endswith("there is nothing to end.")


async def test_what_it_leaves_running_is_named_and_goes_on(place: Place, heard: Heard) -> None:
    await background(place, "(while ! test -e stop; do sleep 0.01; done; echo late) & echo done")
    await over(place)

    said = await place.said("TaskOutput", task_id="bash_1")

    assert said.startswith("done\n(bash_1 finished with exit code 0")
    assert "Still running in the background: " in said
    place.put("stop", "")
    later = place.folder.parent / "spill/call-later.txt"
    await until(lambda: later.read_text() == "late\n")


async def test_closing_ends_all_of_them_with_their_thread(place: Place, heard: Heard) -> None:
    mark = f"mark-{os.getpid()}-bg-close"
    before = active_count()
    for number in range(3):
        await background(place, f"trap '' TERM; touch begun{number}; : {mark}; sleep 100; sleep 1")
    for number in range(3):
        await until((place.folder / f"begun{number}").exists)

    place.tools["Bash"].close()

    assert running(mark) == []
    assert active_count() == before
    await anyio.lowlevel.checkpoint()
    assert heard.notices == []


async def test_only_so_many_run_at_once(place: Place, heard: Heard) -> None:
    for _ in range(MOST_RUNNING):
        await background(place, "sleep 100")

    said = await place.refused("Bash", command="sleep 100", run_in_background=True)

    assert "32 commands run in the background already" in said
    place.tools["Bash"].close()


async def test_one_that_cannot_be_started_is_an_error_at_once(place: Place, heard: Heard) -> None:
    class Nowhere:
        description = ""

        def settle(self) -> tuple[str, ...]:
            return ()

        def wrapped(self, argv: object, *, cwd: Path) -> tuple[str, ...]:
            return ("/no/such/sandbox",)

    place.tools["Bash"] = Bash(ShellSettings(confinement=Nowhere()))

    with pytest.raises(FileNotFoundError, match="/no/such/sandbox"):
        await background(place, "true")


# --- looking ---------------------------------------------------------------------------------


async def test_each_look_shows_what_is_new(place: Place, heard: Heard) -> None:
    await background(
        place, "echo one; while ! test -e go; do sleep 0.01; done; echo two; printf unfinished;"
        " while ! test -e stop; do sleep 0.01; done"
    )  # fmt: skip
    log = started(place).log
    await until(lambda: log.total == 4)

    first = await place.said("TaskOutput", task_id="bash_1")
    second = await place.said("TaskOutput", task_id="bash_1")
    place.put("go", "")
    await until(lambda: started(place).unfinished_line == "unfinished")
    third = await place.said("TaskOutput", task_id="bash_1")

    assert first.startswith("one\n(bash_1 has been running for ")
    assert second.startswith("(no new output)\n(bash_1 has been running")
    assert third.startswith("two\n(The line it is printing: unfinished)\n(bash_1 has been")
    await place.said("TaskStop", task_id="bash_1")


async def test_a_filter_shows_only_the_lines_that_match(place: Place, heard: Heard) -> None:
    await background(place, "seq 1000; echo ERROR: -v")
    await over(place)

    said = await place.said("TaskOutput", task_id="bash_1", filter="^(99\\d|ERROR.*)$")

    assert said.splitlines()[:-1] == [*map(str, range(990, 1000)), "ERROR: -v"]
    assert (await place.said("TaskOutput", task_id="bash_1")).startswith("(no new output)")


@pytest.mark.parametrize("pattern", ["-v", "--help", "nothing like it", "(a*)*b$"])
async def test_no_filter_is_an_option_or_takes_for_ever(
    place: Place, heard: Heard, pattern: str
) -> None:
    await background(place, "head -c 200000 /dev/zero | tr '\\0' a; echo")
    await over(place)

    said = await place.said("TaskOutput", task_id="bash_1", filter=pattern)

    assert said.startswith("(no new output)\n(bash_1 finished")


async def test_a_filter_that_is_no_pattern_is_refused(place: Place, heard: Heard) -> None:
    await background(place, "echo a")
    await over(place)

    assert "failed" in await place.refused("TaskOutput", task_id="bash_1", filter="(")
    assert (await place.said("TaskOutput", task_id="bash_1")).startswith("a\n")


async def test_a_filter_reads_all_that_was_printed_however_much(
    place: Place, heard: Heard
) -> None:
    await background(place, "echo first; seq 200000; echo last")
    await over(place)

    said = await place.said("TaskOutput", task_id="bash_1", filter="^(first|last|100000)$")

    assert said.splitlines()[:-1] == ["first", "100000", "last"]


async def test_too_much_to_show_is_cut_and_the_file_named(place: Place, heard: Heard) -> None:
    await background(place, "seq 100000")
    await over(place)

    said = await place.said("TaskOutput", task_id="bash_1")

    saved = place.folder.parent / "spill/call-background.txt"
    assert f"bytes left out here; the whole is in {saved} ...]" in said
    assert "\n100000\n(bash_1" in said
    assert len(said) <= place.limits.tool_output_cap
    assert saved.read_text() == "".join(f"{number}\n" for number in range(1, 100_001))
    assert saved.stat().st_mode & 0o077 == 0


async def test_without_an_id_all_are_listed_and_a_wrong_one_names_them(
    place: Place, heard: Heard
) -> None:
    assert await place.said("TaskOutput") == "Nothing was started in the background."
    await background(place, "true")
    await background(place, "sleep 100")
    await over(place)

    listed = (await place.said("TaskOutput")).splitlines()

    assert [line.partition(":")[2] for line in listed] == [" true", " sleep 100"]
    assert "There are: bash_1, bash_2." in await place.refused("TaskOutput", task_id="bash_9")
    await place.said("TaskStop", task_id="bash_2")


# --- the log ---------------------------------------------------------------------------------


def test_the_file_is_bounded_and_the_newest_is_kept_all_the_same(tmp_path: Path) -> None:
    log = Log(tmp_path / "log", max_on_disk=1_000)
    for number in range(10_000):
        log.add(f"{number} ü\n")

    news = log.since(0, 10 * NEWEST)

    assert (tmp_path / "log").stat().st_size == log.on_disk == 1_000
    assert news.until == log.total
    assert news.text.endswith("\n9998 ü\n9999 ü\n")
    assert "the first 1000 bytes of all are in" in news.text
    assert len(news.text) < NEWEST + 500
    log.close()


def test_a_log_that_cannot_be_written_still_tells_the_newest(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    log = Log(tmp_path / "file" / "log")

    log.add("words\n")

    assert log.since(0, 1_000).text == "words\n"
    assert log.problem is not None
    log.close()


# --- the lifecycle ---------------------------------------------------------------------------


def test_the_lifecycle_is_drawn_with_the_others() -> None:
    assert MACHINES["background_command"] is BACKGROUND_COMMAND


@pytest.mark.parametrize("stage", [Stage.RUNNING, Stage.ENDING])
@pytest.mark.parametrize(
    ("outcome", "becomes"),
    [
        (EndAsked(), Stage.ENDING),
        (Ended(by_itself=True), Stage.FINISHED),
        (Ended(by_itself=False), Stage.KILLED),
        (Ended(by_itself=False, timed_out=True), Stage.TIMED_OUT),
    ],
)
def test_the_whole_lifecycle(stage: Stage, outcome: EndAsked | Ended, becomes: Stage) -> None:
    step = decide(BACKGROUND_COMMAND, stage, Known("bash_1"), outcome)

    assert step.edge.destination is becomes


def test_its_tools_ask_nobody_and_never_start_early(place: Place) -> None:
    for tool in (place.tools["TaskOutput"], place.tools["TaskStop"]):
        assert not tool.effects({})
        assert not tool.concurrency_safe({})
