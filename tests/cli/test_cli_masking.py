"""`config show` is pasted into bug reports: no password may stand in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from interlock.cli.config import as_json, shown
from interlock.configuration import CHOSEN, Flags
from interlock.configured import Configured, configured
from interlock.masking import masked, masked_variable
from interlock.options import Options


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("DATABASE_URL", "postgres://app:hush@db:5432/x?ssl=1", "postgres://app:***@db:5432/x?ssl=1"),
        ("DATABASE_URL", "postgres://app:hu/sh@db/x", "postgres://app:***@db/x"),
        ("DATABASE_URL", "postgres://app:hu@sh@db/x", "postgres://app:***@db/x"),
        ("REDIS", "redis://:hush@cache", "redis://:***@cache"),
        ("MONGO", "mongodb+srv://a:hush@c.example", "mongodb+srv://a:***@c.example"),
        ("MIRROR", "https://hush@github.com/a/b", "https://***@github.com/a/b"),
        ("REPOSITORY", "ssh://git@github.com/a/b", "ssh://git@github.com/a/b"),
        ("JDBC", "jdbc:mysql://db/x?user=a&password=hush&x=1", "jdbc:mysql://db/x?user=a&password=***&x=1"),
        ("ORDERS_DSN", "app:hush@tcp(db:3306)/orders", "app:***@tcp(db:3306)/orders"),
        ("ORDERS_DSN", "host=db password='hu sh' user=a", "host=db password=*** user=a"),
        ("SQL", "Server=db;Pwd=hush;User=a", "Server=db;Pwd=***;User=a"),
        ("CALL", 'curl -H "Authorization: Bearer hush.1"', 'curl -H "Authorization: Bearer ***"'),
        ("MY_TOKEN", "hush", "(set)"),
    ],
)  # fmt: skip
def test_credentials_are_masked_where_they_stand(name: str, value: str, told: str) -> None:
    assert masked_variable(name, value) == told


@pytest.mark.parametrize(
    "value", ["https://example.com:8000/a?b=c", "green", "a:b", "me@example.com", "x=1,y=2", ""]
)
def test_what_holds_none_stays_as_it_is(value: str) -> None:
    assert masked(value) == value


def found(folder: Path, said: Mapping[str, object]) -> Configured:
    (folder / "home").mkdir()
    (folder / "home" / "settings.json").write_text(json.dumps(said))
    whole = {"HOME": str(folder), "INTERLOCK_HOME": str(folder / "home")}
    flags = Flags(sources=CHOSEN)
    return configured(Options(cwd=folder), flags, whole, managed=(), key=False)


def test_none_is_shown_of_any_setting_in_either_form(tmp_path: Path) -> None:
    url = "https://me:hush@example.com/"
    this = found(
        tmp_path,
        {
            "env": {"DATABASE_URL": url, "API_KEY": "hush"},
            "apiKeyHelper": f"curl {url}",
            "permissions": {"allow": [f"Bash(curl {url})"]},
        },
    )

    told = "\n".join(shown(this, origin=True)) + json.dumps(as_json(this))

    assert "hush" not in told
    assert told.count("https://me:***@example.com/") == 6
    assert this.options.environment["DATABASE_URL"] == url
