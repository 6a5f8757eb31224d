"""A shell folder that can no longer be reached costs the folder, never the session or the run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import anyio
import pytest

from interlock.tools import built_in
from interlock.tools.paths import BadPath, unusable
from interlock.tools.tool import Arguments, Output, Tool, ToolContext, Touches
from phases.world.messages import ToolUse
from tests.tools.places import Place
from tests.tools.running import bench

TOO_DEEP = (
    'for i in $(seq 30); do d=$(printf "a%.0s" $(seq 200)); mkdir $d && cd $d || break; done'
)
# Root may enter every folder, so the calls are made by someone who may not.
AS_NOBODY = """
import asyncio, json, os, sys
from pathlib import Path
if os.getuid() == 0:
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
from interlock.tools import Bash, FileReads, ToolContext
from interlock.tools.paths import BadPath
from phases.world.limits import Limits

async def main():
    folder = Path(sys.argv[1])
    context = ToolContext(
        cwd=folder, root=folder, limits=Limits(), reads=FileReads(), spill=folder / "spill"
    )
    bash, said = Bash(), []
    for line in json.loads(sys.argv[2]):
        said.append((await bash.run({"command": line}, context)).content)
    try:
        said.append(str(context.path("a.txt")))
    except BadPath as problem:
        said.append(str(problem))
    bash.close()
    print(json.dumps(said))

asyncio.run(main())
"""


def as_nobody(folder: Path, *lines: str) -> list[str]:
    """What the commands say, one after another, and where `a.txt` is for a file tool then."""
    folder.chmod(0o777)
    for above in folder.parents[:4]:
        if above.stat().st_uid == os.getuid() and above != Path("/"):
            above.chmod(above.stat().st_mode | 0o011)
    ran = subprocess.run(
        [sys.executable, "-c", AS_NOBODY, str(folder), json.dumps(lines)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    said: list[str] = json.loads(ran.stdout)
    return said


def test_a_folder_under_one_that_was_closed_is_left_and_the_output_is_kept(place: Place) -> None:
    closing, after, opening, path = as_nobody(
        place.folder,
        "mkdir -p z/q; cd z/q; chmod 000 ..; echo output",
        "echo hello; pwd",
        "chmod 755 z; cd z/q; pwd",
    )

    lost = f"{place.folder}/z/q can no longer be reached (Permission denied)"
    assert closing == f"output\n(The folder {lost}; the next command starts in {place.folder}.)"
    assert after == f"hello\n{place.folder}"
    assert opening == f"{place.folder}/z/q"
    assert path == f"{place.folder}/z/q/a.txt"


def test_a_folder_that_was_closed_itself_is_left_too(place: Place) -> None:
    closing, path = as_nobody(place.folder, "mkdir q; cd q; chmod 000 .; echo output")

    assert closing.startswith(f"output\n(The folder {place.folder}/q can no longer be entered")
    assert path.endswith("(Permission denied); give 'a.txt' as an absolute path")


async def emptied(folder: Path) -> None:
    """By a program that steps into each: by its path nobody can name the deepest."""
    await anyio.run_process(["rm", "-rf", *(str(one) for one in folder.iterdir())])


async def test_a_folder_too_deep_to_be_named_is_left_for_one_that_can_be(place: Place) -> None:
    try:
        deep = await place.said("Bash", command=TOO_DEEP)
        with pytest.raises(BadPath, match=r"reached \(File name too long\); give 'a.txt'"):
            await place.call("Read", file_path="a.txt")
        after = await place.said("Bash", command=f"echo works; cd {place.folder}; pwd")
    finally:
        await emptied(place.folder)

    assert "can no longer be reached (File name too long); the next command starts in" in deep
    assert len(deep) < 1_500
    assert after == f"works\n{place.folder}"


async def test_the_run_goes_on_where_a_file_tool_cannot_tell_what_it_touches(place: Place) -> None:
    read = ToolUse(id="r", name="Read", input={"file_path": "a.txt"})
    deep = ToolUse(id="d", name="Bash", input={"command": TOO_DEEP})
    tools = built_in()
    try:
        async with bench(place.folder, tools=tools) as at:
            await at.run(deep)
            at.executor.begin(at.context)
            at.executor.offer(read)  # while the reply streams
            (result,) = await at.run(read)
    finally:
        await emptied(place.folder)
        tools["Bash"].close()

    assert result.is_error
    assert "give 'a.txt' as an absolute path" in result.text


@pytest.mark.parametrize(
    "where", ["effects", "concurrency_safe", "touches", "preview", "run"]
)  # fmt: skip
async def test_whatever_a_tool_raises_wherever_is_the_result_of_its_call(
    place: Place, where: str
) -> None:
    call = ToolUse(id="b", name="Breaking", input={})
    async with bench(place.folder, tools={"Breaking": Breaking(where)}) as at:
        at.executor.offer(call)
        (result,) = await at.run(call)

    assert result.is_error == (where != "preview")  # nobody was asked: nobody was shown one
    assert where == "preview" or "Breaking failed: [Errno 13] Permission denied" in result.text


class Breaking(Tool):
    name = "Breaking"
    description = "fails"
    input_schema = {"type": "object", "properties": {}}  # noqa: RUF012

    def __init__(self, where: str) -> None:
        self.where = where

    def _at(self, where: str) -> None:
        if where == self.where:
            raise PermissionError(13, "Permission denied")

    def effects(self, arguments: Arguments) -> bool:
        self._at("effects")
        return False

    def concurrency_safe(self, arguments: Arguments) -> bool:
        self._at("concurrency_safe")
        return True

    def touches(self, arguments: Arguments, cwd: Path) -> Touches:
        self._at("touches")
        return Touches()

    async def preview(self, arguments: Arguments, context: ToolContext) -> str | None:
        self._at("preview")
        return None

    async def run(self, arguments: Arguments, context: ToolContext) -> Output:
        self._at("run")
        return Output("did it")


def test_a_file_is_no_folder_to_work_in(place: Place) -> None:
    assert unusable(place.put("file", "")) == "no longer exists"
    assert unusable(place.folder / "file" / "below") == "no longer exists"
    assert unusable(place.folder) is None
