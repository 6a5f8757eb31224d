"""A child on another machine: begun there, shown here, judged here, paid for here.

Each of its calls is put to the judge of its parent, as it is then; what needs a person is asked
here. A connection that is cut is taken up again a few times, from where it was.
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import anyio
import httpx2
import orjson
from anyio.abc import TaskGroup
from attrs import define, evolve, field, frozen

from interlock.agents.crew import Tree
from interlock.agents.errand import Errand, Report, Seat
from interlock.errors import UsageError
from interlock.ledger import Payment
from interlock.options import RemotePlace
from interlock.permissions import Gate, Place, Verdict
from interlock.quiet import Quiet
from interlock.remote import token
from interlock.remote.hosting import BEAT_S
from interlock.remote.wire import (
    RUNS,
    Answered,
    Asked,
    Garbled,
    Left,
    Order,
    Over,
    Paid,
    Refused,
    Said,
    Shown,
    Welcome,
    decoded,
    encoded,
)
from interlock.settings import Settings
from interlock.tools import ToolError
from phases.world.messages import Json
from phases.world.updates import AgentEnded, AgentProgress, AgentStarted, FromAgent, Update
from phases.world.usage import Usage

_log = Quiet(__name__)
_CONNECT_S = 10.0
_SILENT_S = 5 * BEAT_S  # without even a blank line: the connection is dead
_TRIES = 5  # one after the other, without a line between; some seconds in all
_FIRST_WAIT_S = 0.2
_WINDING_DOWN_S = 10.0  # for the report of one that was ended
_FILE = re.compile(
    r"(?:subagents/agent-|runs/agents/|tool-results/)(?P<agent>[0-9a-f]{8,32})"
    r"(?:\.(?P<kind>[a-z.]+)|/[\w-][\w.-]*)"
)


@frozen(kw_only=True)
class Remote:
    """Implements `Spawner`."""

    name: str
    place: RemotePlace
    tree: Tree
    gate: Gate  # of the main agent
    settings: Settings

    async def run(self, errand: Errand, seat: Seat) -> Report:
        async with self._client() as client:
            welcome = await self._begun(client, errand)
            call = _Call(self, client, welcome, errand, seat)
            try:
                return await call.followed()
            except anyio.get_cancelled_exc_class():
                with anyio.CancelScope(shield=True):
                    seat.ended(await call.wound_down())
                raise
            finally:
                call.book()

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[httpx2.AsyncClient]:
        host = urlsplit(self.place.url).hostname or ""
        try:
            word = token.of_client(self.settings.home, os.environ, self.place.token_env, host)
        except UsageError as error:
            raise ToolError(f"Not started: the remote {self.name} ({error}).") from error
        async with httpx2.AsyncClient(
            base_url=self.place.url,
            headers={"Authorization": f"Bearer {word}"},
            timeout=httpx2.Timeout(_CONNECT_S, read=_SILENT_S),
            trust_env=not token.is_loopback(host),  # a proxy does not lead to this machine
        ) as client:
            yield client

    async def _begun(self, client: httpx2.AsyncClient, errand: Errand) -> Welcome:
        rules = self.gate.judge.rules.deny
        order = Order.of(errand, tuple(str(rule) for rule in rules if rule.specifier))
        where = f"the remote {self.name} ({self.place.url})"
        try:
            response = await client.post(RUNS, json=encoded(order))
            said = response.json()
        except (httpx2.HTTPError, ValueError) as error:
            why = str(error) or type(error).__name__
            raise ToolError(f"Not started: {where} cannot be reached: {why}") from error
        if response.status_code != 201:
            why = said.get("error", "") if isinstance(said, dict) else ""
            raise ToolError(f"Not started: {where} refused: {why or response.status_code}")
        try:
            welcome: Welcome = decoded(said, Welcome)
        except Garbled as error:
            raise ToolError(f"Not started: {where} is no server of ours: {error}") from error
        return welcome


@define
class _Call:
    """One run over there, as it is followed from here."""

    remote: Remote
    client: httpx2.AsyncClient
    welcome: Welcome
    errand: Errand
    seat: Seat
    heard: int = 0  # the number of the last line
    report: Report | None = None
    paid: dict[str, Payment] = field(factory=dict)  # by request

    async def followed(self) -> Report:
        """To its end; an interrupt ends it there."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._stop_with_parent)
            report = await self._read(tasks)
            tasks.cancel_scope.cancel()
        return self._noted(report)

    async def wound_down(self) -> Report:
        """End it, and wait for its report, but not for ever."""
        report = Report(text="", error="aborted_streaming")
        with anyio.move_on_after(_WINDING_DOWN_S):
            await self._stop()
            async with anyio.create_task_group() as tasks:
                report = await self._read(tasks)
                tasks.cancel_scope.cancel()
        return self._noted(report)

    def book(self) -> None:
        """Put what it has paid on its parent's books, whatever became of it."""
        for payment in self.paid.values():
            self.seat.parent.ledger.take(payment)
        self.paid.clear()

    async def _stop_with_parent(self) -> None:
        with self.seat.interrupt.scope():
            await anyio.sleep_forever()
        await self._stop()

    async def _stop(self) -> None:
        try:
            await self.client.post(f"{RUNS}/{self.welcome.id}/stop")
        except httpx2.HTTPError:  # it ends by itself when nobody reads it
            _log.debug("remote not told to stop", exc_info=True)

    # --- reading -----------------------------------------------------------------------------

    async def _read(self, tasks: TaskGroup) -> Report:
        problem, tries, wait = "", 0, _FIRST_WAIT_S
        while tries < _TRIES and self.report is None:
            before = self.heard
            try:
                problem = await self._lines(tasks)
            except (httpx2.HTTPError, httpx2.StreamError) as error:
                problem = str(error) or type(error).__name__
            except Garbled as error:
                return self._lost(str(error))
            if self.report is None:
                tries, wait = (tries + 1, wait * 2) if self.heard == before else (1, _FIRST_WAIT_S)
                await anyio.sleep(wait)
        return self.report or self._lost(problem)

    async def _lines(self, tasks: TaskGroup) -> str:
        """Hear what there is to hear; why there is no more."""
        url = f"{RUNS}/{self.welcome.id}/lines"
        async with self.client.stream("GET", url, params={"after": self.heard}) as response:
            if response.status_code != 200:
                return f"it answered {response.status_code}"
            async for line in _whole_lines(response.aiter_bytes()):
                if line.strip():
                    self._hear(_parsed(line), tasks)
                if self.report is not None:
                    break
        return "the connection was closed"

    def _hear(self, line: Json, tasks: TaskGroup) -> None:
        said: Said = decoded(line, Said)
        match said:
            case Shown(update=update):
                self._show(update)
            case Asked():
                tasks.start_soon(self._answer, said)
            case Paid(payment=payment):
                self.paid[payment.request] = payment
                self.seat.parent.ledger.tell(payment)
            case Left():
                self._keep(said)
            case Over(report=report, folder=there):
                here = str(self.remote.tree.paths.folder)
                text = report.text.replace(there, here) if there else report.text
                self.report = evolve(report, text=text)
            case Refused(why=why):
                self.report = self._lost(why)
        self.heard = line["n"]

    def _show(self, update: Update) -> None:
        own = self.errand.agent_id
        match update:
            case FromAgent(agent_id=id_, update=inner) if id_ == own:
                self.seat.show(inner)
            case (
                AgentStarted(agent_id=id_) | AgentProgress(agent_id=id_) | AgentEnded(agent_id=id_)
            ) if id_ == own:
                pass  # told here, of this side's child
            case _:
                self.remote.tree.show(update)

    async def _answer(self, asked: Asked) -> None:
        """Judge a call as if it were one of a child that works in that folder."""
        question, said = asked.question, asked.decision

        async def preview() -> str | None:
            return asked.preview

        gate = self.seat.parent.gate.elsewhere(Place(root=self.welcome.root)).child(
            agent_id=question.agent_id, agent_type=question.agent_type
        )
        decision = await gate.settle(
            evolve(question, preview=preview if asked.preview is not None else None),
            said if said.verdict is Verdict.ASK else None,
        )
        answer = encoded(Answered(number=asked.number, decision=decision))
        try:
            await self.client.post(f"{RUNS}/{self.welcome.id}/answers", json=answer)
        except httpx2.HTTPError:  # whether it is there at all, who reads finds out
            _log.debug("remote not answered", exc_info=True)

    def _keep(self, left: Left) -> None:
        """Put a file where it would lie had the child run here. None is written over."""
        paths, match = self.remote.tree.paths, _FILE.fullmatch(left.name)
        if match is None:
            return
        ours = match["agent"] == self.errand.agent_id
        path = paths.folder / left.name
        if path.exists() or (ours and match["kind"] in ("meta.json", "result.json")):
            return
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.write_text(left.text, "utf-8")
        except OSError as error:
            _log.warning("file of a remote agent not kept", path=str(path), error=str(error))

    # --- the report --------------------------------------------------------------------------

    def _lost(self, problem: str) -> Report:
        usage, cost = Usage(), 0.0
        for payment in self.paid.values():
            usage += payment.usage
            cost += payment.cost or 0.0
        why = (
            f"the remote {self.remote.name} was lost: {problem}. What it has changed there by then"
            " is not known"
        )
        return Report(text="", error="failed", why=why, usage=usage, cost=cost)

    def _noted(self, report: Report) -> Report:
        where = f"the remote {self.remote.name} ({self.remote.place.url})"
        line = f"It worked on {where}, in {self.welcome.root}: paths it names are there."
        return evolve(report, notes=(*report.notes, line))


async def _whole_lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Ended by a newline, and by nothing else: what httpx takes for the end of a line (U+2028,
    U+0085) stands in texts. One that a cut left half is asked for again."""
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line


def _parsed(line: bytes) -> Json:
    try:
        said = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise Garbled(f"a line is no JSON: {error}") from error
    if not isinstance(said, dict) or not isinstance(said.get("n"), int):
        raise Garbled("a line has no number")
    return said
