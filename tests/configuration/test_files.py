"""Where settings files are looked for, and what happens to one that cannot be read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from interlock.configuration import CHOSEN, Flags, Source
from interlock.configuration.files import LARGEST
from tests.configuration.places import Place

DENY = {"permissions": {"deny": ["Read(secret)"]}}


def test_without_any_file_nothing_is_set(place: Place) -> None:
    found = place.load()

    assert (found.permissions, found.warnings) == ((), ())
    assert not any(there for _, there in found.files)


def test_the_places_are_told_highest_first(place: Place) -> None:
    shown = [(str(file.source), file.shown) for file, _ in place.load().files]

    assert shown == [
        ("managed", str(place.root / "etc" / "managed-settings.json")),
        ("local", ".interlock/settings.local.json"),
        ("local", ".claude/settings.local.json"),
        ("project", ".interlock/settings.json"),
        ("project", ".claude/settings.json"),
        ("user", "~/.interlock/settings.json"),
    ]


@pytest.mark.parametrize("source", [Source.PROJECT, Source.LOCAL])
def test_a_session_in_a_subfolder_is_bound_by_the_files_at_the_root(
    place: Place, source: Source
) -> None:
    place.write(source, DENY)
    below = place.project / "a" / "b"
    below.mkdir(parents=True)

    found = place.load(cwd=below)

    (rule,) = found.permissions
    assert (rule.behaviour, rule.text, rule.folder) == ("deny", "Read(secret)", place.project)


def test_of_two_folders_of_a_project_the_nearer_counts(place: Place) -> None:
    below = place.project / "a"
    place.write(Source.PROJECT, {"model": "of-the-root", **DENY})
    place.write(below / ".claude" / "settings.json", {"model": "of-a"})

    found = place.load(cwd=below)

    assert found.model is not None
    assert found.model.value == "of-a"
    assert len(found.permissions) == 1  # and lists add up


def test_ours_goes_over_the_one_that_others_read_too(place: Place) -> None:
    place.write(Source.PROJECT, {"model": "theirs"})
    place.write(place.project / ".interlock" / "settings.json", {"model": "ours"})

    found = place.load()

    assert found.model is not None
    assert found.model.value == "ours"


def test_a_home_folder_under_git_is_no_project(place: Place) -> None:
    (place.user / ".git").mkdir()
    (place.project / ".git").rmdir()
    place.write(place.user / ".claude" / "settings.json", DENY)

    assert place.load().permissions == ()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can act for somebody else")
def test_a_repository_that_somebody_else_put_above_the_working_folder_is_not_ours(
    place: Place,
) -> None:
    place.write(Source.PROJECT, DENY)
    below = place.project / "a"
    below.mkdir()
    os.chown(place.project / ".git", 12345, -1)

    found = place.load(cwd=below)

    assert found.permissions == ()
    assert found.warnings == (
        f"{place.path(Source.PROJECT)}: not read, it lies above the project",
    )


def test_in_the_home_folder_the_users_file_is_the_users_once(place: Place) -> None:
    place.write(Source.USER, DENY)

    (rule,) = place.load(cwd=place.user).permissions

    assert rule.origin.source is Source.USER


def test_settings_above_the_project_bind_nothing_and_that_is_said(place: Place) -> None:
    above = place.user / "work"
    project = above / "project"
    (project / ".git").mkdir(parents=True)
    path = place.write(above / ".claude" / "settings.json", DENY)

    found = place.load(cwd=project)

    assert found.permissions == ()
    assert found.warnings == (f"{path}: not read, it lies above the project",)


@pytest.mark.parametrize("source", [Source.USER, Source.PROJECT, Source.LOCAL])
def test_a_source_that_is_not_chosen_is_not_even_looked_at(place: Place, source: Source) -> None:
    place.write(source, "no JSON")
    others = tuple(each for each in CHOSEN if each is not source)

    assert place.load(Flags(sources=others)).permissions == ()


def test_managed_settings_are_read_whatever_is_chosen(place: Place) -> None:
    place.write(Source.MANAGED, DENY)

    assert len(place.load(Flags()).permissions) == 1


def test_managed_settings_may_come_in_parts_of_which_later_names_count_more(place: Place) -> None:
    parts = place.root / "etc" / "managed-settings.d"
    place.write(Source.MANAGED, {"model": "base", **DENY})
    place.write(parts / "10-first.json", {"model": "first", **DENY})
    place.write(parts / "20-second.json", {"model": "second"})
    place.write(parts / "notes.txt", "no JSON")
    place.write(parts / ".hidden.json", "no JSON")

    found = place.load()

    assert found.model is not None
    assert found.model.value == "second"
    assert len(found.permissions) == 2


def test_settings_may_be_given_as_a_file_or_as_json(place: Place) -> None:
    path = place.write(place.root / "mine.json", {"model": "m"})

    by_file = place.load(Flags(settings=str(path)))
    by_text = place.load(Flags(settings=' {"model": "m"}'))

    assert by_file.model is not None
    assert by_text.model is not None
    assert str(by_file.model.origin) == f"command line, {path}:2"
    assert str(by_text.model.origin) == "command line, --settings:1"


@pytest.mark.parametrize("given", ["", "no-such-file.json", "[1]"])
def test_a_file_that_is_asked_for_and_not_there_is_refused(place: Place, given: str) -> None:
    assert place.refused(Flags(settings=given)) == (
        f"--settings: no such file: {given!r}; name one, or write {{…}}",
    )


# --- one file ---------------------------------------------------------------------------------


@pytest.mark.parametrize("content", ["", " \n", b"\xef\xbb\xbf", "{}"])
def test_an_empty_file_sets_nothing(place: Place, content: str | bytes) -> None:
    place.write(Source.PROJECT, content)

    assert place.load().permissions == ()


def test_a_byte_order_mark_and_windows_line_ends_change_nothing(place: Place) -> None:
    text = '{\r\n "permissions": {\r\n  "deny": ["Read(a)"]}}'
    place.write(Source.PROJECT, b"\xef\xbb\xbf" + text.encode())

    (rule,) = place.load().permissions

    assert str(rule.origin) == "project settings, .claude/settings.json:3"


def test_a_link_is_followed(place: Place) -> None:
    target = place.write(place.root / "dotfiles" / "settings.json", DENY)
    place.home.mkdir()
    place.path(Source.USER).symlink_to(target)

    assert len(place.load().permissions) == 1


def refusal(place: Place, words: str) -> str:
    (problem,) = place.refused()
    assert problem == f".claude/settings.json{words}"
    return problem


def test_a_link_to_nothing_is_refused_for_what_it_named_may_have_held_rules(
    place: Place,
) -> None:
    path = place.path(Source.PROJECT)
    path.parent.mkdir()
    path.symlink_to("gone.json")

    refusal(place, ": is a link to gone.json, which is not there; mend it")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_is_refused(place: Place) -> None:
    place.write(Source.PROJECT, DENY).chmod(0)

    refusal(
        place,
        ": cannot be read (Permission denied); make it readable, or leave its source out"
        " (--setting-sources)",
    )


def test_a_folder_in_its_place_is_refused(place: Place) -> None:
    place.path(Source.PROJECT).mkdir(parents=True)

    refusal(
        place,
        ": cannot be read (Is a directory); make it readable, or leave its source out"
        " (--setting-sources)",
    )


def test_a_pipe_in_its_place_is_refused_and_not_waited_for(place: Place) -> None:
    path = place.path(Source.PROJECT)
    path.parent.mkdir()
    os.mkfifo(path)

    refusal(place, ": is no regular file; put a file there, or nothing")


def test_a_huge_file_is_refused_before_it_is_parsed(place: Place) -> None:
    place.write(Source.PROJECT, "[" + " " * LARGEST + "]")

    refusal(place, ": is larger than 1 MiB; it can hardly be settings")


def test_bytes_that_are_no_utf_8_are_refused_with_their_place(place: Place) -> None:
    place.write(Source.PROJECT, b'{\n "model": "caf\xe9"}')

    refusal(place, ":2:15: not UTF-8 from here on; save it as UTF-8")


def test_utf_16_is_refused_by_name(place: Place) -> None:
    place.write(Source.PROJECT, "{}".encode("utf-16"))

    refusal(place, ": is UTF-16; save it as UTF-8")


def test_broken_json_is_refused_with_line_column_and_mend(place: Place) -> None:
    place.write(Source.PROJECT, '{\n  "permissions": {\n    "deny": ["Read(a)",]\n  }\n}')

    refusal(place, ":3:23: a comma before ]; take the comma out")


def test_all_files_are_looked_at_before_anything_is_refused(place: Place) -> None:
    place.write(Source.USER, "[")
    place.write(Source.PROJECT, "7")
    place.write(Source.LOCAL, {"model": ""})

    assert len(place.refused()) == 3


def test_a_folder_that_is_a_file_holds_no_settings(place: Place) -> None:
    Path(place.project / ".claude").write_text("")

    assert place.load().permissions == ()
