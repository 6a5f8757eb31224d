"""A session's sandbox: the best that this machine can give, and plain words for what that is."""

from __future__ import annotations

import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Protocol

from attrs import define, frozen

from interlock.sandbox import bridge, bubblewrap, landlock
from interlock.sandbox.bubblewrap import Bubblewrap
from interlock.sandbox.policy import Mode, NoSandbox, Policy, unplanted

_PYTHON = str(Path(sys.executable).resolve())  # a virtual environment's is a link
# Its text, since where this package lies may not be seen from inside.
_BRIDGE = Path(bridge.__file__).read_text()
_PORT = 3128  # in a network of its own, so it is always free
_INSTALL = "install bubblewrap (apt install bubblewrap), or choose --sandbox auto"


class Backend(Protocol):
    def wrapped(self, argv: Sequence[str], *, cwd: Path) -> tuple[str, ...]: ...


@frozen(kw_only=True)
class Landlocked:
    """Writes only to some folders, by the kernel; hides nothing."""

    policy: Policy
    temporary: Path

    def wrapped(self, argv: Sequence[str], *, cwd: Path) -> tuple[str, ...]:
        folders = [str(one) for one in (*self.policy.writable, self.temporary)]
        network = "network" if self.policy.network else "offline"
        inside = ("env", f"TMPDIR={self.temporary}", *argv)
        return (_PYTHON, "-I", "-S", landlock.__file__, network, *folders, "--", *inside)


@define(kw_only=True)
class Sandbox:
    """What commands run in. Implements the tools' `Confinement`."""

    backend: Backend
    enforced: tuple[str, ...]  # what holds, a sentence each, for the user
    description: str  # the same, for the model
    complete: bool  # all of the policy is enforced
    folders: tuple[Path, ...]
    taken: Path  # where what was planted goes
    proxy: Path | None = None  # the socket that leads out
    _absent: frozenset[Path] = frozenset()

    def wrapped(self, argv: Sequence[str], *, cwd: Path) -> tuple[str, ...]:
        # Of what was absent when one that still runs began, nothing may appear either.
        self._absent |= unplanted(self.folders)
        if self.proxy is not None:
            python = (_PYTHON, "-I", "-S", "-c", _BRIDGE, str(self.proxy), str(_PORT), "--")
            argv = (*_pointed_at_the_proxy(), *python, *argv)
        return self.backend.wrapped(argv, cwd=cwd)

    def settle(self) -> tuple[str, ...]:
        """After a command: take away what it made that would be obeyed outside; in words."""
        notes = []
        for path in sorted(self._absent):
            if os.path.lexists(path):
                goes_to = self.taken / f"{path.name.strip('.')}-{secrets.token_hex(4)}"
                self.taken.mkdir(mode=0o700, parents=True, exist_ok=True)
                shutil.move(path, goes_to)
                notes.append(
                    f"(The sandbox took {path} away: it would be obeyed outside. It lies in"
                    f" {goes_to}; use Write to make it, which asks.)"
                )
        return tuple(notes)


def lacking(mode: Mode) -> str | None:
    """Why this machine cannot give all of the sandbox that is wished for, or None.

    Raises NoSandbox where it is required.
    """
    missing = bubblewrap.missing() if mode is not Mode.OFF else None
    if mode is Mode.REQUIRED and missing is not None:
        raise NoSandbox(f"--sandbox required: {missing}; {_INSTALL}")
    return missing


@asynccontextmanager
async def opened(
    mode: Mode,
    policy: Policy,
    *,
    taken: Path | None = None,
    refused: Callable[[str], None] = lambda host: None,
) -> AsyncIterator[Sandbox | None]:
    """The sandbox for a session; None where there is none. `refused` is told of hosts; what
    commands plant goes to `taken`.

    Raises NoSandbox where one is required and cannot be had.
    """
    missing = lacking(mode)
    if mode is Mode.OFF or (missing is not None and landlock.abi() == 0):
        yield None
        return
    async with AsyncExitStack() as stack:
        temporary = Path(tempfile.mkdtemp(prefix="interlock-"))
        stack.callback(shutil.rmtree, temporary, ignore_errors=True)
        taken = taken or temporary / "taken"
        if missing is not None:
            box = _by_landlock(policy, temporary, missing, taken)
            stack.callback(box.settle)
            yield box
            return
        sockets = socket = None
        if policy.domains and not policy.network:
            sockets = Path(tempfile.mkdtemp(prefix="interlock-"))
            stack.callback(shutil.rmtree, sockets, ignore_errors=True)
            from interlock.sandbox.proxy import Proxy  # with h11 it takes 15 ms

            socket = sockets / "proxy"
            proxy = Proxy(domains=policy.domains, refused=refused)
            await stack.enter_async_context(proxy.serving(socket))
        box = _by_bubblewrap(policy, temporary, sockets, socket, taken)
        stack.callback(box.settle)
        yield box


def without(mode: Mode) -> str | None:
    """What to warn of where a sandbox was wished for and there is none, or less than all."""
    if mode is not Mode.AUTO:
        return None
    missing = bubblewrap.missing()
    if missing is None:
        return None
    if landlock.abi() == 0:
        return f"commands run without a sandbox: {missing}, and this kernel has no Landlock"
    return f"the sandbox hides no files: {missing}; Landlock is in force"


def _by_bubblewrap(
    policy: Policy, temporary: Path, sockets: Path | None, socket: Path | None, taken: Path
) -> Sandbox:
    folders = ", ".join(map(str, policy.writable))
    enforced = (
        f"commands can write to {folders} and their own /tmp, nowhere else",
        "files with keys, and those that deny rules for Read name, cannot be read",
        "hooks and settings of git, editors and Interlock in the project cannot be changed",
        "what is made anew in their place is taken away when the command ends",
        _network(policy),
        "what a command starts ends with it",
    )
    return Sandbox(
        backend=Bubblewrap(policy=policy, temporary=temporary, sockets=sockets),
        enforced=enforced,
        description=_told(enforced, "use run_in_background for what has to go on."),
        complete=True,
        folders=policy.folders or policy.writable,
        taken=taken,
        proxy=socket,
    )


def _by_landlock(policy: Policy, temporary: Path, missing: str, taken: Path) -> Sandbox:
    offline = landlock.abi() >= 4 and not policy.network
    folders = ", ".join(map(str, policy.writable))
    enforced = (
        f"commands can write to {folders} and {temporary}, nowhere else",
        "no file is hidden from them, and settings in the project can be changed, but not made",
        "they reach no TCP port; UDP is not held back" if offline else "the network is open",
    )
    return Sandbox(
        backend=Landlocked(policy=policy, temporary=temporary),
        enforced=(*enforced, f"for more: {missing}"),
        description=_told(enforced, ""),
        complete=False,
        folders=policy.folders or policy.writable,
        taken=taken,
    )


def _network(policy: Policy) -> str:
    if policy.network:
        return "the network is open"
    if policy.domains:
        return f"of the network only {', '.join(policy.domains)} can be reached, by HTTP(S)"
    return (
        "there is no network, this machine's own servers included (Unix sockets that come later"
        " are not held back)"
    )


def _told(enforced: Sequence[str], more: str) -> str:
    return f"- It runs in a sandbox: {'; '.join(enforced)}. {more}".rstrip()


def _pointed_at_the_proxy() -> tuple[str, ...]:
    address = f"http://127.0.0.1:{_PORT}"
    names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy")
    return ("env", *(f"{name}={address}" for name in names))
