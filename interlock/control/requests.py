"""What a host may want done beside its prompts, each by the name it has on the wire."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from attrs import frozen

from interlock.agent import Agent
from interlock.agents.models import model_of
from interlock.control.exchange import Handler, Json
from interlock.control.usage import context_usage
from interlock.errors import UsageError
from interlock.options import PermissionMode
from interlock.rewinding import What, plan, points
from interlock.sessions import rename
from interlock.tools import FileReads, ToolContext, ToolError
from phases.world.limits import Limits
from phases.world.updates import Show

_STOP_COMMAND = "TaskStop"  # the tool that ends commands in the background


@frozen(kw_only=True)
class Requests:
    """Those about one session. `show` tells the host what comes of them."""

    agent: Agent
    show: Show
    mode_changed: Callable[[], None]
    default_model: str
    families: Mapping[str, str]  # the models of short names
    limits: Limits
    later: Callable[[Callable[[], None]], None]  # makes a change between two turns

    def handlers(self) -> dict[str, Handler]:
        return {
            "interrupt": self._interrupt,
            "set_permission_mode": self._set_permission_mode,
            "set_model": self._set_model,
            "set_max_thinking_tokens": self._set_max_thinking_tokens,
            "get_context_usage": self._get_context_usage,
            "rewind_files": self._rewind_files,
            "stop_task": self._stop_task,
            "rename_session": self._rename_session,
            "cancel_async_message": self._cancel_async_message,
        }

    # --- the turn under way ----------------------------------------------------------------------

    async def _interrupt(self, asked: Mapping[str, Any]) -> Json:
        self.agent.interrupt()
        return {"still_queued": [one.id for one in self.agent.waiting.messages]}

    async def _stop_task(self, asked: Mapping[str, Any]) -> Json:
        wanted = _text(asked, "task_id")
        one = self.agent.crew.find(wanted)
        if one is not None:
            one.ask_to_stop()
            return {}
        tool = self.agent.servers.tools.get(_STOP_COMMAND)
        if tool is None:
            raise UsageError(f"no task {wanted!r} is under way")
        try:
            await tool.run({"task_id": wanted}, context_of(self.agent, self.limits))
        except ToolError as error:
            raise UsageError(str(error)) from None
        return {}

    async def _cancel_async_message(self, asked: Mapping[str, Any]) -> Json:
        return {"cancelled": self.agent.waiting.withdraw(_text(asked, "message_uuid"))}

    # --- how the next one goes -------------------------------------------------------------------

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
        default = name is None or name.strip() == "default"
        meant = self.default_model if default else self._meant(str(name).strip())
        self.agent.model = meant  # the turn under way has read the other already
        return {"model": meant}

    def _meant(self, name: str) -> str:
        return model_of(None, name, self.agent.model, self.families, None)

    async def _set_max_thinking_tokens(self, asked: Mapping[str, Any]) -> Json:
        given = asked.get("max_thinking_tokens")
        whole = isinstance(given, int) and not isinstance(given, bool) and given >= 0
        if given is not None and not whole:
            raise UsageError(f"{given!r} is no number of tokens from 0 up")
        self.later(partial(self.agent.think, given))
        return {}

    # --- the session as it stands ----------------------------------------------------------------

    async def _get_context_usage(self, asked: Mapping[str, Any]) -> Json:
        return context_usage(self.agent, self.limits)

    async def _rename_session(self, asked: Mapping[str, Any]) -> Json:
        path = self.agent.transcript_path
        if not path.exists():
            raise UsageError("nothing was said yet: a session can be named after its first prompt")
        return {"title": rename(path, _text(asked, "title"))}

    async def _rewind_files(self, asked: Mapping[str, Any]) -> Json:
        wanted = _text(asked, "user_message_id")
        paths = self.agent.paths
        found = points(paths)
        point = next((one for one in found.points if one.id == wanted), None)
        if point is None:
            raise UsageError(f"no prompt of this session has the id {wanted}")
        planned = plan(paths, found, point, What.FILES)
        files = planned.files
        told = {
            "canRewind": True,
            "filesChanged": [str(one.path) for one in files.back] if files is not None else [],
        }
        if asked.get("dry_run") is not True:
            await self.agent.rewind(planned, self.show)
        return told


def context_of(agent: Agent, limits: Limits) -> ToolContext:
    """For a tool that the host runs, beside the model."""
    return ToolContext(
        cwd=agent.cwd,
        root=agent.cwd,
        limits=limits,
        reads=FileReads(),
        spill=agent.paths.tool_results,
    )


def _text(asked: Mapping[str, Any], key: str) -> str:
    value = asked.get(key)
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{key} is missing")
    return value
