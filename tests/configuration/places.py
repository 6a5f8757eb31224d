"""A user, a project and a managed folder with settings files, as `load` finds them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from attrs import frozen

from interlock.configuration import CHOSEN, Configuration, Flags, Source, load
from interlock.configured import Configured, configured
from interlock.errors import ConfigurationError
from interlock.options import Options
from phases.world.messages import Json

NAMES = {
    Source.MANAGED: "etc/managed-settings.json",
    Source.LOCAL: "u/project/.claude/settings.local.json",
    Source.PROJECT: "u/project/.claude/settings.json",
    Source.USER: "u/.interlock/settings.json",
}
ALL = Flags(sources=CHOSEN)


@frozen
class Place:
    """`root/u` is the user's folder, `root/u/project` a git repository in it."""

    root: Path

    @property
    def user(self) -> Path:
        return self.root / "u"

    @property
    def project(self) -> Path:
        return self.user / "project"

    @property
    def home(self) -> Path:
        return self.user / ".interlock"

    def path(self, source: Source) -> Path:
        return self.root / NAMES[source]

    def write(self, at: Source | Path, content: Json) -> Path:
        """Settings in the file of a source, or at a path; text and bytes as they are."""
        path = self.path(at) if isinstance(at, Source) else at
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content if isinstance(content, str) else json.dumps(content, indent=1))
        return path

    def environ(self, environ: Mapping[str, str]) -> dict[str, str]:
        return {"HOME": str(self.user), **environ}

    def load(
        self,
        flags: Flags = ALL,
        environ: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> Configuration:
        return load(
            cwd or self.project,
            self.home,
            flags=flags,
            environ=self.environ(environ or {}),
            managed=[self.root / "etc"],
        )

    def configured(
        self,
        flags: Flags = ALL,
        environ: Mapping[str, str] | None = None,
        options: Options | None = None,
    ) -> Configured:
        return configured(
            options or Options(cwd=self.project),
            flags,
            self.environ(environ or {}),
            managed=[self.root / "etc"],
        )

    def refused(self, flags: Flags = ALL) -> tuple[str, ...]:
        """What is said when these settings are refused."""
        with pytest.raises(ConfigurationError) as caught:
            self.load(flags)
        return caught.value.problems


def made(root: Path) -> Place:
    place = Place(root)
    (place.project / ".git").mkdir(parents=True)
    return place
