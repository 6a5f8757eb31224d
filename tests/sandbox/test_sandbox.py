"""The sandbox, tried from inside: real commands that try to get out of a real one."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest
from attrs import evolve, frozen

from interlock.sandbox import (
    Mode,
    NoSandbox,
    Policy,
    Sandbox,
    bubblewrap,
    landlock,
    opened,
    protected,
)
from interlock.sandbox.sandbox import without
from interlock.tools.bash import Bash, ShellSettings
from phases.world.messages import ToolUse
from tests.tools.places import real
from tests.tools.running import bench

needs_bubblewrap = pytest.mark.skipif(
    bubblewrap.missing() is not None, reason=f"not tried: {bubblewrap.missing()}"
)
needs_landlock = pytest.mark.skipif(landlock.abi() == 0, reason="not tried: no Landlock here")


@frozen
class Ground:
    """A working folder and something beside it."""

    work: Path
    outside: Path

    @property
    def policy(self) -> Policy:
        return Policy(writable=(self.work,), kept=lambda: protected((self.work,)))


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    base = real(tmp_path)
    (base / "work").mkdir()
    (base / "outside").mkdir()
    return Ground(base / "work", base / "outside")


def run(box: Sandbox, line: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        box.wrapped(("bash", "-c", line), cwd=cwd),
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
    )


@asynccontextmanager
async def boxed(policy: Policy) -> AsyncIterator[Sandbox]:
    async with opened(Mode.REQUIRED, policy) as box:
        assert box is not None
        yield box


# --- files -----------------------------------------------------------------------------------


@needs_bubblewrap
async def test_the_working_folder_can_be_written_and_nothing_else(ground: Ground) -> None:
    async with boxed(ground.policy) as box:
        inside = run(box, "echo made > here.txt && cat here.txt", ground.work)
        tries = {
            path: run(box, f"echo x > {path}", ground.work).returncode
            for path in (
                ground.outside / "x",
                "/etc/x",
                "/usr/local/x",
                Path.home() / "x",
                "/x",
            )
        }

    assert (inside.returncode, inside.stdout) == (0, "made\n")
    assert (ground.work / "here.txt").read_text() == "made\n"
    assert all(tries.values())
    assert list(ground.outside.iterdir()) == []


@needs_bubblewrap
async def test_a_link_out_of_the_folder_leads_to_nothing_writable(ground: Ground) -> None:
    (ground.outside / "target").write_text("old")
    (ground.work / "link").symlink_to(ground.outside / "target")
    async with boxed(ground.policy) as box:
        done = run(box, "echo new > link; ln -s ../outside o; echo x > o/y", ground.work)

    assert done.returncode != 0
    assert (ground.outside / "target").read_text() == "old"
    assert not (ground.outside / "y").exists()


@needs_bubblewrap
async def test_a_hidden_file_cannot_be_read_by_any_way(ground: Ground) -> None:
    secret, folder = ground.work / ".env", ground.work / "keys"
    secret.write_text("KEY=hush")
    folder.mkdir()
    (folder / "a.pem").write_text("hush")
    (ground.outside / "token").write_text("hush")
    policy = evolve(ground.policy, hidden=lambda: (secret, folder, ground.outside / "token"))
    lines = (
        "cat .env",
        "cp .env copy; cat copy",
        "mv .env moved; cat moved",
        "ln -s .env sly; cat sly",
        "ln .env hard; cat hard",
        "cat keys/a.pem; ls keys; cat keys/*",
        "mv keys k2; cat k2/a.pem",
        "python3 -c 'print(open(\".env\").read())'",
        "cat ../outside/token",
        "cat /proc/1/root/" + str(secret),
        "umount .env; cat .env",
        "tar cf - . | tar xOf -",
        "grep -r hush . ../outside",
    )
    async with boxed(policy) as box:
        told = [run(box, line, ground.work).stdout for line in lines]

    assert not any("hush" in words for words in told)
    assert (secret.read_text(), (folder / "a.pem").read_text()) == ("KEY=hush", "hush")


@needs_bubblewrap
async def test_what_is_obeyed_later_outside_cannot_be_changed(ground: Ground) -> None:
    hooks, settings = ground.work / ".git" / "hooks", ground.work / ".claude"
    hooks.mkdir(parents=True)
    (ground.work / ".git" / "config").write_text("[core]\n")
    settings.mkdir()
    (settings / "settings.json").write_text("{}")
    async with boxed(ground.policy) as box:
        for line in (
            "echo evil > .git/hooks/pre-commit",
            "echo evil >> .git/config",
            "echo evil > .claude/settings.json",
            "mv .git g && mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit",
            "rm -rf .claude; mv .claude c; mkdir .claude; echo evil > .claude/settings.json",
        ):
            run(box, line, ground.work)
        commit = run(
            box,
            "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x",
            ground.work,
        )

    assert not list(hooks.iterdir())
    assert (ground.work / ".git" / "config").read_text() == "[core]\n"
    assert (settings / "settings.json").read_text() == "{}"
    assert "Read-only" in commit.stderr or commit.returncode == 0  # git itself may still work


@needs_bubblewrap
async def test_what_is_planted_to_be_obeyed_later_is_taken_away(ground: Ground) -> None:
    (ground.work / ".git").mkdir()
    planted = (".interlock/settings.json", ".mcp.json", ".envrc", ".git/hooks/x", ".git/commondir")
    line = "; ".join(f"mkdir -p $(dirname {name}); echo evil > {name}" for name in planted)
    async with boxed(ground.policy) as box:
        done = run(box, f"{line}; echo mine > src.py; ls -A . .git", ground.work)
        notes = box.settle()
        again = box.settle()

    assert "commondir" in done.stdout  # it was there, while the command ran
    assert sorted(path.name for path in ground.work.iterdir()) == [".git", "src.py"]
    assert list((ground.work / ".git").iterdir()) == []
    assert len(notes) == len(planted)
    assert again == ()


@needs_bubblewrap
async def test_a_repository_that_a_command_makes_is_its_own(ground: Ground) -> None:
    async with boxed(ground.policy) as box:
        made = run(box, "git init -q . && ls .git/config", ground.work)
        notes = box.settle()

    assert made.returncode == 0
    assert notes == ()
    assert (ground.work / ".git" / "config").exists()


@needs_bubblewrap
async def test_a_socket_of_another_process_is_not_there(ground: Ground) -> None:
    place = Path(tempfile.mkdtemp(dir="/var/tmp"))
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(place / "s"))
        server.listen()
        code = f"import socket; socket.socket(socket.AF_UNIX).connect({str(place / 's')!r})"
        async with boxed(ground.policy) as box:
            done = run(box, f"python3 -c {_quoted(code)}", ground.work)
    shutil.rmtree(place)

    assert done.returncode != 0


@needs_bubblewrap
async def test_more_hidden_files_than_it_can_hide_is_said_and_nothing_runs(ground: Ground) -> None:
    for number in range(2_001):
        (ground.outside / str(number)).touch()
    policy = evolve(ground.policy, hidden=lambda: ground.outside.iterdir())
    async with boxed(policy) as box:
        with pytest.raises(OSError, match=r"deny a folder \(Read\(secrets/\*\*\)\)"):
            box.wrapped(("true",), cwd=ground.work)


@needs_bubblewrap
async def test_our_own_key_and_the_secrets_of_the_system_stay_outside(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "hush")
    async with boxed(ground.policy) as box:
        done = run(box, "env; cat /proc/*/environ", ground.work)

    assert "hush" not in done.stdout


@needs_bubblewrap
async def test_it_has_a_tmp_of_its_own_that_goes_with_the_session(ground: Ground) -> None:
    name = f"/tmp/interlock-test-{os.getpid()}"
    async with boxed(ground.policy) as box:
        made = run(box, f"echo kept > {name}; mktemp", ground.work)
        again = run(box, f"cat {name}", ground.work)

    assert made.stdout.startswith("/tmp/")
    assert again.stdout == "kept\n"
    assert not Path(name).exists()


# --- processes -------------------------------------------------------------------------------


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


# --- network ---------------------------------------------------------------------------------


@contextmanager
def listening(host: str = "127.0.0.1") -> Iterator[tuple[int, list[bytes]]]:
    """A server that says hello to each request, and what it was sent."""
    got: list[bytes] = []
    with socket.create_server((host, 0)) as server:

        def serve() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                with client:
                    got.append(client.recv(65536))
                    client.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1], got
        server.shutdown(socket.SHUT_RDWR)
        thread.join()


def fetch(url: str) -> str:
    """As Bash would; with or without a proxy, as the environment says."""
    code = (
        "import urllib.request as r,sys\n"
        f"try: print(r.urlopen({url!r}, timeout=5).read().decode())\n"
        "except Exception as e: print('failed', e, getattr(e, 'read', bytes)())"
    )
    return f"python3 -c {_quoted(code)}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


@needs_bubblewrap
async def test_loopback_and_other_hosts_cannot_be_reached(ground: Ground) -> None:
    with listening() as (port, got):
        async with boxed(ground.policy) as box:
            done = run(box, fetch(f"http://127.0.0.1:{port}/"), ground.work)
            udp = run(box, "echo x > /dev/udp/192.0.2.1/53", ground.work)

    assert "failed" in done.stdout
    assert udp.returncode != 0
    assert got == []


@needs_bubblewrap
async def test_through_the_proxy_only_listed_hosts_are_reached(ground: Ground) -> None:
    refused: list[str] = []
    with listening() as (port, got):
        policy = evolve(ground.policy, domains=("127.0.0.1", "*.example.com"))
        async with opened(Mode.REQUIRED, policy, refused=refused.append) as box:
            assert box is not None
            listed = await _in_thread(run, box, fetch(f"http://127.0.0.1:{port}/x"), ground.work)
            other = await _in_thread(run, box, fetch("http://other.test/"), ground.work)
            inside = await _in_thread(run, box, fetch("http://localhost.other.test/"), ground.work)

    assert listed.stdout == "hello\n"
    assert got[0].startswith(b"GET /x HTTP/1.1\r\n")
    assert "403" in other.stdout
    assert "allowedDomains" in other.stdout
    assert "failed" in inside.stdout
    assert refused == ["other.test", "localhost.other.test"]


@needs_bubblewrap
async def test_a_listed_name_that_leads_into_this_machine_is_refused(ground: Ground) -> None:
    with listening() as (port, got):
        policy = evolve(ground.policy, domains=("localhost.localdomain", "*.localhost"))
        async with boxed(policy) as box:
            done = await _in_thread(run, box, fetch(f"http://a.localhost:{port}/"), ground.work)

    assert "hello" not in done.stdout
    assert got == []


# --- what is in force ------------------------------------------------------------------------


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


# --- Landlock --------------------------------------------------------------------------------


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


# --- with the tool ---------------------------------------------------------------------------


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


async def _in_thread(
    function: Callable[..., subprocess.CompletedProcess[str]], *arguments: object
) -> subprocess.CompletedProcess[str]:
    import anyio.to_thread

    return await anyio.to_thread.run_sync(function, *arguments)
