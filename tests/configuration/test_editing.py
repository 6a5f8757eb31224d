"""A rule put into a file or taken out of it: every other byte stays as it was."""

from __future__ import annotations

import json
import threading
from itertools import takewhile
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from interlock.configuration import Source
from interlock.configuration.editing import (
    Behaviour,
    add_rule,
    added,
    destination,
    remove_rule,
    removed,
)
from interlock.configuration.files import SettingsFile
from interlock.errors import ConfigurationError
from phases.world.messages import Json
from tests.configuration.places import Place

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
RULES = st.lists(st.text('ab(é"\\', min_size=1, max_size=3), max_size=3)
VALUES: st.SearchStrategy[Json] = st.sampled_from([1, "é", [], [True], {"a": [{}]}, {}])
OTHERS = st.dictionaries(NAMES, VALUES, max_size=3)
SPACES = st.sampled_from(["", " ", "\n", "\n\t", "\r\n  "])


@st.composite
def settings(draw: st.DrawFn) -> Json:
    whole = {name: value for name, value in draw(OTHERS).items() if name != "permissions"}
    if draw(st.booleans()):
        behaviours = draw(st.sets(st.sampled_from(list(Behaviour))))
        whole["permissions"] = {str(each): draw(RULES) for each in behaviours}
    return whole


@st.composite
def written(draw: st.DrawFn, value: Json) -> str:
    """The value as JSON, spaced as nobody would."""

    def space() -> str:
        return draw(SPACES)

    def text(value: Json) -> str:
        if isinstance(value, dict):
            inner = [
                f"{space()}{json.dumps(name)}{space()}:{space()}{text(each)}{space()}"
                for name, each in value.items()
            ]
            return "{" + (",".join(inner) or space()) + "}"
        if isinstance(value, list):
            return "[" + (",".join(f"{space()}{text(e)}{space()}" for e in value) or space()) + "]"
        return json.dumps(value)

    return space() + text(value) + space()


def with_rule(value: Json, behaviour: Behaviour, rule: str) -> Json:
    permissions = value.get("permissions", {})
    rules = permissions.get(behaviour.value, [])
    rules = rules if rule in rules else [*rules, rule]
    return {**value, "permissions": {**permissions, behaviour.value: rules}}


@given(st.data(), settings(), st.sampled_from(list(Behaviour)), st.sampled_from(["a", "R(é)"]))
def test_adding_changes_nothing_but_the_list(
    data: st.DataObject, value: Json, behaviour: Behaviour, rule: str
) -> None:
    text = data.draw(written(value))

    after = added(text, behaviour, rule)

    assert json.loads(after) == with_rule(value, behaviour, rule)
    assert only_grown(text, after)


def only_grown(before: str, after: str) -> bool:
    """Whether something was put in at one place, where at most blanks stood."""
    start = alike(before, after)
    end = alike(before[start:][::-1], after[start:][::-1])
    return not before[start : len(before) - end].strip()


def alike(one: str, other: str) -> int:
    """How many letters at the beginning are the same."""
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))))


@given(st.data(), settings(), st.sampled_from(list(Behaviour)))
def test_what_is_added_and_taken_out_again_leaves_the_other_settings(
    data: st.DataObject, value: Json, behaviour: Behaviour
) -> None:
    text = data.draw(written(value))
    assume(json.dumps("new") not in text)

    after = removed(added(text, behaviour, "new"), behaviour, "new")

    permissions = value.get("permissions", {})
    kept = {**permissions, behaviour.value: permissions.get(behaviour.value, [])}
    assert json.loads(after) == {**value, "permissions": kept}


