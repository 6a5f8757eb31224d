"""What no session can do without, looked for before anything begins."""

from __future__ import annotations

from pathlib import Path

from interlock.errors import UsageError
from interlock.model.prices import facts
from interlock.options import Options
from interlock.settings import Settings


def insist_on_what_it_needs(settings: Settings, cwd: Path) -> None:
    """Raise UsageError for what no session could do without."""
    if not cwd.is_dir():
        raise UsageError(f"no such folder: {cwd} (--cwd)")
    _insist_on_a_key(settings)


def _insist_on_a_key(settings: Settings) -> None:
    """Raise UsageError where there are no credentials."""
    if settings.api_key is None and settings.auth_token is None:
        raise UsageError(
            "no API key: set ANTHROPIC_API_KEY (or ANTHROPIC_AUTH_TOKEN); a local server takes "
            "any value"
        )


def insist_on_prices(options: Options, settings: Settings, model: str) -> None:
    """Raise UsageError where a budget in money could not be kept."""
    if options.max_budget_usd is None:
        return
    small = () if settings.small_model is None else (settings.small_model,)
    for name in (model, *options.fallback_models, *small):
        if facts(name) is None:
            raise UsageError(
                f"--max-budget-usd cannot be kept: no price is known for the model {name}"
            )
