"""Whatever the files of a plugin hold: nothing is raised, and each problem is one line that says
where."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from interlock.plugged import plugged
from interlock.plugins import read_plugins
from tests.plugins.writing import Written, plugin

FILES = (".claude-plugin/plugin.json", "hooks/hooks.json", ".mcp.json")
FIELDS = ("name", "version", "description", "commands", "agents", "skills", "hooks", "mcpServers")
EVENTS = ("PreToolUse", "Stop", "Nothing", "hooks", "mcpServers", "description")

_words = st.text(max_size=12) | st.sampled_from(["./commands", "..", "/", "./", "a", "\0", "."])
_json = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | _words,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(_words | st.sampled_from(EVENTS), inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["matcher", "hooks", "type", "command", "url", "args", "env"]), inner
        )
    ),
    max_leaves=8,
)


@contextmanager
def demo() -> Iterator[Written]:
    with tempfile.TemporaryDirectory() as folder:
        written = plugin(Path(folder) / "demo")
        written.command("greet")
        written.agent("helper", name="x", description="helps")
        yield written


def insist_on_lines(written: Written) -> None:
    """Read and join it all; every problem names its place, in one line."""
    found = plugged(read_plugins([written.folder]), {})

    assert found.plugins is not None
    for problem in found.plugins.problems:
        assert len(problem.line.splitlines()) == 1, problem
        assert str(written.folder) in problem.line, problem
    if found.plugins.loaded and found.plugins.loaded[0].commands:
        assert any(skill.name.endswith(":greet") for skill in found.skills)


@pytest.mark.parametrize("name", FILES)
@given(content=st.binary(max_size=60) | _json.map(str).map(str.encode))
def test_bytes_of_any_kind_in_a_file(name: str, content: bytes) -> None:
    with demo() as written:
        written.file(name, content)

        insist_on_lines(written)


@given(fields=st.dictionaries(st.sampled_from(FIELDS), _json))
def test_any_value_in_any_field_of_a_manifest(fields: dict[str, Any]) -> None:
    with demo() as written:
        written.manifest(**fields)

        insist_on_lines(written)


@given(hooks=_json, servers=_json)
def test_any_json_as_hooks_and_as_servers(hooks: Any, servers: Any) -> None:
    with demo() as written:
        written.json("hooks/hooks.json", hooks)
        written.json(".mcp.json", servers)

        insist_on_lines(written)


@given(text=st.binary(max_size=80))
def test_any_bytes_as_an_agent_a_skill_or_a_command(text: bytes) -> None:
    with demo() as written:
        written.file("agents/odd.md", text)
        written.file("skills/odd/SKILL.md", text)
        written.file("commands/odd.md", text)

        insist_on_lines(written)
