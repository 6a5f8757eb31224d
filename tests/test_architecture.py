"""Imports run one way, and services are strangers to one another."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

# A package may import those before it, and itself.
LAYERS = ("fsm", "phases.world", "phases", "recovery", "interlock")

# Services below `interlock`: what each may know of the others. Assembly knows all.
STRANGERS = {
    "model": {"errors"},
    "sessions": {"durability", "errors", "home", "records", "regular_files"},
    "context": {"quiet", "regular_files"},
    "memory": {"front_matter", "likeness", "permissions", "regular_files"},  # patterns of paths
    "skills": {"front_matter", "likeness", "regular_files"},
    "prompt": {"options", "context", "children"},  # how context is told to the model
    "permissions": {"options", "summary", "terminal", "visible"},
    "tools": {
        "counted",
        "permissions",
        "children",
        "decoders",
        "errors",
        "fitting",
        "quiet",
    },  # the question and the decision, as types
    "decoders": set[str](),
    # What files held is put back as tools write them: through no link, over nobody's changes.
    "checkpoints": {"errors", "sessions", "tools"},
    # It runs loops: it stands above the services, beside assembly.
    "agents": {
        "counted",
        "json_flag",
        "cooldown",
        "context",
        "drive",
        "errors",
        "front",
        "front_matter",
        "home",
        "hooks",
        "inbox",
        "interrupt",
        "kept",
        "knowledge",
        "ledger",
        "mcp",  # whose tools every agent may be given
        "memory",
        "model",
        "offer",
        "offered",
        "options",
        "permissions",
        "prompt",
        "quiet",
        "recorded",
        "regular_files",
        "running",
        "sandbox",
        "sessions",
        "settings",
        "settled",
        "summing",
        "tally",
        "tools",
        "window",
        "worktrees",
    },
    # Tools of its own, and the processes of servers: ended as those of commands are.
    "mcp": {"counted", "children", "quiet", "regular_files", "tools"},
    # A door: a whole session stands behind it, and whoever drives that in front.
    "control": {
        "agent",
        "agents",
        "configuration",
        "context",
        "errors",
        "home",
        "hooks",
        "inbox",
        "mcp",
        "options",
        "permissions",
        "plugged",
        "prompt",
        "quiet",
        "rewinding",
        "sessions",
        "settings",
        "summary",
        "tools",
    },
    # The question, the decision and a person's answer, and the executor's seam, as types.
    "hooks": {"errors", "permissions", "quiet", "tools"},
    "sandbox": {"errors"},
    # A tool and hooks of its own, made from what was asked for.
    "structured": {
        "counted",
        "json_flag",
        "errors",
        "hooks",
        "options",
        "settings",
        "summary",
        "tools",
    },
    "scripted": set[str](),
    "configuration": {"durability", "errors", "options", "settings"},
    # It runs children for others, and has others run its own: it stands beside agents.
    "remote": {
        "agent",
        "agents",
        "errors",
        "ledger",
        "options",
        "permissions",
        "quiet",
        "settings",
        "tools",
    },
    "worktrees": {"children", "home", "regular_files"},
    # The door for programs, beside the command line's: it opens agents. Nothing below knows it.
    "api": {
        "confined",
        "home",
        "in_force",
        "agent",
        "agents",
        "assembly",
        "configuration",
        "configured",
        "context",
        "endings",
        "errors",
        "fitting",
        "hooks",
        "inbox",
        "mcp",
        "options",
        "permissions",
        "plugins",
        "quiet",
        "rewinding",
        "sandbox",
        "sessions",
        "settings",
        "structured",
        "summary",
        "tools",
    },
    # For tests of agents: it runs the loop by itself, and whole agents as a program does.
    "testing": {
        "machines",
        "counted",
        "api",
        "call_records",
        "context",
        "drive",
        "errors",
        "interrupt",
        "journal",
        "recording",
        "records",
        "scripted",
        "table",
        "tools",
        "sessions",
    },
    # It reads folders, and JSON with its places as settings files have it.
    "plugins": {"configuration", "errors", "regular_files", "visible"},
    # It runs the loop again, and writes the real files: it stands above the other services.
    "recording": {
        "counted",
        "context",
        "drive",
        "errors",
        "home",
        "interrupt",
        "journal",
        "records",
        "sessions",
        "table",
        "window",
    },
}


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module


def modules(folder: str) -> list[Path]:
    found = (ROOT / folder).rglob("*.py")
    return sorted(path for path in found if "demo_repository" not in path.parts)


def layer_of(module: str) -> int | None:
    matches = [n for n, name in enumerate(LAYERS) if f"{module}.".startswith(f"{name}.")]
    return min(matches, default=None)


@pytest.mark.parametrize("package", ["fsm", "phases", "recovery", "interlock"])
def test_imports_point_downwards_only(package: str) -> None:
    for path in modules(package):
        mine = layer_of(".".join(path.relative_to(ROOT).with_suffix("").parts))
        for name in imports_of(path):
            theirs = layer_of(name)
            assert mine is not None
            assert theirs is None or theirs <= mine, f"{path} imports {name}"


def test_a_phase_knows_no_service() -> None:
    for path in [*modules("phases"), *modules("recovery")]:
        assert not any(name.startswith("interlock") for name in imports_of(path))


@pytest.mark.parametrize("service", STRANGERS)
def test_services_are_strangers_to_one_another(service: str) -> None:
    known = STRANGERS[service] | {service}
    for path in modules(f"interlock/{service}"):
        for name in imports_of(path):
            parts = name.split(".")
            if parts[0] == "interlock" and len(parts) > 1:
                assert parts[1] in known, f"{path} imports {name}"


def test_no_file_of_the_product_is_longer_than_a_person_reads() -> None:
    packages = ("fsm", "phases", "recovery", "interlock")
    long = {
        str(path.relative_to(ROOT)): count
        for package in packages
        for path in modules(package)
        if (count := len(path.read_text().splitlines())) > 400
    }

    assert long == {}
