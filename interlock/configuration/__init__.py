"""Settings as users write them into files: where they lie, what they may say, who wins."""

from interlock.configuration.editing import Behaviour, add_rule, destination, remove_rule
from interlock.configuration.files import MANAGED_FOLDERS
from interlock.configuration.loading import load
from interlock.configuration.located import Located
from interlock.configuration.merging import Configuration, Flags, StandingRule
from interlock.configuration.origin import CHOSEN, Origin, Source, Sourced, sources_of

__all__ = [
    "CHOSEN",
    "MANAGED_FOLDERS",
    "Behaviour",
    "Configuration",
    "Flags",
    "Located",
    "Origin",
    "Source",
    "Sourced",
    "StandingRule",
    "add_rule",
    "destination",
    "load",
    "remove_rule",
    "sources_of",
]
