"""What keeps commands inside the working folder: bubblewrap, else Landlock, else nothing, said."""

from interlock.sandbox.policy import (
    Mode,
    NoSandbox,
    Policy,
    SandboxSettings,
    protected,
    secrets,
)
from interlock.sandbox.sandbox import Sandbox, lacking, opened, without
from interlock.sandbox.settings import BadSandbox, ignored, parse, tightening

__all__ = [
    "BadSandbox",
    "Mode",
    "NoSandbox",
    "Policy",
    "Sandbox",
    "SandboxSettings",
    "ignored",
    "lacking",
    "opened",
    "parse",
    "protected",
    "secrets",
    "tightening",
    "without",
]
