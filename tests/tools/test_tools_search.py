"""Glob and Grep: what is there, what is not, and what could not be looked at."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from interlock.tools.grep import Grep
from tests.tools.places import Place


@pytest.fixture
def place(place: Place) -> Place:
    place.put("a.txt", "-v flag\n--help\n")
    place.put("b.py", "x = (1\n")
    place.put("ignored/big.log", "needle\n")
    place.put("debug.log", "needle\n")
    place.put(".gitignore", "ignored/\n*.log\n")
    return place


# --- Grep ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "hit"),
    [("-v", "a.txt:1:-v flag"), ("--help", "a.txt:2:--help"), ("-", "a.txt:1:-v flag")],
)
async def test_a_pattern_that_looks_like_a_flag_is_none(
    place: Place, pattern: str, hit: str
) -> None:
    assert hit in await place.said("Grep", pattern=pattern, output_mode="content")


async def test_a_bad_pattern_is_an_error_that_names_it(place: Place) -> None:
    said = await place.refused("Grep", pattern="(")

    assert "'('" in said
    assert "unclosed group" in said


@pytest.mark.parametrize("pattern", ["nosuchword", "needle"])
async def test_a_miss_is_no_error_and_ignored_files_are_not_searched(
    place: Place, pattern: str
) -> None:
    assert await place.said("Grep", pattern=pattern) == "No matches found."


async def test_a_glob_does_not_bring_ignored_files_back(place: Place) -> None:
    assert await place.said("Grep", pattern="needle", glob="*.log") == "No matches found."


async def test_files_that_could_not_be_read_are_named_beside_the_hits(place: Place) -> None:
    failing = place.folder.parent / "rg"
    failing.write_text(
        "#!/bin/sh\nprintf './b.py\\0'\necho 'rg: ./a.txt: Permission denied' >&2\nexit 2\n"
    )
    failing.chmod(0o755)
    place.tools["Grep"] = Grep(rg=str(failing))

    said = await place.said("Grep", pattern="x")

    assert said.startswith("b.py\n(Some files could not be searched: ")
    assert "a.txt: Permission denied" in said


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
async def test_an_unreadable_file_is_told(place: Place) -> None:
    (place.folder / "a.txt").chmod(0)

    said = await place.said("Grep", pattern="x")

    assert said.startswith("b.py\n")
    assert "a.txt" in said


async def test_a_failure_of_all_there_is_is_no_miss(place: Place) -> None:
    failing = place.folder.parent / "rg"
    failing.write_text("#!/bin/sh\nexit 2\n")
    failing.chmod(0o755)
    place.tools["Grep"] = Grep(rg=str(failing))

    assert "ripgrep ended with 2" in await place.refused("Grep", pattern="x")


async def test_a_pattern_others_backtrack_on_ends_at_once(place: Place) -> None:
    place.put("long.txt", "a" * 100_000 + "!\n")

    assert await place.said("Grep", pattern="(a+)+$", path="long.txt") == "No matches found."


async def test_lines_around_a_match(place: Place) -> None:
    place.put("c.txt", "1\n2\nhit\n4\n5\n6\n7\n8\nhit\n")

    said = await place.said(
        "Grep", pattern="hit", path="c.txt", output_mode="content", **{"-B": 1, "-A": 1}
    )

    assert said == "c.txt-2-2\nc.txt:3:hit\nc.txt-4-4\n--\nc.txt-8-8\nc.txt:9:hit"


async def test_the_other_options(place: Place) -> None:
    place.put("sub/c.ts", "Alpha\nbeta\n")

    content = {"output_mode": "content"}
    assert await place.said("Grep", pattern="alpha", **{"-i": True}) == "sub/c.ts"
    assert await place.said("Grep", pattern="a", output_mode="count", type="ts") == "sub/c.ts:2"
    assert await place.said("Grep", pattern="beta", **content, **{"-n": False}) == "sub/c.ts:beta"
    spanning = await place.said("Grep", pattern="Alpha.beta", multiline=True, **content)
    assert spanning == "sub/c.ts:1:Alpha\nsub/c.ts:2:beta"
    assert "sub/c.ts" in await place.said("Grep", pattern="a", glob="sub/**/*.{ts,tsx}")
    assert "sub/c.ts" not in await place.said("Grep", pattern="a", glob="!sub/**")
    assert "unrecognized file type" in await place.refused("Grep", pattern="a", type="nonsense")


async def test_head_limit_bounds_what_is_shown_and_says_so(place: Place) -> None:
    place.put("many.txt", "hit\n" * 1_000)

    said = await place.said(
        "Grep", pattern="hit", path="many.txt", output_mode="content", head_limit=2
    )

    assert said == (
        "many.txt:1:hit\nmany.txt:2:hit\n"
        "(Only the first 2 are shown; narrow the search for the rest.)"
    )


async def test_an_answer_can_be_gone_on_with(place: Place) -> None:
    place.put("many.txt", "".join(f"hit {n}\n" for n in range(10)))
    asked: dict[str, Any] = {"pattern": "hit", "path": "many.txt", "output_mode": "content"}

    said = await place.said("Grep", **asked, head_limit=2, offset=4)
    beyond = await place.said("Grep", **asked, offset=10)

    assert said == (
        "many.txt:5:hit 4\nmany.txt:6:hit 5\n"
        "(Only the 2 after the first 4 are shown; narrow the search for the rest.)"
    )
    assert "There are 10 and none after them" in beyond


@pytest.mark.parametrize("many", [3, 120], ids=["few", "more than can be put in order"])
async def test_lines_come_by_path_whatever_the_threads_did(place: Place, many: int) -> None:
    for n in range(many):
        place.put(f"tree/{n:03}/a.txt", "hit\n" * 251)

    said = await place.said("Grep", pattern="hit", output_mode="content", head_limit=300)

    lines = [line for line in said.split("\n") if line.startswith("tree")]
    assert len(lines) == 300
    assert lines == [f"tree/000/a.txt:{n}:hit" for n in range(1, 252)] + [
        f"tree/001/a.txt:{n}:hit" for n in range(1, 50)
    ]


async def test_the_newest_of_all_files_come_first(place: Place) -> None:
    for n in range(300):
        path = place.put(f"many/{n:03}.txt", "hit\n")
        os.utime(path, (1_000_000 + n, 1_000_000 + n))

    said = await place.said("Grep", pattern="hit", head_limit=2)

    assert said.startswith("many/299.txt\nmany/298.txt\n(Only the first 2")


async def test_files_are_held_apart_where_lines_around_are_shown(place: Place) -> None:
    place.put("p.txt", "hit\n2\n")
    place.put("q.txt", "hit\n2\n")

    said = await place.said("Grep", pattern="hit", output_mode="content", **{"-A": 1})

    assert said == "p.txt:1:hit\np.txt-2-2\n--\nq.txt:1:hit\nq.txt-2-2"


async def test_a_very_long_line_is_cut(place: Place) -> None:
    place.put("min.js", "x" * 1_000_000 + "needle\n")

    assert len(await place.said("Grep", pattern="xneedle", output_mode="content")) < 1_000


async def test_files_that_must_not_be_read_are_not_in_the_results(place: Place) -> None:
    place.put("secret.txt", "flag\n")
    place.context.hides = lambda path: path.name == "secret.txt"

    assert await place.said("Grep", pattern="flag") == "a.txt"
    assert "secret" not in await place.said("Grep", pattern="flag", output_mode="content")
    assert "secret" not in await place.said("Grep", pattern="flag", output_mode="count")
    assert "secret" not in await place.said("Glob", pattern="*.txt")


async def test_a_path_that_does_not_exist_is_an_error(place: Place) -> None:
    assert "does not exist" in await place.refused("Grep", pattern="x", path="nowhere")
    assert "does not exist" in await place.refused("Glob", pattern="x", path="nowhere")


# --- Glob ------------------------------------------------------------------------------------


async def test_files_come_newest_first(place: Place) -> None:
    for age, name in enumerate(["new.md", "middle.md", "old.md"]):
        path = place.put(name, "")
        os.utime(path, (1_000_000 - age, 1_000_000 - age))

    assert await place.said("Glob", pattern="*.md") == "new.md\nmiddle.md\nold.md"


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.py", ["b.py", "sub/deep/d.py"]),
        ("**/*.py", ["b.py", "sub/deep/d.py"]),
        ("sub/*.py", []),
        ("sub/**", ["sub/deep/d.py"]),
        ("./b.py", ["b.py"]),
        ("*.{py,txt}", ["a.txt", "b.py", "sub/deep/d.py"]),
        ("?.txt", ["a.txt"]),
        ("*.log", []),
        ("nothing", []),
    ],
)
async def test_patterns(place: Place, pattern: str, found: list[str]) -> None:
    place.put("sub/deep/d.py", "")

    said = await place.said("Glob", pattern=pattern)

    assert sorted(said.split("\n")) == (found or ["No files found."])


async def test_a_pattern_may_begin_outside_and_is_judged_there(place: Place) -> None:
    glob = place.tools["Glob"]

    up = glob.touches({"pattern": "../**"}, place.folder)
    away = glob.touches({"pattern": "/etc/*.conf"}, place.folder)
    hidden = glob.touches({"pattern": "sub/../../*"}, place.folder)

    assert up.reads == (place.folder.parent,)
    assert away.reads == (Path("/etc"),)
    assert hidden.reads == (place.folder,)
    assert "leaves its folder" in await place.refused("Glob", pattern="sub/../../*")


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("app/[id]/page.tsx", ["app/[id]/page.tsx", "app/i/page.tsx"]),
        (r"app/\[id\]/page.tsx", ["app/[id]/page.tsx"]),
        ("app/[[]id]/page.tsx", ["app/[id]/page.tsx"]),
        (r"app/\[id\]/*", ["app/[id]/page.tsx"]),
        ("{folder}/app/[id]/page.tsx", ["app/[id]/page.tsx", "app/i/page.tsx"]),
        (r"{folder}/app/\[id\]/page.tsx", ["app/[id]/page.tsx"]),
        ("[^b]x", ["cx"]),
        ("[!b]x", ["cx"]),
        (r"a\ b", ["a b"]),
    ],
)
async def test_brackets_and_backslashes_mean_what_they_mean_in_gitignore_or_themselves(
    place: Place, pattern: str, found: list[str]
) -> None:
    for name in ("app/[id]/page.tsx", "app/i/page.tsx", "bx", "cx", "a b"):
        place.put(name, "sought\n")
    pattern = pattern.replace("{folder}", str(place.folder))

    globbed = await place.said("Glob", pattern=pattern)
    grepped = await place.said(
        "Grep", pattern="sought", glob=pattern.removeprefix(f"{place.folder}")
    )

    assert sorted(globbed.split("\n")) == found
    assert sorted(grepped.split("\n")) == found


async def test_a_link_to_a_folder_is_followed_where_the_pattern_names_it(place: Place) -> None:
    outside = place.folder.parent / "outside"
    (outside / "in").mkdir(parents=True)
    (outside / "in" / "o.txt").write_text("flag\n")
    (place.folder / "link").symlink_to(outside)
    real = str(outside / "in" / "o.txt")

    for pattern in ("link/**", "./link/in/*", "link/in/o.txt", "link/*/o.txt"):
        assert await place.said("Glob", pattern=pattern) == real
    assert await place.said("Glob", path="link", pattern="in/*") == real
    assert await place.said("Grep", path="link", pattern="flag") == real
    assert await place.said("Glob", pattern="*/in/*") == "No files found."
    judged = place.tools["Glob"].touches({"pattern": "link/in/*"}, place.folder)
    assert judged.reads == (outside,)
    assert judged.named == (place.folder / "link",)


async def test_braces_without_end_are_refused(place: Place) -> None:
    assert "too many" in await place.refused("Glob", pattern="{a,b}" * 20)


async def test_links_to_folders_are_not_followed(place: Place) -> None:
    outside = place.folder.parent / "outside"
    outside.mkdir()
    (outside / "o.txt").write_text("flag")
    (place.folder / "link").symlink_to(outside)

    assert await place.said("Glob", pattern="o.txt") == "No files found."
    assert await place.said("Grep", pattern="flag") == "a.txt"
    assert stat.S_ISLNK((place.folder / "link").lstat().st_mode)


async def test_a_search_without_end_is_ended_and_says_that_it_is_not_all(place: Place) -> None:
    from interlock.tools.search import Search, ending_in, told

    endless = place.folder.parent / "rg"
    endless.write_text("#!/bin/sh\nprintf 'b.py\\0'\nexec sleep 100\n")
    endless.chmod(0o755)
    found: list[bytes] = []

    def take(record: bytes) -> bool:
        found.append(record)
        return True

    ended = await Search(
        arguments=[str(endless)],
        folder=place.folder,
        records=ending_in(b"\0"),
        take=take,
        time_limit=0.3,
    ).run()

    assert found == [b"b.py"]
    assert ended.timed_out
    assert "this is not all" in told(ended, "x", nothing_found=False)[0]
