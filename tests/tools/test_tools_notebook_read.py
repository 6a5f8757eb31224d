"""Cells of a notebook, with their ids and what they put out."""

from __future__ import annotations

import base64

from interlock.tools import Output
from phases.world.messages import Media, Text
from tests.tools.documents import code, notebook
from tests.tools.places import Place
from tests.tools.test_tools_pictures import made


def words(output: Output) -> str:
    assert not output.is_error, output.content
    assert not isinstance(output.content, str)
    return "".join(part.text for part in output.content if isinstance(part, Text))


async def test_cells_come_with_ids_and_outputs(place: Place) -> None:
    printed = {"output_type": "stream", "name": "stdout", "text": ["one\n", "two\n"]}
    failed = {"output_type": "error", "ename": "E", "traceback": ["\x1b[31mline\x1b[0m", "E: no"]}
    place.put(
        "a.ipynb",
        notebook(
            {"cell_type": "markdown", "id": "intro", "source": ["# Title\n", "text"]},
            code("print(1)", printed, id="ab12"),
            code("fail()", failed),
        ),
    )

    said = words(await place.call("Read", file_path="a.ipynb"))

    assert '<cell id="intro" type="markdown">\n# Title\ntext\n</cell>' in said
    assert '<cell id="ab12" type="code" language="python">\nprint(1)\n</cell>' in said
    assert "<output>\none\ntwo\n</output>" in said
    assert '<cell id="cell-2" type="code"' in said
    assert "<output>\nline\nE: no\n</output>" in said


async def test_pictures_stand_where_they_were_put_out(place: Place) -> None:
    data = base64.b64encode(made("RGB", (30, 20), "PNG")).decode()
    drawn = {
        "output_type": "display_data",
        "data": {"image/png": f"{data}\n", "text/plain": "<F>"},
    }
    broken = {"output_type": "display_data", "data": {"image/png": "AAAA"}}
    place.put("a.ipynb", notebook(code("plot()", drawn), code("bad()", broken)))

    output = await place.call("Read", file_path="a.ipynb")

    assert isinstance(output.content, tuple)
    assert [type(part) for part in output.content] == [Text, Text, Media, Text]
    assert "PNG, 30 x 20" in words(output)
    assert "cannot be shown" in words(output)


async def test_offset_and_limit_count_cells(place: Place) -> None:
    place.put("a.ipynb", notebook(*(code(f"x = {n}") for n in range(1, 11))))

    said = words(await place.call("Read", file_path="a.ipynb", offset=3, limit=2))

    assert "10 cells; shown are 3 to 4" in said
    assert [n for n in range(1, 11) if f"\nx = {n}\n" in said] == [3, 4]
    last = words(await place.call("Read", file_path="a.ipynb", offset=-1))
    assert "x = 10" in last
    assert "there is none" in await place.refused("Read", file_path="a.ipynb", offset=11)


async def test_a_long_output_and_a_long_notebook_are_cut_and_that_is_told(place: Place) -> None:
    much = {"output_type": "stream", "text": "y" * 10_000}
    place.put("a.ipynb", notebook(*(code(f"x = {n}", much) for n in range(1, 31))))

    said = words(await place.call("Read", file_path="a.ipynb"))

    assert "characters left out here" in said
    assert "shown are 1 to " in said
    assert len(said) <= place.limits.tool_output_cap


async def test_a_file_that_is_called_a_notebook_and_is_none_is_text(place: Place) -> None:
    place.put("a.ipynb", '{"cells": 3}\n')

    assert await place.said("Read", file_path="a.ipynb") == '1\t{"cells": 3}\n'


async def test_a_notebook_counts_as_read(place: Place) -> None:
    path = place.put("a.ipynb", notebook(code("x = 1")))

    await place.call("Read", file_path="a.ipynb")

    place.context.reads.require(path, path.read_bytes())
