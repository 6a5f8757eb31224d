"""Settings as users write them into files: where they lie, what they may say, who wins.

`load` is the way in. Changing a file is rarer, and stands in `interlock.configuration.editing`.
"""

from interlock.configuration.files import MANAGED_FOLDERS
from interlock.configuration.loading import load
from interlock.configuration.located import Located
from interlock.configuration.merging import Configuration, Flags, StandingRule
from interlock.configuration.origin import CHOSEN, Origin, Source, Sourced, sources_of

__all__ = [
    "CHOSEN",
    "MANAGED_FOLDERS",
    "Configuration",
    "Flags",
    "Located",
    "Origin",
    "Source",
    "Sourced",
    "StandingRule",
    "load",
    "sources_of",
]
