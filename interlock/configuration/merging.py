"""Many files, flags and the environment in, one configuration out.

Lists add up, of single values the highest source counts. No deny rule is ever dropped: not by a
higher source, not by a managed one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs
from attrs import define, field, frozen

from interlock.configuration.files import Document, SettingsFile
from interlock.configuration.located import Located
from interlock.configuration.origin import Origin, Source, Sourced
from interlock.configuration.schema import Checked, Found
from interlock.configuration.trust import folder_of, objection
from interlock.errors import ConfigurationError
from interlock.options import PermissionMode, RemotePlace
from interlock.settings import CHECKPOINTING, env_names
from phases.world.limits import Limits

_NAMES = {limit.name: env_names(limit) for limit in attrs.fields(Limits)}

_SECTIONS = ("interlock.limits", "interlock.features")
_DEFAULT_MODE = Sourced(PermissionMode.DEFAULT, Origin(source=Source.DEFAULT))


@frozen(kw_only=True)
class Flags:
    """What the command line says, or a caller in its place. None: nothing."""

    model: str | None = None
    fallback_models: tuple[str, ...] = ()
    permission_mode: PermissionMode | None = None
    settings: str | None = None  # a path, or the JSON itself
    sources: tuple[Source, ...] = ()  # files to read, beside managed ones and `settings`
    mcp_config: tuple[str, ...] = ()  # paths, or JSON
    strict_mcp: bool = False  # no MCP servers but those


@frozen(kw_only=True)
class StandingRule:
    """A permission rule as it was written."""

    behaviour: str  # allow, ask or deny
    text: str
    origin: Origin
    folder: Path | None  # of the project whose file it stands in; None: no project's


@frozen(kw_only=True)
class Configuration:
    """What is in force, each with its origin. Of lists the highest source stands first."""

    permissions: tuple[StandingRule, ...] = ()
    default_mode: Sourced[PermissionMode] = _DEFAULT_MODE
    directories: tuple[Sourced[Path], ...] = ()
    env: Mapping[str, Sourced[str]] = field(factory=dict)  # what files put over the environment
    hooks: tuple[Located, ...] = ()
    lent_hooks: bool = True  # hooks in files of agents and skills run
    sandbox: tuple[Located, ...] = ()
    model: Sourced[str] | None = None
    fallback_models: Sourced[tuple[str, ...]] | None = None
    api_key_helper: Sourced[str] | None = None
    notes_excluded: tuple[Sourced[str], ...] = ()
    auto_memory: Sourced[bool] | None = None
    skill_shell_off: Sourced[bool] | None = None
    memory_folder: Sourced[str] | None = None
    numbers: Mapping[str, Sourced[str]] = field(factory=dict)  # ours, by variable
    environ: Mapping[str, str] = field(factory=dict, repr=False)  # for `Settings.of`
    remotes: Mapping[str, Sourced[RemotePlace]] = field(factory=dict)
    managed_rules_only: bool = False
    mcp_all: bool = False  # servers of projects are started unasked
    mcp_named: tuple[str, ...] = ()  # likewise, these
    mcp_never: tuple[str, ...] = ()
    files: tuple[tuple[SettingsFile, bool], ...] = ()  # each with whether it is there
    ignored: tuple[Sourced[str], ...] = ()
    warnings: tuple[str, ...] = ()

    def origin_of(self, variable: str) -> Origin:
        """Where the value of an environment setting comes from."""
        for given in (self.numbers, self.env):
            if variable in given:
                return given[variable].origin
        if self.environ.get(variable, "").strip():
            return Origin(source=Source.ENVIRONMENT, where=variable)
        return Origin(source=Source.DEFAULT)


def merged(
    checks: Sequence[tuple[Document, Checked]], flags: Flags, environ: Mapping[str, str]
) -> Configuration:
    """`checks`: highest first, without problems. Raises ConfigurationError."""
    user = Path(environ.get("HOME") or Path.home())
    merge = _Merge(user=user)
    for _, check in checks:
        merge.warnings.extend(check.warnings)
        for found in check.found:
            merge.take(found)
    env = merge.variables()
    own = dict(environ) | {name: each.value for name, each in env.items()}
    numbers = merge.numbers(own)
    return Configuration(
        permissions=merge.rules(),
        default_mode=merge.mode(flags.permission_mode),
        directories=merge.directories(),
        env=env,
        hooks=merge.hooks(),
        lent_hooks=not (merge.all_hooks_off or merge.on("allowManagedHooksOnly")),
        sandbox=tuple(_located(found) for found in merge.all("sandbox")),
        model=merge.model(flags.model, own, env),
        fallback_models=merge.fallback_models(flags.fallback_models),
        api_key_helper=merge.first("apiKeyHelper"),
        notes_excluded=tuple(
            Sourced(found.value, found.origin) for found in merge.all("claudeMdExcludes")
        ),
        auto_memory=merge.switch("autoMemoryEnabled"),
        skill_shell_off=merge.switch("disableSkillShellExecution"),
        memory_folder=merge.first("autoMemoryDirectory"),
        numbers=numbers,
        environ=own | {name: each.value for name, each in numbers.items()},
        remotes={
            found.name: Sourced(found.value, found.origin)
            for found in reversed(merge.all("remotes"))
        },
        managed_rules_only=merge.managed_rules_only,
        mcp_all=merge.on("enableAllProjectMcpServers"),
        mcp_named=tuple(found.value for found in merge.all("enabledMcpjsonServers")),
        mcp_never=tuple(found.value for found in merge.all("disabledMcpjsonServers")),
        ignored=tuple(
            Sourced(found.key, found.origin) for _, check in checks for found in check.ignored
        ),
        warnings=tuple(merge.warnings),
    )


@define(kw_only=True)
class _Merge:
    user: Path
    found: list[Found] = field(factory=list)  # highest first
    warnings: list[str] = field(factory=list)

    def take(self, found: Found) -> None:
        against = objection(found, self.user)
        if against is None:
            self.found.append(found)
        else:
            self.warnings.append(f"{found.origin.place}: {against}")

    def all(self, key: str) -> list[Found]:
        return [found for found in self.found if found.key == key]

    def first(self, key: str) -> Sourced[str] | None:
        found = next(iter(self.all(key)), None)
        return None if found is None else Sourced(found.value, found.origin)

    def switch(self, key: str) -> Sourced[bool] | None:
        found = next(iter(self.all(key)), None)
        return None if found is None else Sourced(bool(found.value), found.origin)

    def on(self, key: str) -> bool:
        return any(found.value for found in self.all(key))

    @property
    def managed_rules_only(self) -> bool:
        return self.on("allowManagedPermissionRulesOnly")

    def rules(self) -> tuple[StandingRule, ...]:
        rules, managed_only = [], self.managed_rules_only
        for found in self.found:
            section, _, behaviour = found.key.rpartition(".")
            if section != "permissions" or behaviour not in ("allow", "ask", "deny"):
                continue
            foreign = found.origin.source is not Source.MANAGED
            if behaviour == "allow" and foreign and managed_only:
                words = "left out, managed settings allow no rules but theirs"
                self.warnings.append(f"{found.origin.place}: allow {found.value}: {words}")
                continue
            anchor = found.document.file.folder
            rules.append(
                StandingRule(
                    behaviour=behaviour,
                    text=found.value,
                    origin=found.origin,
                    folder=anchor if found.origin.source.from_repository else None,
                )
            )
        return tuple(rules)

    def mode(self, flag: PermissionMode | None) -> Sourced[PermissionMode]:
        bypass = PermissionMode.BYPASS_PERMISSIONS
        wanted = [
            Sourced[PermissionMode](found.value, found.origin)
            for found in self.all("permissions.defaultMode")
        ]
        if flag is not None:
            wanted.insert(0, Sourced(flag, _flag("--permission-mode")))
            wanted.sort(key=_rank)
        disabled = next(iter(self.all("permissions.disableBypassPermissionsMode")), None)
        for one in wanted:
            if one.value is not bypass or disabled is None:
                self._overruled("--permission-mode", flag is not None, one.origin)
                return one
            if one.origin.source is Source.FLAGS:
                problem = f"bypassPermissions is switched off ({disabled.origin})"
                raise ConfigurationError([f"{one.origin.place}: {problem}; choose another mode"])
            words = f"bypassPermissions is switched off ({disabled.origin})"
            self.warnings.append(f"{one.origin.place}: {words}")
        return _DEFAULT_MODE

    def model(
        self, flag: str | None, own: Mapping[str, str], env: Mapping[str, Sourced[str]]
    ) -> Sourced[str] | None:
        name = "ANTHROPIC_MODEL"
        wanted = [Sourced[str](found.value, found.origin) for found in self.all("model")]
        if own.get(name, "").strip():
            variable = Origin(source=Source.ENVIRONMENT, where=name)
            if name in env:
                variable = attrs.evolve(env[name].origin, source=Source.ENVIRONMENT)
            wanted.append(Sourced(own[name].strip(), variable))
        if flag is not None:
            wanted.insert(0, Sourced(flag, _flag("--model")))  # before a model in `--settings`
        chosen = min(wanted, key=_rank, default=None)
        if chosen is not None:
            self._overruled("--model", flag is not None, chosen.origin)
        return chosen

    def fallback_models(self, flag: tuple[str, ...]) -> Sourced[tuple[str, ...]] | None:
        found = [
            Sourced[tuple[str, ...]](one.value, one.origin) for one in self.all("fallbackModel")
        ]
        if flag:
            found.insert(0, Sourced(flag, _flag("--fallback-model")))
        return min(found, key=_rank, default=None)

    def _overruled(self, flag: str, given: bool, by: Origin) -> None:
        if given and by.source is Source.MANAGED:
            self.warnings.append(f"{by.place}: managed settings go before {flag}")

    def directories(self) -> tuple[Sourced[Path], ...]:
        by_path: dict[Path, Sourced[Path]] = {}
        for found in self.all("permissions.additionalDirectories"):
            folder = folder_of(found, self.user)
            if os.path.isdir(folder):  # noqa: PTH112 (Path.is_dir may raise)
                by_path.setdefault(folder, Sourced(folder, found.origin))
            else:
                self.warnings.append(f"{found.origin.place}: {folder} is no folder")
        return tuple(by_path.values())

    def variables(self) -> dict[str, Sourced[str]]:
        """Those of a higher source last, so that they stand."""
        return {
            found.name: Sourced(found.value, found.origin) for found in reversed(self.all("env"))
        }

    def numbers(self, own: Mapping[str, str]) -> dict[str, Sourced[str]]:
        """What files set of our own, as variables, where no variable overrules it."""
        numbers: dict[str, Sourced[str]] = {}
        for found in self.all("fileCheckpointingEnabled"):
            higher = found.origin.source.rank < Source.ENVIRONMENT.rank
            if higher or not any(own.get(name, "").strip() for name in CHECKPOINTING):
                word = "on" if found.value else "off"
                numbers.setdefault(CHECKPOINTING[0], Sourced(word, found.origin))
        for key in (*_SECTIONS, "interlock.fsync", "cleanupPeriodDays"):
            for found in self.all(key):
                ours = f"INTERLOCK_{found.name.upper()}"
                names = _NAMES.get(found.name, (ours,))
                higher = found.origin.source.rank < Source.ENVIRONMENT.rank
                if higher or not any(own.get(name, "").strip() for name in names):
                    numbers.setdefault(ours, Sourced(found.value, found.origin))
        return numbers

    @property
    def all_hooks_off(self) -> bool:
        return any(found.value for found in self.all("disableAllHooks"))

    def hooks(self) -> tuple[Located, ...]:
        """Whoever says `disableAllHooks` can switch off nobody who is trusted more."""
        off = [_trust(found.origin.source) for found in self.all("disableAllHooks") if found.value]
        least = max(off, default=-1)
        if self.on("allowManagedHooksOnly"):
            least = max(least, _trust(Source.USER))
        return tuple(
            _located(found) for found in self.all("hooks") if _trust(found.origin.source) > least
        )


def _trust(source: Source) -> int:
    if source.from_repository:
        return 0
    return 2 if source is Source.MANAGED else 1


def _located(found: Found) -> Located:
    return Located(found.document, found.value)


def _flag(name: str) -> Origin:
    return Origin(source=Source.FLAGS, where=name)


def _rank(one: Sourced[object]) -> int:
    return one.origin.source.rank
