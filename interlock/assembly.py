"""Parts of a session that several services make together; `agent` puts them to use.

What a session may do at most (limits, per model), what keeps its conversation inside the window
(the levels of the context pipeline, and the summaries), its tools, and what it cannot do without.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from attrs import evolve, frozen

from interlock.context.autocompact import Autocompact, Count
from interlock.context.collapse import Collapses
from interlock.context.keepsakes import Keepsakes, RecentFiles
from interlock.context.microcompact import Microcompact
from interlock.context.pipeline import ContextPipeline
from interlock.context.result_budget import ResultBudget
from interlock.context.snip import Snip
from interlock.context.summary import ModelSummariser
from interlock.errors import UsageError
from interlock.home import SessionPaths
from interlock.model.prices import facts
from interlock.options import Options
from interlock.settings import Settings
from interlock.tools import ShellSettings, Sleep, Tool, UnknownTool, built_in, chosen
from phases.world.limits import Limits
from phases.world.loop import Loop
from phases.world.messages import Message
from phases.world.ports import Clock, Ids, Model, Summarised
from phases.world.size import tokens_of
from phases.world.updates import Compaction, Show, Update


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
    summariser: ModelSummariser
    autocompact: Autocompact

    @classmethod
    def of(
        cls,
        *,
        model: Model,
        count: Count | None,
        paths: SessionPaths,
        recent_files: Callable[[], Sequence[Path]],
        limits: Limits,
        clock: Clock,
        ids: Ids,
        keepsakes: tuple[Keepsakes, ...] = (),
    ) -> Window:
        """`keepsakes` go before the recently read files."""
        files = RecentFiles(recent_files, limits)
        summariser = ModelSummariser(
            model=model, ids=ids, clock=clock, keepsakes=(*keepsakes, files)
        )
        collapse = Collapses(paths.folder / "collapses.jsonl")
        autocompact = Autocompact(summariser, show=_nobody, count=count)
        levels = (
            ResultBudget(paths.tool_results),
            Snip(),
            Microcompact(clock=clock),
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
        """Summarise these messages by hand, also where autocompact is suspended."""
        fixed = loop.run.fixed_tokens
        made = await self.summariser.summarise(loop, messages, trigger="manual", focus=focus)
        if made.view is not None:
            before, after = (tokens_of(view, fixed=fixed) for view in (messages, made.view))
            show(Compaction("manual", before, after))
        return made


def _nobody(update: Update) -> None:
    """Nobody watches between two prompts."""


def tools_for(options: Options, settings: Settings, sleep: Sleep) -> dict[str, Tool]:
    """The tools on offer. Raises UsageError for a name that no tool has."""
    shell = ShellSettings(
        default_timeout=settings.bash_default_timeout_s,
        max_timeout=settings.bash_max_timeout_s,
    )
    try:
        # Nothing arrives by itself yet, so Sleep is there for those who name it.
        named = sleep.name in (options.tools or ())
        return chosen(built_in(shell, sleep=sleep if named else None), options.tools)
    except UnknownTool as error:
        raise UsageError(f"{error} (--tools)") from error


def insist_on_a_key(settings: Settings) -> None:
    """Raise UsageError where there are no credentials."""
    if settings.api_key is None and settings.auth_token is None:
        raise UsageError(
            "no API key: set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN); a local server takes "
            "any value"
        )


def insist_on_prices(options: Options, models: tuple[str, ...]) -> None:
    """Raise UsageError where a budget in money could not be kept."""
    if options.max_budget_usd is None:
        return
    for model in models:
        if facts(model) is None:
            raise UsageError(
                f"--max-budget-usd cannot be kept: no price is known for the model {model}"
            )
