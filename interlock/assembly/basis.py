"""What all parts of a session are made from: where it is, and what it begins with.

Whatever can be refused by looking at options and settings alone is refused here, before anything
is started.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

from attrs import frozen

from interlock.agents.models import model_of
from interlock.home import SessionPaths
from interlock.insisting import insist_on_prices, insist_on_what_it_needs
from interlock.model import preload
from interlock.options import Options
from interlock.resuming import Begun, begun
from interlock.sessions import Transcript
from interlock.settings import Settings
from interlock.structured import StructuredAnswer
from interlock.world import RandomIds
from phases.world.ports import Clock

DEFAULT_MODEL = "claude-sonnet-5-5"


@frozen(kw_only=True)
class Basis:
    """One session's."""

    start: Begun
    settings: Settings
    cwd: Path
    model: str
    ids: RandomIds
    clock: Clock
    structured: StructuredAnswer | None  # None: any answer will do

    @property
    def options(self) -> Options:
        """With what comes back of an earlier session."""
        return self.start.options

    @property
    def paths(self) -> SessionPaths:
        return self.start.paths

    @property
    def transcript(self) -> Transcript:
        return self.start.transcript


@asynccontextmanager
async def founded(options: Options, settings: Settings, clock: Clock) -> AsyncIterator[Basis]:
    """Begin the session, or take it up again; leaving closes its transcript. Raises UsageError."""
    cwd = options.cwd.resolve()
    insist_on_what_it_needs(settings, cwd)
    preload()  # the SDK is slow to import: beside git's answers it costs nothing
    ids = RandomIds()
    start = await begun(options, settings, cwd, ids)
    async with aclosing(start.transcript):
        options = start.options
        wanted = options.model or settings.model or DEFAULT_MODEL
        model = model_of(None, wanted, DEFAULT_MODEL, settings.families, None)
        insist_on_prices(options, settings, model)
        yield Basis(
            start=start,
            settings=settings,
            cwd=cwd,
            model=model,
            ids=ids,
            clock=clock,
            structured=StructuredAnswer.of(options, settings),
        )
