"""Plugins as people write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
from attrs import frozen

from tests.skills.writing import command, skill


@frozen
class Written:
    """A plugin's folder, with what is put into it."""

    folder: Path

    def file(self, name: str, content: str | bytes = "") -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def json(self, name: str, content: Any) -> Path:
        return self.file(name, orjson.dumps(content))

    def manifest(self, **fields: Any) -> Path:
        return self.json(".claude-plugin/plugin.json", fields)

    def command(self, name: str, text: str = "Do it.", /, **fields: str) -> Path:
        return command(self.folder, name, text, **fields)

    def skill(self, name: str, text: str = "Do it.", /, **fields: str) -> Path:
        return skill(self.folder, name, text, **fields)

    def agent(self, name: str, text: str = "You work.", /, **fields: str) -> Path:
        lines = "".join(f"{key}: {value}\n" for key, value in fields.items())
        return self.file(f"agents/{name}.md", f"---\n{lines}---\n{text}\n")

    def hooks(self, **events: Any) -> Path:
        return self.json("hooks/hooks.json", {"description": "some", "hooks": events})

    def servers(self, **servers: Any) -> Path:
        return self.json(".mcp.json", {"mcpServers": servers})


def plugin(folder: Path) -> Written:
    folder.mkdir(parents=True, exist_ok=True)
    return Written(folder)


def runs(command: str, **more: Any) -> dict[str, Any]:
    """A group of one hook that runs a command."""
    return {"hooks": [{"type": "command", "command": command}], **more}
