"""A folder with the tools in it: real files, real processes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from attrs import define, field

from interlock.tools import FileReads, Output, Tool, ToolContext, ToolError, built_in
from phases.world.limits import Limits
from phases.world.messages import Text


@define
class Place:
    """A work folder and one session's tools."""

    folder: Path
    limits: Limits = field(factory=Limits)
    tools: dict[str, Tool] = field(factory=built_in)
    heard: list[str] = field(factory=list)
    context: ToolContext = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.context = ToolContext(
            cwd=self.folder,
            root=self.folder,
            limits=self.limits,
            reads=FileReads(),
            spill=self.folder.parent / "spill",
            progress=self.heard.append,
        )

    async def call(self, tool: str, **arguments: Any) -> Output:
        """The tool's answer; an error it raises is an answer too."""
        try:
            return await self.tools[tool].run(arguments, self.context)
        except ToolError as error:
            return Output(str(error), is_error=True)

    async def said(self, tool: str, **arguments: Any) -> str:
        """The text of an answer that is no error."""
        output = await self.call(tool, **arguments)
        assert not output.is_error, output.content
        return text(output)

    async def refused(self, tool: str, **arguments: Any) -> str:
        output = await self.call(tool, **arguments)
        assert output.is_error, output.content
        return text(output)

    def put(self, name: str, data: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path


def text(output: Output) -> str:
    """What it says; pictures say nothing."""
    if isinstance(output.content, str):
        return output.content
    return "".join(part.text for part in output.content if isinstance(part, Text))


def real(path: Path) -> Path:
    return Path(os.path.realpath(path))