@given(st.data(), settings(), st.sampled_from(list(Behaviour)))
def test_every_copy_of_a_rule_is_taken_out(
    data: st.DataObject, value: Json, behaviour: Behaviour
) -> None:
    text = data.draw(written(value))
    rules = value.get("permissions", {}).get(behaviour.value, [])
    rule = data.draw(st.sampled_from(rules or ["a"]))

    after = json.loads(removed(text, behaviour, rule))

    left = after.get("permissions", {}).get(behaviour.value, [])
    assert left == [each for each in rules if each != rule]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", '{\n  "permissions": {\n    "allow": [\n      "Read"\n    ]\n  }\n}\n'),
        ("{}", '{"permissions": {"allow": ["Read"]}}'),
        (
            '{\n  "env": {}\n}\n',
            '{\n  "env": {},\n  "permissions": {\n    "allow": [\n      "Read"\n    ]\n  }\n}\n',
        ),
        (
            '{"permissions": {"allow": ["Edit"]}}\n',
            '{"permissions": {"allow": ["Edit", "Read"]}}\n',
        ),
        (
            '{\n\t"permissions": {\n\t\t"allow": [\n\t\t\t"Edit"\n\t\t]\n\t}\n}',
            '{\n\t"permissions": {\n\t\t"allow": [\n\t\t\t"Edit",\n\t\t\t"Read"\n\t\t]\n\t}\n}',
        ),
        (
            '{\r\n  "permissions": {\r\n    "allow": []\r\n  }\r\n}',
            '{\r\n  "permissions": {\r\n    "allow": [\r\n      "Read"\r\n    ]\r\n  }\r\n}',
        ),
    ],
)
def test_a_new_rule_is_written_as_those_around_it(before: str, after: str) -> None:
    assert added(before, Behaviour.ALLOW, "Read") == after


# --- in files ---------------------------------------------------------------------------------


def file_at(path: Path) -> SettingsFile:
    return SettingsFile(source=Source.LOCAL, path=path, shown=path.name, folder=path.parent)


def test_a_rule_is_written_where_the_next_session_finds_it(place: Place) -> None:
    below = place.project / "a"
    below.mkdir()
    environ = place.environ({})
    for source in (Source.USER, Source.PROJECT, Source.LOCAL):
        file = destination(source, below, place.home, environ)
        assert add_rule(file, Behaviour.ALLOW, f"Read({source})")

    found = [(rule.text, rule.origin.source) for rule in place.load(cwd=below).permissions]

    assert found == [
        ("Read(local)", Source.LOCAL),
        ("Read(project)", Source.PROJECT),
        ("Read(user)", Source.USER),
    ]


@pytest.mark.parametrize("source", [Source.MANAGED, Source.FLAGS, Source.ENVIRONMENT])
def test_nothing_is_written_where_only_others_write(place: Place, source: Source) -> None:
    with pytest.raises(ValueError, match="nothing is written"):
        destination(source, place.project, place.home, place.environ({}))


def test_a_rule_that_stands_there_is_not_written_again(tmp_path: Path) -> None:
    file = file_at(tmp_path / "settings.json")

    assert add_rule(file, Behaviour.DENY, "Bash")
    before = file.path.stat()
    assert not add_rule(file, Behaviour.DENY, "Bash")
    assert file.path.stat().st_ino == before.st_ino


def test_a_rule_that_is_not_there_is_not_taken_out(tmp_path: Path) -> None:
    file = file_at(tmp_path / "settings.json")

    assert not remove_rule(file, Behaviour.DENY, "Bash")
    assert not file.path.exists()


def test_mark_mode_and_link_are_kept(tmp_path: Path) -> None:
    target = tmp_path / "dotfiles.json"
    target.write_bytes(b'\xef\xbb\xbf{"permissions": {"deny": ["Bash"]}}')
    target.chmod(0o640)
    (tmp_path / "settings.json").symlink_to(target)
    file = file_at(tmp_path / "settings.json")

    add_rule(file, Behaviour.DENY, "Edit")
    remove_rule(file, Behaviour.DENY, "Bash")

    assert file.path.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o640
    assert target.read_bytes() == b'\xef\xbb\xbf{"permissions": {"deny": ["Edit"]}}'
    assert [each.name for each in tmp_path.iterdir() if each.name.startswith(".")] == []


@pytest.mark.parametrize("text", ["{", '{"permissions": {"deny": "Bash"}}', '{"permissons": {}}'])
def test_a_broken_file_is_refused_and_left_as_it_is(tmp_path: Path, text: str) -> None:
    file = file_at(tmp_path / "settings.json")
    file.path.write_text(text)

    with pytest.raises(ConfigurationError):
        add_rule(file, Behaviour.ALLOW, "Read")

    assert file.path.read_text() == text


def test_sessions_that_write_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    file = file_at(tmp_path / "settings.json")

    def write(number: int) -> None:
        for each in range(5):
            add_rule(file, Behaviour.ALLOW, f"Bash(echo {number} {each})")

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(json.loads(file.path.read_text())["permissions"]["allow"]) == 20
