"""What a host may want done beside its prompts, each by the name it has on the wire."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from interlock.agent import Agent
from interlock.agents.models import model_of
from interlock.control.exchange import Handler, Json
from interlock.errors import UsageError
from interlock.options import PermissionMode
from phases.world.updates import Show


@frozen(kw_only=True)
class Requests:
    """Those about one session. `show` tells the host what comes of them."""

    agent: Agent
    show: Show
    mode_changed: Callable[[], None]
    default_model: str
    families: Mapping[str, str]  # the models of short names

    def handlers(self) -> dict[str, Handler]:
        return {
            "interrupt": self._interrupt,
            "set_permission_mode": self._set_permission_mode,
            "set_model": self._set_model,
        }

    async def _interrupt(self, asked: Mapping[str, Any]) -> Json:
        self.agent.interrupt()
        return {"still_queued": [one.id for one in self.agent.waiting.messages]}

    async def _set_permission_mode(self, asked: Mapping[str, Any]) -> Json:
        mode = asked.get("mode")
        if mode not in set(PermissionMode):
            raise UsageError(f"no permission mode {mode!r}; there are {', '.join(PermissionMode)}")
        self.agent.set_permission_mode(PermissionMode(mode))
        self.mode_changed()
        return {"mode": mode}

    async def _set_model(self, asked: Mapping[str, Any]) -> Json:
        name = asked.get("model")
        if name is not None and not (isinstance(name, str) and name.strip()):
            raise UsageError(f"{name!r} is no name of a model")
        self.agent.model = self.default_model if name is None else self._meant(name.strip())
        return {"model": self.agent.model}

    def _meant(self, name: str) -> str:
        if name == "default":
            return self.default_model
        return model_of(None, name, self.agent.model, self.families, None)
