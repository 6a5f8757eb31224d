"""What keeps a session's conversation inside the model's window: limits, levels, summaries.

The services of `interlock/context` meet the model and the session's folder here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from attrs import evolve, field, frozen

from interlock.context.autocompact import Autocompact
from interlock.context.collapse import Collapses, Staging
from interlock.context.keepsakes import Keepsake, Keepsakes, RecentFiles
from interlock.context.microcompact import Cleared, Microcompact
from interlock.context.pipeline import ContextPipeline, Weighed
from interlock.context.result_budget import ResultBudget
from interlock.context.snip import Snip
from interlock.context.summary import ModelSummariser
from interlock.context.surroundings import Count, Surroundings
from interlock.hooks import PreCompact, SessionHooks, Who, session_started
from interlock.model.prices import facts
from interlock.settings import Settings
from phases.world.limits import Limits
from phases.world.loop import Features, Loop
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


def surroundings(
    *,
    model: Model,
    count: Count | None,
    clock: Clock,
    ids: Ids,
    hooks: SessionHooks,
    keepsakes: tuple[Keepsakes, ...],
    recent_files: Callable[[], Sequence[Path]],
    hides: Callable[[Path], bool],
    limits: Limits,
) -> Surroundings:
    """What a window asks of the world. `keepsakes` go before the recently read files, but for
    those that a rule by now `hides`."""
    return Surroundings(
        model=model,
        count=count,
        clock=clock,
        ids=ids,
        consent=PreCompact(hooks),
        keepsakes=(SaidAtStart(hooks), *keepsakes, RecentFiles(recent_files, limits, hides)),
    )


@frozen(kw_only=True)
class WindowMemory:
    """What the levels know of the prompts before."""

    weighed: Weighed = field(factory=Weighed)
    budgeted: tuple[Message, ...] = ()
    cleared: Cleared = field(factory=Cleared)
    staging: Staging = field(factory=Staging)
    told: str | None = None


@frozen(kw_only=True)
class Window:
    """What keeps a session's conversation inside the model's window."""

    pipeline: ContextPipeline
    budget: ResultBudget
    microcompact: Microcompact
    collapse: Collapses
    autocompact: Autocompact
    summariser: ModelSummariser

    @classmethod
    def of(
        cls,
        around: Surroundings,
        *,
        results: Path,
        collapses: Path | None,
        features: Features,
    ) -> Window:
        """`results` is the folder for what is too long to be shown, `collapses` the file of notes
        that stand for old rounds; without one they are kept in memory."""
        summariser = ModelSummariser(
            model=around.model,
            ids=around.ids,
            clock=around.clock,
            keepsakes=around.keepsakes,
            consent=around.consent,
        )
        budget = ResultBudget(results, around.shelf)
        microcompact = Microcompact(clock=around.clock, cached=features.context_editing)
        collapse = Collapses(collapses)
        autocompact = Autocompact(summariser, show=_nobody, count=around.count)
        return cls(
            pipeline=ContextPipeline((budget, Snip(), microcompact, collapse, autocompact)),
            budget=budget,
            microcompact=microcompact,
            collapse=collapse,
            autocompact=autocompact,
            summariser=summariser,
        )

    @property
    def memory(self) -> WindowMemory:
        """What it goes by beside the loop: with it, another window does the same from here on."""
        return WindowMemory(
            weighed=self.pipeline.memory,
            budgeted=self.budget.left,
            cleared=self.microcompact.memory,
            staging=self.collapse.memory,
            told=self.autocompact.told,
        )

    def recall(self, memory: WindowMemory) -> None:
        self.pipeline.recall(memory.weighed)
        self.budget.left = memory.budgeted
        self.microcompact.recall(memory.cleared)
        self.collapse.recall(memory.staging)
        self.autocompact.told = memory.told

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
