"""Sites to be fetched from, and who says where they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from attrs import define, field

from interlock.tools import Network, WebSettings
from interlock.tools.web.fetch import WebFetch
from tests.tools.pages import Site
from tests.tools.places import Place


@define
class Clock:
    now: float = 1_000.0

    def __call__(self) -> float:
        return self.now


@define
class Names:
    """A resolver that answers as it is told, each time the next thing."""

    answers: list[list[str]]
    asked: list[str] = field(factory=list)

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append(f"{host}:{port}")
        return self.answers[min(len(self.asked), len(self.answers)) - 1]


def fetching(place: Place, site: Site, clock: Clock | None = None, **bounds: Any) -> Place:
    network = Network(allowed=frozenset({f"127.0.0.1:{site.port}"}))
    settings = WebSettings(network=network, **bounds)
    place.tools["WebFetch"] = WebFetch(settings, clock or Clock())
    return place
