"""What a server answered, as the content of a result: text, pictures, files for all else.

Pictures are looked at as Read looks at its own: one that the API would refuse becomes words. Sound
and other bytes are saved beside the session's long outputs, and named.
"""

from __future__ import annotations

import base64
import binascii
import json
import mimetypes
from collections.abc import Iterable
from typing import TYPE_CHECKING

from attrs import frozen

from interlock.tools import Output, ToolContext, ToolError
from interlock.tools.images import shown
from phases.world.messages import Media, Text

if TYPE_CHECKING:
    from mcp_types import (
        BlobResourceContents,
        CallToolResult,
        ContentBlock,
        ResourceLink,
        TextResourceContents,
    )

Part = Text | Media


@frozen
class Rendering:
    """Renders what one call brought. `tool` names it in the files that are written."""

    tool: str
    context: ToolContext

    async def result(self, result: CallToolResult) -> Output:
        parts = await self.content(result.content)
        said = any(not isinstance(part, Text) or part.text.strip() for part in parts)
        if result.structured_content is not None and not said:
            # A server that sends both says the same twice.
            parts = [Text(json.dumps(result.structured_content, ensure_ascii=False, indent=1))]
        if not parts:
            parts = [Text("(The tool had nothing to say.)")]
        return Output(tuple(parts), is_error=bool(result.is_error))

    async def content(self, blocks: Iterable[ContentBlock]) -> list[Part]:
        found: list[Part] = []
        for number, block in enumerate(blocks, 1):
            found += await self._block(block, number)
        return found

    async def _block(self, block: ContentBlock, number: int) -> list[Part]:
        match block.type:
            case "text":
                return [Text(block.text)]
            case "image":
                return await self._bytes(block.data, block.mime_type, f"Picture {number}", number)
            case "audio":
                return await self._bytes(block.data, block.mime_type, f"Sound {number}", number)
            case "resource_link":
                return [Text(_link(block))]
            case "resource":
                return await self.resource(block.resource, number)

    async def resource(
        self, contents: TextResourceContents | BlobResourceContents, number: int
    ) -> list[Part]:
        """The contents of a resource, in a result or read by itself."""
        text = getattr(contents, "text", None)
        if isinstance(text, str):
            return [Text(f"{contents.uri}:\n{text}")]
        blob: str = getattr(contents, "blob", "")
        kind = contents.mime_type or "application/octet-stream"
        return await self._bytes(blob, kind, str(contents.uri), number)

    async def _bytes(self, data: str, kind: str, name: str, number: int) -> list[Part]:
        try:
            raw = base64.b64decode(data, validate=True)
        except (binascii.Error, ValueError):
            return [Text(f"({name}, {kind}, is left out: it is no valid base64.)")]
        if kind.startswith("image/"):
            try:
                return list(await shown(raw, name))
            except ToolError as problem:
                return [Text(f"({problem})")]
        saved = self._saved(raw, kind, number)
        return [Text(f"({name}, {kind}, {len(raw):,} bytes, is saved as {saved}.)")]

    def _saved(self, raw: bytes, kind: str, number: int) -> str:
        ending = mimetypes.guess_extension(kind.partition(";")[0].strip()) or ".bin"
        path = self.context.spill / f"{self.context.call_id}-{number}{ending}"
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            path.write_bytes(raw)
        except OSError as error:
            return f"nothing: {error.strerror}"
        return str(path)


def _link(link: ResourceLink) -> str:
    about = ", ".join(
        str(one) for one in (link.mime_type, f"{link.size:,} bytes" if link.size else None) if one
    )
    words = f"Resource {link.name}: {link.uri}" + (f" ({about})" if about else "")
    return f"{words}\n{link.description}" if link.description else words
