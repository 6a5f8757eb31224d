"""NotebookEdit: one cell changes, and no byte of the others, however the JSON is written."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.tools.filetext import FileText
from interlock.tools.notebook import Notebook
from tests.tools.places import Place

Json = Any

NOTEBOOK: dict[str, Json] = {
    "cells": [
        {
            "cell_type": "code",
            "execution_count": 3,
            "id": "aa",
            "metadata": {"tags": ["x"]},
            "outputs": [{"name": "stdout", "output_type": "stream", "text": ["1\n"]}],
            "source": ["print(1)\n", "x = 'é'"],
        },
        {"cell_type": "markdown", "id": "bb", "metadata": {}, "source": ["# hi"]},
    ],
    "metadata": {"kernelspec": {"name": "python3"}},
    "nbformat": 4,
    "nbformat_minor": 5,
}
OLDER = {**NOTEBOOK, "nbformat_minor": 4}
for _cell in (cells := deepcopy(OLDER["cells"])):
    del _cell["id"]
OLDER["cells"] = cells


async def put(place: Place, notebook: Json, **style: Any) -> None:
    text = json.dumps(notebook, **{"indent": 1, "ensure_ascii": False, **style}) + "\n"
    place.put("a.ipynb", text)
    await place.said("Read", file_path="a.ipynb")


def now(place: Place) -> Json:
    return json.loads((place.folder / "a.ipynb").read_text())


async def test_a_code_cell_gets_its_new_source_and_loses_what_the_old_one_printed(
    place: Place,
) -> None:
    await put(place, NOTEBOOK)

    said = await place.said(
        "NotebookEdit", notebook_path="a.ipynb", cell_id="aa", new_source="print(2)\nx = 'é'"
    )

    expected = deepcopy(NOTEBOOK)
    expected["cells"][0] |= {
        "source": ["print(2)\n", "x = 'é'"],
        "outputs": [],
        "execution_count": None,
    }
    assert now(place) == expected
    assert said == (
        "Replaced code cell aa (its old outputs are cleared) in a.ipynb.\n\n"
        "--- a.ipynb (code cell aa)\n+++ a.ipynb (code cell aa)\n"
        "@@ -1,2 +1,2 @@\n-print(1)\n+print(2)\n x = 'é'\n\\ No newline at end of file\n"
    )


async def test_a_cell_without_an_id_is_named_by_its_place(place: Place) -> None:
    await put(place, OLDER)

    await place.said("NotebookEdit", notebook_path="a.ipynb", cell_id="cell-1", new_source="# ho")
    await place.said("NotebookEdit", notebook_path="a.ipynb", cell_id="0", new_source="1")

    assert [cell["source"] for cell in now(place)["cells"]] == [["1"], ["# ho"]]


async def test_a_new_cell_stands_behind_the_one_named_or_first(place: Place) -> None:
    await put(place, NOTEBOOK)

    for arguments in ({"cell_id": "aa"}, {}, {"cell_id": "bb"}):
        await place.said(
            "NotebookEdit",
            notebook_path="a.ipynb",
            edit_mode="insert",
            cell_type="code",
            new_source="new",
            **arguments,
        )

    found = now(place)["cells"]
    assert [cell["source"] for cell in found] == [
        ["new"],
        NOTEBOOK["cells"][0]["source"],
        ["new"],
        ["# hi"],
        ["new"],
    ]
    assert found[1] == NOTEBOOK["cells"][0]
    assert found[0]["outputs"] == []
    assert found[0]["execution_count"] is None
    assert len({cell["id"] for cell in found}) == 5


async def test_ids_are_given_only_from_format_4_5_on(place: Place) -> None:
    await put(place, OLDER)

    await place.said(
        "NotebookEdit",
        notebook_path="a.ipynb",
        edit_mode="insert",
        cell_type="markdown",
        new_source="x",
    )

    assert now(place)["cells"][0] == {"cell_type": "markdown", "metadata": {}, "source": ["x"]}


async def test_a_cell_is_deleted_without_a_source(place: Place) -> None:
    await put(place, NOTEBOOK)

    said = await place.said(
        "NotebookEdit", notebook_path="a.ipynb", edit_mode="delete", cell_id="aa"
    )

    assert now(place)["cells"] == NOTEBOOK["cells"][1:]
    assert said.startswith("Deleted code cell aa in a.ipynb.")


async def test_a_cell_of_another_kind_has_what_its_kind_must_have(place: Place) -> None:
    await put(place, NOTEBOOK)

    await place.said(
        "NotebookEdit",
        notebook_path="a.ipynb",
        cell_id="aa",
        cell_type="markdown",
        new_source="text",
    )
    await place.said(
        "NotebookEdit", notebook_path="a.ipynb", cell_id="bb", cell_type="code", new_source="1"
    )

    assert now(place)["cells"] == [
        {"cell_type": "markdown", "id": "aa", "metadata": {"tags": ["x"]}, "source": ["text"]},
        {
            "cell_type": "code",
            "execution_count": None,
            "id": "bb",
            "metadata": {},
            "outputs": [],
            "source": ["1"],
        },
    ]


async def test_a_person_is_shown_the_source_that_changes_and_the_very_cell_that_comes(
    place: Place,
) -> None:
    await put(place, NOTEBOOK)
    arguments = {
        "notebook_path": "a.ipynb",
        "edit_mode": "insert",
        "cell_type": "code",
        "new_source": "a\n",
    }

    shown = str(await place.tools["NotebookEdit"].preview(arguments, place.context))
    await place.said("NotebookEdit", **arguments)

    new = now(place)["cells"][0]["id"]
    assert shown.startswith(f"--- a.ipynb (new code cell {new})\n")
    assert shown.endswith("@@ -0,0 +1 @@\n+a\n")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"cell_id": "cc", "new_source": "x"}, "no cell 'cc'. The cells are: aa, bb."),
        ({"cell_id": "cell-2", "new_source": "x"}, "no cell 'cell-2'"),
        ({"new_source": "x"}, "cell_id is missing"),
        ({"cell_id": "aa"}, "new_source is missing"),
        ({"edit_mode": "insert", "new_source": "x"}, "cell_type is missing"),
        ({"edit_mode": "delete"}, "cell_id is missing"),
        ({"cell_id": "bb", "new_source": "# hi"}, "holds just that already"),
        ({"cell_id": "aa", "new_source": "\ud800"}, "lone surrogate"),
    ],
)
async def test_a_call_that_cannot_be_meant_changes_nothing(
    place: Place, arguments: dict[str, str], why: str
) -> None:
    await put(place, NOTEBOOK)

    assert why in await place.refused("NotebookEdit", notebook_path="a.ipynb", **arguments)
    assert now(place) == NOTEBOOK


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ('{"cells": [}', "its JSON is broken (Expecting value: line 1 column 12"),
        ("[]", "no `nbformat`"),
        ('{"nbformat": 3, "worksheets": []}', "format 3; only format 4"),
        ('{"nbformat": 4, "cells": {}}', "no list of `cells`"),
        ('{"nbformat": 4, "cells": [1]}', "no `cell_type`"),
        ("[" * 100_000, "JSON is broken"),
        (b'{"nbformat": 4, "cells": ["\xe9"]}', "not valid UTF-8 (byte 0xE9 at offset 27)"),
    ],
)
async def test_what_is_no_notebook_is_refused(
    place: Place, content: str | bytes, why: str
) -> None:
    path = place.put("a.ipynb", content)
    before = path.read_bytes()
    await place.said("Read", file_path="a.ipynb")

    said = await place.refused(
        "NotebookEdit", notebook_path="a.ipynb", cell_id="cell-0", new_source="x"
    )

    assert why in said
    assert path.read_bytes() == before


async def test_a_notebook_must_be_read_before_and_other_files_are_refused(place: Place) -> None:
    place.put("a.ipynb", json.dumps(NOTEBOOK))
    place.put("a.txt", "x")

    assert "Read it first" in await place.refused(
        "NotebookEdit", notebook_path="a.ipynb", cell_id="aa", new_source="x"
    )
    assert "is no notebook" in await place.refused(
        "NotebookEdit", notebook_path="a.txt", cell_id="aa", new_source="x"
    )


async def test_edit_points_to_the_tool_for_notebooks(place: Place) -> None:
    await put(place, NOTEBOOK)

    said = await place.refused(
        "Edit", file_path="a.ipynb", old_string="print(1)\nx", new_string="print(2)\nx"
    )

    assert "NotebookEdit changes a cell by its id" in said


# --- bytes -----------------------------------------------------------------------------------

SOURCES = st.text(st.sampled_from('ab\n\t"\\é😀\u2028/'), max_size=12)
KINDS = st.sampled_from(["code", "markdown"])


@st.composite
def _cells(draw: st.DrawFn) -> dict[str, Json]:
    kind = draw(KINDS)
    source = draw(SOURCES)
    lines = [line + "\n" for line in source.split("\n")[:-1]] + [source.split("\n")[-1]]
    cell: dict[str, Json] = {
        "cell_type": kind,
        "metadata": draw(st.sampled_from([{}, {"tags": ["a", "b"]}])),
        "source": source if draw(st.booleans()) else [line for line in lines if line],
    }
    if kind == "code":
        cell |= {
            "execution_count": draw(st.sampled_from([None, 7])),
            "outputs": draw(st.sampled_from([[], [{"output_type": "stream", "text": ["é\n"]}]])),
        }
    return dict(draw(st.permutations(list(cell.items()))))


STYLES = st.sampled_from(
    [
        {"indent": 1, "ensure_ascii": False},
        {"indent": 2, "ensure_ascii": False},
        {"indent": "\t", "ensure_ascii": False},
        {"indent": 4, "separators": (",", " : "), "ensure_ascii": False},
        {"ensure_ascii": False},
        {"separators": (",", ":"), "ensure_ascii": False},
    ]
)


@given(
    st.lists(_cells(), min_size=1, max_size=4),
    st.integers(0, 3),
    st.sampled_from(["replace", "delete", "insert"]),
    SOURCES,
    STYLES,
    st.sampled_from(["", "\n", "\r\n"]),
)
def test_the_file_is_as_if_whoever_wrote_it_had_written_the_change(
    before: list[Json], at: int, mode: str, code: str, style: dict[str, Any], end: str
) -> None:
    """In every manner of writing JSON the bytes are those that this manner gives the new value."""
    at %= len(before)
    line_end = "\r\n" if end == "\r\n" else "\n"

    def written(cells: list[Json]) -> str:
        whole = {"nbformat": 4, "cells": cells, "nbformat_minor": 4}
        return json.dumps(whole, **style).replace("\n", line_end) + end

    notebook = Notebook.of(FileText.of(written(before).encode()))
    after = deepcopy(before)
    match mode:
        case "replace":
            cell = after[at]
            new = notebook.replaced(at, code, cell["cell_type"])
            was_list = isinstance(cell["source"], list)
            cell["source"] = _lines(code) if was_list else code
            if cell["cell_type"] == "code":
                cell |= {"outputs": [], "execution_count": None}
        case "delete":
            new = notebook.deleted(at)
            del after[at]
        case _:
            new = notebook.inserted(at + 1, code, "code")
            after.insert(at + 1, Notebook.of(new).cells[at + 1].value)

    assert new.bytes(new.text) == written(after).encode()


def test_escapes_stay_escapes_where_the_file_has_them() -> None:
    text = json.dumps(NOTEBOOK, indent=1)
    assert "\\u00e9" in text

    new = Notebook.of(FileText.of(text.encode())).replaced(1, "# ü", "markdown").text

    assert '"# \\u00fc"' in new
    assert new == text.replace("# hi", "# \\u00fc")


def test_the_first_cell_of_an_empty_notebook_is_written_like_the_rest() -> None:
    empty = {"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 2}
    for style in ({"indent": 1}, {"indent": 4}, {}):
        text = json.dumps(empty, **style)  # type: ignore[arg-type]

        new = Notebook.of(FileText.of(text.encode())).inserted(0, "a\nb", "markdown").text

        cell = {"cell_type": "markdown", "metadata": {}, "source": ["a\n", "b"]}
        assert new == json.dumps({**empty, "cells": [cell]}, **style)  # type: ignore[arg-type]


def test_a_last_cell_taken_away_leaves_an_empty_list() -> None:
    one = {"nbformat": 4, "cells": [NOTEBOOK["cells"][1]]}

    new = Notebook.of(FileText.of(json.dumps(one, indent=1).encode())).deleted(0).text

    assert new == json.dumps({"nbformat": 4, "cells": []}, indent=1)


def _lines(code: str) -> list[str]:
    *whole, last = code.split("\n")
    return [f"{line}\n" for line in whole] + ([last] if last else [])
