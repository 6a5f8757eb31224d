"""What a session knows beside its messages, read back from a file that somebody spoiled."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from interlock.session_state import SessionState, load, turn_back
from phases.world.loop import NEVER_COMPACTED, AutoCompactTracking
from phases.world.updates import Todo

WHOLE: dict[str, object] = {
    "model": "model-x",
    "permission_mode": "acceptEdits",
    "given": {"rules": []},
    "shell": None,
    "todos": [{"content": "paint", "status": "pending", "active_form": "painting"}],
    "reads": {"/a": "digest"},
    "tracking": {"compactions": 1, "turns_since": 2, "failures": 0, "fruitless": 0},
    "loaded": ["WebFetch"],
    "readable": ["/results"],
}


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(orjson.dumps(WHOLE))

    loaded = load(path)

    assert loaded.problem is None
    assert loaded.state == SessionState(
        model="model-x",
        permission_mode="acceptEdits",
        given={"rules": []},
        todos=(Todo(content="paint", status="pending", active_form="painting"),),
        reads={"/a": "digest"},
        tracking=AutoCompactTracking(compactions=1, turns_since=2, failures=0, fruitless=0),
        loaded=("WebFetch",),
        readable=("/results",),
    )


def test_a_file_that_is_not_there_is_no_reason_to_tell_anything(tmp_path: Path) -> None:
    loaded = load(tmp_path / "state.json")

    assert (loaded.state, loaded.problem) == (SessionState(), None)


@pytest.mark.parametrize(
    "data", [b"", b"[]", b'"text"', b"5", b"null", b'{"model": ', b"\xff\xfe", b"\x00" * 40]
)
def test_a_file_that_is_no_state_is_told_in_one_line(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(data)

    loaded = load(path)

    assert loaded.state == SessionState()
    assert loaded.problem is not None
    assert loaded.problem.startswith(f"{path} cannot be used (no JSON")
    assert loaded.problem.endswith("mode, permissions, folder and todos begin anew")


WRONG: tuple[object, ...] = (None, 5, "text", [], {}, [5], {"a": 5})


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_a_part_of_a_wrong_shape_is_told_and_the_others_are_kept(
    tmp_path: Path, name: str, wrong: object
) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(orjson.dumps(WHOLE))
    whole = load(path).state
    path.write_bytes(orjson.dumps(WHOLE | {name: wrong}))

    loaded = load(path)

    for other in WHOLE.keys() - {name}:
        assert getattr(loaded.state, other) == getattr(whole, other)
    if loaded.problem is None:  # it is of that shape after all: what it says is what was said
        again = orjson.loads(orjson.dumps(getattr(loaded.state, name)))
        assert again == wrong
    else:
        assert loaded.problem.startswith(f"{path}: what it says of ")
        assert "\n" not in loaded.problem


def test_a_rewind_tells_what_it_cannot_keep(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(orjson.dumps(WHOLE | {"model": 5}))

    problem = turn_back(path)

    assert problem is not None
    assert "the model" in problem
    kept = load(path)
    assert kept.problem is None
    assert (kept.state.permission_mode, kept.state.loaded) == ("acceptEdits", ("WebFetch",))
    assert (kept.state.todos, kept.state.reads) == ((), {})
    assert kept.state.tracking == NEVER_COMPACTED
