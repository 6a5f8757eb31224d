"""Whatever a command prints: no title, name, prompt or path steers the terminal."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from interlock.scripted import reply, tool_use
from interlock.visible import harmless, visible
from tests.cli.shell import REAL, Shell
from tests.cli.test_cli_interactive import seated
from tests.cli.test_cli_resume import ID, MODEL, OTHER, asked

EVIL = "a\x1b[2Jb\x9b2Jc\u202ed"


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """Two sessions whose prompts, titles, calls and file names would clear the screen."""
    shell = Shell(tmp_path_factory.mktemp("work"))
    at = Path("in " + EVIL)
    (shell.folder / at).mkdir()
    for id_ in (ID, OTHER):
        write = tool_use("Write", {"file_path": str(at / "f.txt"), "content": EVIL}, id="toolu_1")
        answers = [reply(write), reply(f"Done {EVIL}.")]
        begun = ("--session-id", id_, "--permission-mode", "acceptEdits", *MODEL)
        assert asked(shell, answers, f"paint {EVIL}", *begun)[0].code == 0
    for path in shell.transcripts:
        with path.open("ab") as file:
            title = {
                "type": "custom-title",
                "customTitle": f"house {EVIL}",
                "sessionId": path.stem,
            }
            file.write(orjson.dumps(title) + b"\n")
    return shell


@pytest.mark.parametrize(
    "argv",
    [
        ("sessions",),
        ("sessions", "--all", "--json"),
        ("sessions", "tree"),
        ("sessions", "tree", "--json"),
        ("sessions", "show", ID),
        ("sessions", "show", "house"),
        ("sessions", "show", EVIL),
        ("sessions", "rename", ID, f"house {EVIL}"),
        ("sessions", "delete", ID),
        ("sessions", "clean", "--dry-run"),
        ("rewind", ID),
        ("rewind", ID, "--to", "1", "--dry-run"),
        ("rewind", ID, "--to", EVIL),
        ("rewind", ID, "--to", "1", "--yes", "--force", EVIL),
        ("rewind", ID, "--to", "1", "--yes"),
        ("rewind", "house"),
        ("trace", "last"),
        ("trace", "last", "--tree"),
        ("explain", "last"),
        ("replay", "last"),
        ("context", "last"),
        ("--resume", "house", "-p", "x"),
        ("--resume", EVIL, "-p", "x"),
        ("permissions", "explain", "Bash", EVIL),
        ("config", "show", EVIL),
        (EVIL, "--nothing"),
    ],
    ids=lambda argv: " ".join(argv).replace(EVIL, "EVIL"),
)
def test_no_control_character_reaches_the_screen(evil: Shell, argv: tuple[str, ...]) -> None:
    ran = evil.run(*argv, program=REAL)

    for told in (ran.out, ran.err):
        assert told == harmless(told)
        assert "Traceback" not in told
    if "--json" in argv:
        assert {each["title"] for each in orjson.loads(ran.out)} == {f"house {EVIL}"}


def test_nor_at_the_terminal_of_a_session(evil: Shell) -> None:
    with seated(evil, [reply(f"Yes {EVIL}.")], "--resume", ID, *MODEL) as (person, _):
        person.sees(f"resumed: {visible(f'house {EVIL}')}")
        person.types("/resume house\r")
        person.sees("fits 2 sessions")
        person.sees(visible(EVIL))
        person.types("/rewind\r")
        person.sees(visible(f"paint {EVIL}"))
        person.sees("own words > ")
        person.types("nothing\n")
        person.sees("nothing was changed")
        person.types("/exit\r")

        assert person.ends() == 0


def test_json_means_the_same_with_its_escapes() -> None:
    words = "".join(map(chr, range(0x2FFF)))

    assert orjson.loads(harmless(orjson.dumps(words).decode())) == words
    assert harmless("two\nlines\twith é and 日本") == "two\nlines\twith é and 日本"
