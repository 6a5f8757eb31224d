"""A program's options become an agent's: files and environment are added, parts are made."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from interlock.agent import Agent
from interlock.api.answering import AnswerForm
from interlock.api.asking import NOBODY, FunctionAnswers, FunctionAsks
from interlock.api.hooks import matcher_of
from interlock.api.options import AgentOptions
from interlock.assembly import open_agent
from interlock.configuration import Flags, sources_of
from interlock.configured import Configured, configured
from interlock.errors import OptionsError
from interlock.mcp import McpSettings, in_process
from interlock.options import Options, PermissionMode, Resume
from interlock.permissions import BadRule
from interlock.plugins import read_plugins
from interlock.sandbox.policy import Mode
from interlock.settings import Settings


@frozen(kw_only=True)
class Opening:
    """What an agent is opened with."""

    asked: AgentOptions
    options: Options
    settings: Settings
    warnings: tuple[str, ...]  # of settings files
    asker: FunctionAsks | None
    form: AnswerForm | None  # of the answer

    @classmethod
    def of(cls, asked: AgentOptions, environ: Mapping[str, str]) -> Opening:
        """Reads files, and runs an `apiKeyHelper` if need be. Raises InterlockError."""
        form = None if asked.answer is None else AnswerForm(asked.answer)
        found = looked_up(asked, environ, form)
        here = tuple(in_process(*one) for one in asked.mcp_servers.items() if not _is_json(one[1]))
        options = found.options
        if here:
            mcp = options.mcp or McpSettings()
            options = evolve(options, mcp=evolve(mcp, definitions=(*mcp.definitions, *here)))
        return cls(
            asked=asked,
            options=options,
            settings=found.settings,
            warnings=found.configuration.warnings,
            form=form,
            asker=None if asked.can_use_tool is None else FunctionAsks(asked.can_use_tool),
        )

    def agent(self) -> AbstractAsyncContextManager[Agent]:
        asked = self.asked
        return open_agent(
            self.options,
            self.settings,
            asker=self.asker or NOBODY,
            person=None if asked.on_question is None else FunctionAnswers(asked.on_question),
            tools=asked.tools,
            clock=asked.clock,
            hooks=tuple(map(matcher_of, asked.hooks)),
            endings=asked.endings,
        )

    def insist_on_skills(self, agent: Agent) -> None:
        """Raise OptionsError for names that no skill has: known only now that all were found."""
        known = agent.knowledge.instructing.book.skills
        missing = [name for name in self.asked.skills or () if name not in known]
        if missing:
            problem = "no skill here has this name; to list them: interlock skills"
            raise OptionsError([f"skills: {name!r}: {problem}" for name in missing])


def looked_up(
    asked: AgentOptions,
    environ: Mapping[str, str],
    form: AnswerForm | None = None,
    *,
    key: bool = True,
) -> Configured:
    """What files and environment make of the options. Raises InterlockError."""
    try:
        options = _options(asked, form)
        return configured(options, _flags(asked), _environ(asked, environ), key=key)
    except BadRule as error:
        raise OptionsError([str(error)]) from error


def _options(asked: AgentOptions, form: AnswerForm | None) -> Options:
    named = asked.built_in_tools
    return Options(
        cwd=asked.cwd,
        model=asked.model,
        fallback_models=asked.fallback_models,
        max_turns=asked.max_turns,
        max_budget_usd=asked.max_budget_usd,
        token_budget=asked.token_budget,
        system_prompt=asked.system_prompt,
        append_system_prompt=asked.append_system_prompt,
        json_schema=None if form is None else form.schema,
        answer_check=None if form is None else form.read,
        # Your own are on offer because you gave them, whatever is chosen among ours.
        tools=None if named is None else (*named, *(tool.name for tool in asked.tools)),
        allowed_tools=asked.allowed_tools,
        disallowed_tools=asked.disallowed_tools,
        directories=tuple(folder.absolute() for folder in asked.directories),
        environment=asked.env,
        permission_mode=_mode(asked) or PermissionMode.DEFAULT,
        skills=asked.skills,
        asking=asked.asking,
        session_id=None if asked.session_id is None else str(uuid.UUID(asked.session_id)),
        resume=_resume(asked),
        include_partial_messages=asked.raw_events,
        record=asked.record,
        agents=asked.agents,
        sandbox_mode=None if asked.sandbox is None else Mode(asked.sandbox),
        plugins=read_plugins(map(Path.absolute, asked.plugins)) if asked.plugins else None,
    )


def _resume(asked: AgentOptions) -> Resume | None:
    """What settings files say of model and mode gives way to the session's own."""
    if isinstance(asked.resume, str):
        named: Resume | None = Resume(session=asked.resume)
    else:
        named = asked.resume
    if named is None:
        return None
    return evolve(
        named,
        over_model=named.over_model or asked.model is None,
        over_mode=named.over_mode or asked.permission_mode is None,
    )


def _flags(asked: AgentOptions) -> Flags:
    settings, sources = asked.settings, asked.setting_sources
    given = {name: one for name, one in asked.mcp_servers.items() if _is_json(one)}
    return Flags(
        model=asked.model,
        fallback_models=asked.fallback_models,
        permission_mode=_mode(asked),
        settings=json.dumps(dict(settings)) if isinstance(settings, Mapping) else _text(settings),
        sources=sources_of(None if sources is None else ",".join(sources)),
        mcp_config=(json.dumps({"mcpServers": given}),) if given else (),
    )


def _mode(asked: AgentOptions) -> PermissionMode | None:
    return None if asked.permission_mode is None else PermissionMode(asked.permission_mode)


def _text(given: object) -> str | None:
    return None if given is None else str(given)


def _is_json(server: Any) -> bool:
    return isinstance(server, Mapping)


def _environ(asked: AgentOptions, environ: Mapping[str, str]) -> dict[str, str]:
    """What settings are read from; the process's own environment stays as it is."""
    own = {
        "ANTHROPIC_API_KEY": asked.api_key,
        "ANTHROPIC_BASE_URL": asked.base_url,
        "INTERLOCK_HOME": None if asked.home is None else str(asked.home.absolute()),
    }
    given = {name: value for name, value in own.items() if value is not None}
    return {**environ, **asked.env, **given}
