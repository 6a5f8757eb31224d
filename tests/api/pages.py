"""The examples of a page of docs: each is run as a program, and prints what the page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from attrs import frozen

from interlock.scripted import ServerThread
from interlock.scripted.sources import Answers

DOCS = Path(__file__).parents[2] / "docs"
_EXAMPLE = re.compile(
    r"<!-- model: (?P<model>\w+) -->\n```python\n(?P<code>.*?)```\n"
    r"(?:\n```text\n(?P<prints>.*?)```\n)?",
    re.DOTALL,
)
_PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@frozen(kw_only=True)
class Example:
    model: str  # the name of the script that answers it
    code: str
    prints: str | None


def examples(page: str) -> dict[str, Example]:
    """The programs of this page, by the name of what answers them."""
    found = _EXAMPLE.finditer((DOCS / page).read_text())
    return {one["model"]: Example(**one.groupdict()) for one in found}


def python_in(page: str) -> list[str]:
    """Every block of Python on this page."""
    return _PYTHON.findall((DOCS / page).read_text())


def printed(example: Example, answers: Answers, folder: Path) -> str:
    """What the program prints, in a folder of its own."""
    with ServerThread(answers) as server:
        work = folder / "work"
        work.mkdir()
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", example.code],
            cwd=work,
            env={
                **os.environ,
                "ANTHROPIC_API_KEY": "scripted",
                "ANTHROPIC_BASE_URL": server.base_url,
                "INTERLOCK_HOME": str(folder / "home"),
                "PYTHONPATH": str(DOCS.parent),
            },
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert server.verdict() == ()
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout
