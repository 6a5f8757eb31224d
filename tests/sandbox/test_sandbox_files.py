"""Files in a sandbox: what can be written, read, and planted."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from pathlib import Path

import pytest
from attrs import evolve

from tests.sandbox.grounds import Ground, boxed, needs_bubblewrap, quoted, run


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
            done = run(box, f"python3 -c {quoted(code)}", ground.work)
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
