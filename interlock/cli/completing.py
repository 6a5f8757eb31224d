"""What the Tab key offers: names of commands behind `/`, files and resources behind `@`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain, islice
from pathlib import Path

from attrs import frozen
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

_COMMAND = re.compile(r"/(?P<begun>[\w:.-]*)\Z")
_FILE = re.compile(r"(?:^|(?<=[\s(\[]))@(?P<begun>[^\s@`]*)\Z")
_MOST = 100


@frozen(eq=False)
class Completing(Completer):
    """`commands` gives names with a line about each, as they are by then; so does `resources`,
    of MCP servers, as `server:uri`."""

    commands: Callable[[], Mapping[str, str]]
    cwd: Path
    resources: Callable[[], Mapping[str, str]] = dict

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterable[Completion]:
        line = document.text_before_cursor
        if found := _COMMAND.match(line):
            return self._names(found["begun"])
        if found := _FILE.search(line):
            return chain(self._paths(found["begun"]), self._resources(found["begun"]))
        return ()

    def _names(self, begun: str) -> Iterator[Completion]:
        for name, about in sorted(self.commands().items()):
            if name.startswith(begun):
                yield Completion(name, start_position=-len(begun), display_meta=about[:60])

    def _resources(self, begun: str) -> Iterator[Completion]:
        fitting = ((uri, name) for uri, name in self.resources().items() if uri.startswith(begun))
        for uri, name in islice(fitting if begun else (), _MOST):
            yield Completion(uri, start_position=-len(begun), display_meta=name[:60])

    def _paths(self, begun: str) -> Iterator[Completion]:
        folder, _, start = begun.rpartition("/")
        top = "/" if begun.startswith("/") else ""
        try:
            with os.scandir(self.cwd / Path(top + folder).expanduser()) as entries:
                found = [
                    entry.name + ("/" if entry.is_dir() else "")
                    for entry in islice(entries, 10_000)
                    if entry.name.startswith(start) and (start or not entry.name.startswith("."))
                ]
        except (OSError, RuntimeError):
            return
        for name in sorted(found)[:_MOST]:
            if " " in name and not name.endswith("/"):  # behind such a folder nobody types on
                whole = f'"{begun.removesuffix(start)}{name}"'
                yield Completion(whole, start_position=-len(begun), display=name)
            else:
                yield Completion(name, start_position=-len(start))
