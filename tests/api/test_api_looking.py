"""What can be looked at without an agent: sessions on disk, settings, permissions, a run's way."""

from __future__ import annotations

from pathlib import Path

import pytest

import interlock
from interlock import AgentOptions, Client, Sessions
from interlock.scripted import reply
from interlock.testing import Scene, Way, scene


async def talked(place: Scene, *prompts: str) -> str:
    """A session in which these were said; its id."""
    async with Client(place.options()) as client:
        for prompt in prompts:
            await client.run(prompt)
        return client.session_id


def on_disk(place: Scene) -> Sessions:
    return Sessions(str(place.work), str(place.home))  # a path may be text


async def test_sessions_are_listed_newest_first_and_found_by_what_is_known_of_them(
    tmp_path: Path,
) -> None:
    async with scene([reply("a"), reply("b")], tmp_path) as place:
        first, second = await talked(place, "plan the move"), await talked(place, "plan the party")
        sessions = on_disk(place)

    assert [one.session_id for one in sessions] == [second, first]
    assert sessions.find("move").session_id == sessions.find(first[:13]).session_id == first
    assert {one.session_id for one in sessions.everywhere()} == {first, second}
    with pytest.raises(interlock.SeveralSessions):
        sessions.find("plan")
    with pytest.raises(interlock.SessionNotFound, match="no session here is 'zork'"):
        sessions.messages("zork")


async def test_what_was_said_is_read_up_to_any_message(tmp_path: Path) -> None:
    async with scene([reply("a"), reply("b")], tmp_path) as place:
        one = await talked(place, "1", "2")
        sessions = on_disk(place)

    messages = sessions.messages(one)
    assert [each.text for each in messages] == ["1", "a", "2", "b"]
    assert sessions.messages(one, at=messages[1].id) == messages[:2]
    with pytest.raises(interlock.TranscriptError, match="has no message zork"):
        sessions.messages(one, at="zork")


async def test_a_name_and_a_tag_are_given_and_a_tag_is_taken_away(tmp_path: Path) -> None:
    async with scene([reply("a")], tmp_path) as place:
        one = await talked(place, "1")
        sessions = on_disk(place)

    sessions.rename(one, "the party")
    sessions.tag(one, "private")
    found = sessions.find("the party")
    assert (found.session_id, found.name, found.tag) == (one, "the party", "private")

    sessions.tag(one, None)
    assert sessions.find(one).tag is None
    with pytest.raises(interlock.UsageError, match="a session's tag must hold a word"):
        sessions.tag(one, " ")


async def test_a_branch_stands_under_what_it_branched_off_from(tmp_path: Path) -> None:
    async with scene([reply("a"), reply("b"), reply("c")], tmp_path) as place:
        async with Client(place.options()) as client:
            await client.run("1")
            async with client.fork() as other:
                await other.run("2")
        await talked(place, "3")
        sessions = on_disk(place)

    (root,) = sessions.tree(other.session_id)
    assert root.session.session_id == client.session_id
    assert [one.session.session_id for one in root.branches] == [other.session_id]
    assert len(sessions.tree()) == 2


async def test_a_session_is_deleted_but_not_while_it_is_open(tmp_path: Path) -> None:
    async with scene([reply("a")], tmp_path) as place:
        sessions = on_disk(place)
        async with Client(place.options()) as client:
            await client.run("1")
            with pytest.raises(interlock.SessionBusy):
                sessions.delete(client.session_id)

        sessions.delete(client.session_id)

    assert list(sessions) == []
    assert not client.transcript.exists()


def test_a_setting_is_told_with_where_it_comes_from(tmp_path: Path) -> None:
    file = tmp_path / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text('{\n  "model": "of-the-project",\n  "env": {"TOKEN": "sesame"}\n}\n')
    options = AgentOptions(cwd=tmp_path, home=tmp_path / "home", setting_sources="project")

    settings = {one.name: one for one in interlock.config(options)}

    assert settings["model"].value == "of-the-project"
    assert (settings["model"].origin.source, settings["model"].origin.line) == ("project", 2)
    assert "sesame" not in str(settings)


def test_settings_that_cannot_be_used_are_an_error_with_file_and_line(tmp_path: Path) -> None:
    options = AgentOptions(cwd=tmp_path, home=tmp_path, settings={"permissions": 5})

    with pytest.raises(interlock.ConfigurationError, match=r"--settings:1:"):
        interlock.config(options)


@pytest.mark.parametrize(
    ("call", "verdict"),
    [
        ("Bash(git log)", "allow"),
        ("Bash(git push)", "deny"),
        ("Write(a.txt)", "ask"),
        ("Read(a)", "allow"),
    ],
)
def test_what_would_become_of_a_call_is_told_without_making_it(
    tmp_path: Path, call: str, verdict: str
) -> None:
    options = AgentOptions(
        cwd=tmp_path,
        home=tmp_path,
        setting_sources=(),
        allowed_tools="Bash(git:*)",
        disallowed_tools="Bash(git push:*)",
    )

    decision = interlock.decide(call, options)

    assert decision.verdict == verdict
    assert decision.reason


async def test_a_run_explains_itself_whole_or_by_the_step(tmp_path: Path) -> None:
    async with scene([reply("hi")], tmp_path) as place:
        ran = await place.run("hi")

    way = Way.of(ran.result)
    assert "completed" in way.explain()
    assert "preprocess" in way.explain(0)
    with pytest.raises(interlock.UsageError, match="the run has no step 99; it has"):
        way.explain(99)
