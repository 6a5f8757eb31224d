"""Real servers: of the dev group, and others that are installed once into the user's cache."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_INSTALL_S = 120
_NPM = ("everything", "filesystem", "memory")
NPM_VERSION = "2026.8.31"
SQLITE_VERSION = "2025.4.25"
CONFORMANCE_VERSION = "0.1.16"


def cache() -> Path:
    """Where what is installed stays from run to run."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "interlock-tests"


def script(name: str) -> str:
    """A program of this interpreter's own packages, or the reason to skip."""
    path = Path(sysconfig.get_path("scripts")) / name
    if not path.exists():
        pytest.skip(f"{name} is not installed (dependency group dev)")
    return str(path)


def sqlite_server() -> str:
    """The sqlite server: it needs an older mcp, so it has an environment of its own."""

    def install(folder: Path) -> None:
        venv.create(folder, with_pip=True)
        packages = [f"mcp-server-sqlite=={SQLITE_VERSION}", "mcp<2"]
        _run([str(folder / "bin" / "pip"), "install", "-q", *packages])

    return str(
        _kept(f"sqlite-{SQLITE_VERSION}-{sys.version_info[1]}", install) / "bin/mcp-server-sqlite"
    )


def npm_server(name: str) -> list[str]:
    """The command of one of the reference servers that need node."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("node and npm are not here")

    def install(folder: Path) -> None:
        packages = [f"@modelcontextprotocol/server-{each}@{NPM_VERSION}" for each in _NPM]
        flags = ["--no-audit", "--no-fund", "--prefix", str(folder)]
        _run([npm, "install", *flags, *packages])

    folder = _kept(f"npm-{NPM_VERSION}", install)
    main = folder / "node_modules" / "@modelcontextprotocol" / f"server-{name}" / "dist/index.js"
    return [node, str(main)]


def conformance_suite(npm: str | None) -> Path:
    """The program of the conformance suite."""
    if npm is None:
        pytest.skip("npm is not here")

    def install(folder: Path) -> None:
        package = f"@modelcontextprotocol/conformance@{CONFORMANCE_VERSION}"
        _run([npm, "install", "--no-audit", "--no-fund", "--prefix", str(folder), package])

    folder = _kept(f"conformance-{CONFORMANCE_VERSION}", install)
    return folder / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"


def _kept(name: str, install: Callable[[Path], None]) -> Path:
    """The folder with what `install` puts there, once for all processes; a failure skips."""
    folder = cache() / name
    with _alone(cache()):
        if (folder / ".whole").exists():
            return folder
        shutil.rmtree(folder, ignore_errors=True)
        try:
            install(folder)
        except (OSError, subprocess.SubprocessError) as error:
            shutil.rmtree(folder, ignore_errors=True)
            pytest.skip(f"{name} cannot be installed here: {error}")
        (folder / ".whole").touch()
    return folder


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=_INSTALL_S)
