"""Which session is meant: by id, by name, by a part of the title."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import orjson
import pytest

from interlock.errors import SessionNotFound
from interlock.home import project_key
from interlock.sessions import newest_session, session_named, sessions_in
from interlock.spending import cost_of
from tests.sessions.conversations import uuid


def said(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "user", "uuid": uuid(1), "message": {"role": "user", "content": words}} | more


class Shelf:
    """Sessions of one working folder, each newer than those before it."""

    def __init__(self, folder: Path) -> None:
        self.home, self.cwd = folder / "home", folder / "work"
        self.count = 0

    def put(self, *lines: dict[str, Any], cwd: Path | None = None, name: str | None = None) -> str:
        self.count += 1
        session = name or uuid(self.count << 32)
        path = self.home / "projects" / project_key(cwd or self.cwd) / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
        os.utime(path, (self.count, self.count))
        return session

    def named(self, name: str) -> str:
        return session_named(self.home, self.cwd, name).session_id


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def test_the_newest_is_the_one_written_last_in_this_folder(shelf: Shelf) -> None:
    shelf.put(said("old"))
    newest = shelf.put(said("new"))
    shelf.put(said("elsewhere"), cwd=shelf.home)
    shelf.put(said("a sub-agent"), name="agent-7")
    shelf.put(said("a side chain", isSidechain=True))
    shelf.put()  # nothing was said in it

    assert newest_session(shelf.home, shelf.cwd).session_id == newest


def test_a_session_is_found_by_id_title_name_or_what_was_said(shelf: Shelf) -> None:
    fixed = shelf.put(said("fix the login page"), {"type": "last-prompt", "lastPrompt": "thanks"})
    named = shelf.put(said("hello"), {"type": "custom-title", "customTitle": "Release 2"})

    assert shelf.named(fixed) == fixed
    assert shelf.named("LOGIN") == shelf.named("thanks") == fixed
    assert shelf.named("release 2") == shelf.named("hello") == named
    assert [one.title for one in sessions_in(shelf.home, shelf.cwd)] == [
        *("Release 2", "fix the login page")
    ]


def test_a_whole_title_goes_before_a_part_of_one(shelf: Shelf) -> None:
    exact = shelf.put(said("deploy"))
    shelf.put(said("deploy the other thing"))

    assert shelf.named("deploy") == exact


def test_what_fits_several_or_none_is_an_error_that_lists_them(shelf: Shelf) -> None:
    one, two = shelf.put(said("fix the login")), shelf.put(said("fix the logout"))

    with pytest.raises(SessionNotFound, match=f"fits 2 sessions: {two} .*{one} "):
        shelf.named("fix")
    with pytest.raises(SessionNotFound, match=f"is 'paint'; the newest are: {two}"):
        shelf.named("paint")


def test_a_session_of_another_folder_is_told_where_it_belongs(shelf: Shelf) -> None:
    other = shelf.put(said("hi", cwd="/somewhere"), cwd=shelf.home)

    with pytest.raises(SessionNotFound, match="belongs to /somewhere"):
        shelf.named(other)
    with pytest.raises(SessionNotFound, match="no session to continue in this folder"):
        newest_session(shelf.home, shelf.cwd)


def test_of_a_large_file_only_the_ends_are_read(shelf: Shelf) -> None:
    middle = [said("m" * 1_000) for _ in range(500)]
    found = shelf.put(said("the first"), *middle, {"type": "ai-title", "aiTitle": "The last"})

    (one,) = sessions_in(shelf.home, shelf.cwd)

    assert (one.session_id, one.words) == (found, ("The last", "the first"))


def test_what_a_list_tells_stands_at_the_ends_of_the_file(shelf: Shelf) -> None:
    origin = {"sessionId": "other", "messageUuid": uuid(9)}
    shelf.put(
        said("first", timestamp="2026-01-01T00:00:00.000Z", cwd="/w", forkedFrom=origin),
        said("noted", isMeta=True),
        said("[Request interrupted by user]"),
        said("second", gitBranch="main"),
        {"type": "tag", "tag": "old"},
        {"type": "tag", "tag": "new"},
        {"type": "cost-state", "totalCostUSD": 0.5},
    )

    (one,) = sessions_in(shelf.home, shelf.cwd)

    assert (one.first_prompt, one.prompts, one.name) == ("first", 2, None)
    assert (one.began, one.cwd, one.git_branch) == ("2026-01-01T00:00:00.000Z", "/w", "main")
    assert (one.tag, one.forked_from) == ("new", "other")
    assert cost_of(one) == 0.5


def test_how_many_prompts_a_large_session_has_is_told_by_its_runs_or_not_at_all(
    shelf: Shelf,
) -> None:
    middle = [said("m" * 1_000) for _ in range(500)]
    ours, foreign = shelf.put(said("one"), *middle), shelf.put(said("two"), *middle)
    runs = shelf.home / "projects" / project_key(shelf.cwd) / ours / "runs"
    runs.mkdir(parents=True)
    for name in ("a.trace.jsonl", "a.calls.jsonl", "b.trace.jsonl"):
        (runs / name).touch()

    told = {one.session_id: one.prompts for one in sessions_in(shelf.home, shelf.cwd)}

    assert told == {ours: 2, foreign: None}
