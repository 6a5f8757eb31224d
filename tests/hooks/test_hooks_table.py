"""docs/hooks.md promises an outcome for whatever a hook does at an event: every cell is run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest

from interlock.errors import SettingsError
from interlock.hooks import Event
from tests.hooks.support import bench, commands

DOCS = Path(__file__).parents[2] / "docs" / "hooks.md"


def table() -> tuple[list[list[Event]], dict[str, list[str]]]:
    """The events of each column, and the cells of each row."""
    lines = DOCS.read_text().split("## Outcomes")[1].splitlines()
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines
        if line.startswith("|")
    ]
    head, _, *body = rows[: next(at for at, line in enumerate(rows) if "when" in line)]
    columns = [[Event(name) for name in cell.split(", ")] for cell in head[1:]]
    return columns, {row[0]: row[1:] for row in body}


COLUMNS, ROWS = table()


def says(event: Event, **fields: Any) -> str:
    return f"echo {quoted(orjson.dumps(fields).decode())}"


def quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def decides(event: Event, word: str) -> str:
    specific: dict[str, Any] = {"hookEventName": event.value, "permissionDecision": word}
    if event is Event.PERMISSION_REQUEST:
        specific = {"hookEventName": event.value, "decision": {"behavior": word}}
    return says(event, hookSpecificOutput=specific)


def entry(row: str, event: Event) -> dict[str, Any]:
    """The settings' entry of a hook that does what the row says."""
    context = {"hookEventName": event.value, "additionalContext": "told"}
    line, _, setting = row.partition(", `onFailure` is ")
    lines = {
        "exits 0 and prints nothing": "cat >/dev/null",
        "exits 0 and prints text": "echo text",
        "exits 0 and prints 5 MB of text": "yes | head -c 5000000",
        "exits 0 and never reads its input": "exec 0<&-; true",
        "says `{}`": "echo '{}'",
        "says `additionalContext`": says(event, hookSpecificOutput=context),
        "says allow": decides(event, "allow"),
        "says ask": decides(event, "ask"),
        "says deny": decides(event, "deny"),
        "says `decision: block`": says(event, decision="block", reason="why"),
        "says `continue: false`": says(event, **{"continue": False, "stopReason": "why"}),
        "exits 2": "echo why >&2; exit 2",
        "exits 2 and says allow": f"{decides(event, 'allow')}; exit 2",
        "exits 1": "echo denied >&2; exit 1",
        "exits 1 and says allow": f"{decides(event, 'allow')}; exit 1",
        "exits 1 and says deny": f"{decides(event, 'deny')}; exit 1",
        "does not exist": "./no-such-hook.sh",
        "is over its time limit": "sleep 60",
        "prints half a JSON object": """echo '{"decision": "blo'""",
        "prints text and then JSON": """echo hello; echo '{"decision": "block"}'""",
        "prints JSON behind a byte order mark": r"""printf '\xef\xbb\xbf{"decision": "block"}'""",
        'prints a list: `[{"decision": "block"}]`': """echo '[{"decision": "block"}]'""",
        'prints another JSON value: `"block"`, `true`, `0`': """echo '"block"'""",
        "says `decision` twice": """echo '{"decision": "block", "decision": "approve"}'""",
        "says a value that cannot be": says(event, decision="perhaps"),
    }
    found: dict[str, Any] = {"command": lines[line], "timeout": 20}
    if line == "is over its time limit":
        found["timeout"] = 0.2
    if setting:
        found["onFailure"] = setting.strip("`")
    return found


@pytest.mark.parametrize("row", ROWS)
async def test_each_outcome_is_as_documented(row: str, tmp_path: Path) -> None:
    wanted = {
        event.value: cell
        for events, cell in zip(COLUMNS, ROWS[row], strict=True)
        for event in events
    }
    found: dict[str, str] = {}

    async def run(event: Event) -> None:
        try:
            hooks = commands(entry(row, event), event=event.value)
        except SettingsError:
            found[event.value] = "refused"
            return
        async with bench(tmp_path, hooks) as at:
            said = await at.ask(event, None, prompt="hello")
        (word,) = said.words
        found[event.value] = word.effect.value

    async with anyio.create_task_group() as tasks:
        for event in wanted:
            tasks.start_soon(run, Event(event))

    assert found == wanted


def test_the_table_has_a_column_for_every_event() -> None:
    assert {event for events in COLUMNS for event in events} == set(Event)
    assert {len(cells) for cells in ROWS.values()} == {len(COLUMNS)}
