"""A sandbox as a whole: what is in force, the processes in it, and Bash on top."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from attrs import evolve

from interlock.sandbox import Mode, NoSandbox, bubblewrap, landlock, opened
from interlock.sandbox.sandbox import without
from interlock.tools.bash import Bash, ShellSettings
from phases.world.messages import ToolUse
from tests.sandbox.grounds import (
    Ground,
    boxed,
    fetch,
    listening,
    needs_bubblewrap,
    needs_landlock,
    run,
)
from tests.tools.running import bench


@needs_bubblewrap
async def test_what_a_command_starts_ends_with_it(ground: Ground) -> None:
    mark = f"86{os.getpid()}"
    async with boxed(ground.policy) as box:
        run(box, f"setsid nohup sleep {mark} >/dev/null 2>&1 & disown; exit 0", ground.work)

    assert mark not in _all_commands()


@needs_bubblewrap
async def test_other_processes_are_neither_seen_nor_ended(ground: Ground) -> None:
    with subprocess.Popen(["sleep", "600"]) as other:  # noqa: ASYNC220 (it starts at once)
        async with boxed(ground.policy) as box:
            done = run(box, f"kill -9 {other.pid}; ls /proc | grep -c '^[0-9]'", ground.work)
        alive = other.poll() is None
        other.kill()

    assert alive
    assert int(done.stdout.split()[-1]) < 10


async def test_off_is_no_sandbox_and_required_is_one_or_an_error(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(Mode.OFF, ground.policy) as box:
        assert box is None

    monkeypatch.setenv("PATH", str(ground.outside))
    bubblewrap.missing.cache_clear()
    try:
        with pytest.raises(NoSandbox, match=r"bwrap.*is not installed; install bubblewrap"):
            async with opened(Mode.REQUIRED, ground.policy):
                pass
        assert "bwrap" in str(without(Mode.AUTO))
    finally:
        bubblewrap.missing.cache_clear()


@needs_bubblewrap
async def test_it_says_what_it_enforces(ground: Ground) -> None:
    async with boxed(ground.policy) as box:
        assert box.complete
        assert str(ground.work) in box.enforced[0]
        assert "there is no network" in box.description


@needs_bubblewrap
async def test_nothing_is_left_of_it(ground: Ground) -> None:
    before = set(Path("/tmp").glob("interlock-*"))
    async with boxed(evolve(ground.policy, domains=("example.com",))):
        pass

    assert set(Path("/tmp").glob("interlock-*")) == before


@needs_landlock
async def test_without_bubblewrap_landlock_holds_writes(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    (ground.outside / "old").write_text("old")
    monkeypatch.setattr(bubblewrap, "missing", lambda: "not here")
    with listening() as (port, got):
        async with opened(Mode.AUTO, ground.policy) as box:
            assert box is not None
            assert not box.complete
            inside = run(
                box, "echo made > here.txt && cat here.txt; echo x > $TMPDIR/t", ground.work
            )
            for line in (
                "echo x > ../outside/x",
                "echo x >> ../outside/old",
                "truncate -s 0 ../outside/old",
                "rm ../outside/old",
                "mv here.txt ../outside/",
                "ln -s ../outside o; echo x > o/y",
                "bash -c 'exec bash -c \"echo x > ../outside/x\"'",
            ):
                assert run(box, line, ground.work).returncode != 0
            net = run(box, fetch(f"http://127.0.0.1:{port}/"), ground.work)

    assert (inside.returncode, inside.stdout) == (0, "made\n")
    assert [path.name for path in ground.outside.iterdir()] == ["old"]
    assert (ground.outside / "old").read_text() == "old"
    if landlock.abi() >= 4:
        assert "failed" in net.stdout
        assert got == []


@needs_bubblewrap
async def test_bash_keeps_its_folder_and_variables_in_a_sandbox(ground: Ground) -> None:
    (ground.work / "sub").mkdir()
    async with boxed(ground.policy) as box:
        tool = Bash(ShellSettings(confinement=box))
        async with bench(ground.work, tools={"Bash": tool}) as at:
            await at.run(bash("1", "cd sub; export COLOUR=blue"))
            at.executor.begin(evolve(at.context, cwd=str(ground.work / "sub")))
            (told,) = await at.run(bash("2", "pwd; echo $COLOUR; sleep 30 & echo on"))
        tool.close()

    assert told.text.splitlines()[:3] == [str(ground.work / "sub"), "blue", "on"]


def bash(id_: str, command: str) -> ToolUse:
    return ToolUse(id=id_, name="Bash", input={"command": command})


def _all_commands() -> str:
    return subprocess.run(["ps", "axww"], capture_output=True, text=True, check=True).stdout
