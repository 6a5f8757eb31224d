"""What keeps a session's conversation inside the model's window: limits, levels, summaries.

The services of `interlock/context` meet the model and the session's folder here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from attrs import evolve, frozen

from interlock.context.autocompact import Autocompact, Count
from interlock.context.collapse import Collapses
from interlock.context.keepsakes import Keepsake, Keepsakes, RecentFiles
from interlock.context.microcompact import Microcompact
from interlock.context.pipeline import ContextPipeline
from interlock.context.result_budget import ResultBudget
from interlock.context.snip import Snip
from interlock.context.summary import ModelSummariser
from interlock.home import AgentPaths, SessionPaths
from interlock.hooks import HookedSummariser, SessionHooks, Who, session_started
from interlock.model.prices import facts
from interlock.settings import Settings
from phases.world.limits import Limits
from phases.world.loop import Loop
from phases.world.messages import Message
from phases.world.ports import Clock, Ids, Model, Summarised
from phases.world.size import summarised_size, tokens_of
from phases.world.updates import Compaction, Notice, Show, Update

_NO_SMALLER = (
    "The summary makes the conversation no smaller: about {before:,} tokens before, {after:,} "
    "after. A short conversation need not be summarised."
)


def limits_for(models: Iterable[str], settings: Settings) -> Limits:
    """The limits in force where any of `models` may be asked: what the user set stays as it is.

    The smallest window and output count: limits are fixed for the prompt, and the fallback model
    has to read what was made for the first one. A model that nobody knows is taken to be as the
    defaults say.
    """
    limits = settings.limits
    known = [found for model in models if (found := facts(model)) is not None]
    if not known:
        return limits
    window = min(one.window for one in known)
    output = min(one.most_output for one in known)
    wanted = {
        "context_window": window,
        "escalated_output_cap": min(output, limits.escalated_output_cap),
        "default_output_cap": min(output, limits.default_output_cap),
    }
    return evolve(
        limits,
        **{name: value for name, value in wanted.items() if name not in settings.own_limits},
    )


@frozen(kw_only=True)
class Window:
    """What keeps a session's conversation inside the model's window."""

    pipeline: ContextPipeline
    collapse: Collapses
    summariser: HookedSummariser
    autocompact: Autocompact

    @classmethod
    def of(
        cls,
        *,
        model: Model,
        count: Count | None,
        paths: SessionPaths | AgentPaths,
        recent_files: Callable[[], Sequence[Path]],
        settings: Settings,
        clock: Clock,
        ids: Ids,
        hooks: SessionHooks,
        keepsakes: tuple[Keepsakes, ...] = (),
    ) -> Window:
        """`keepsakes` go before the recently read files."""
        files = RecentFiles(recent_files, settings.limits)
        kept = (SaidAtStart(hooks), *keepsakes, files)
        summariser = HookedSummariser(
            ModelSummariser(model=model, ids=ids, clock=clock, keepsakes=kept), hooks
        )
        collapse = Collapses(paths.folder / "collapses.jsonl")
        autocompact = Autocompact(summariser, show=_nobody, count=count)
        levels = (
            ResultBudget(paths.tool_results),
            Snip(),
            Microcompact(clock=clock, cached=settings.features.context_editing),
            collapse,
            autocompact,
        )
        return cls(
            pipeline=ContextPipeline(levels),
            collapse=collapse,
            summariser=summariser,
            autocompact=autocompact,
        )

    async def compact(
        self, loop: Loop, messages: tuple[Message, ...], show: Show, focus: str | None
    ) -> Summarised:
        """Summarise these messages by hand, also where autocompact is suspended.

        It was asked for, so it is made also where it wins nothing; that is told.
        """
        made = await self.summariser.summarise(loop, messages, trigger="manual", focus=focus)
        if made.view is None:
            return made
        fixed = loop.run.fixed_tokens
        before = tokens_of(messages, fixed=fixed)
        after = summarised_size(made.view, of=messages, size=before, fixed=fixed)
        if after >= before:
            show(Notice("warning", _NO_SMALLER.format(before=before, after=after)))
        show(Compaction("manual", before, after))
        return made


@frozen
class SaidAtStart:
    """What SessionStart hooks say after a compaction: the summary may have lost what they said
    at first."""

    hooks: SessionHooks

    async def keepsakes(self, budget: int) -> Sequence[Keepsake]:
        context = await session_started(self.hooks, "compact", Who())
        return () if context is None else (Keepsake("SessionStart hook", context),)


def _nobody(update: Update) -> None:
    """Nobody watches between two prompts."""
