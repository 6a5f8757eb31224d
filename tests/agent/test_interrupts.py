"""A stop at any moment, drawn at random: the run ends, and the session goes on."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from interlock.options import Options
from interlock.scripted import ScriptedServer, reply
from interlock.sessions.reading import read_messages
from phases.world.messages import is_blank
from phases.world.updates import Ended, RequestStarted
from tests.agent.stops import STOPS, Dealt, SlowToAllow, Stop, stopped, work
from tests.agent.support import MODEL, Room, living, sent, tell, unanswered

_folders = itertools.count(1)


@settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],  # a shrunk stop is no clearer, and shrinking takes minutes
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(stops=st.lists(STOPS, min_size=4, max_size=4), drip=st.booleans())
def test_a_run_can_be_stopped_at_any_moment_and_the_session_goes_on(
    tmp_path: Path, stops: list[Stop], drip: bool
) -> None:
    room = Room.made(tmp_path / str(next(_folders)))

    asyncio.run(_stop_and_go_on(room, stops, 0.001 if drip else 0.0))


async def _stop_and_go_on(room: Room, stops: list[Stop], drip_s: float) -> None:
    model = Dealt()
    options = Options(model=MODEL, include_partial_messages=True)
    async with (
        ScriptedServer(model) as server,
        room.open(server, options=options, asker=SlowToAllow()) as agent,
    ):
        for stop in stops:
            model.deal(*work(room, drip_s))

            watcher, stopper = await stopped(agent, server, stop)

            assert living(room.work) == []
            ended = [update for update in watcher.updates if isinstance(update, Ended)]
            assert len(ended) == 1
            assert ended == watcher.updates[-1:]
            if stopper.allowed is None or ended[0].reason == "completed":  # it came too late
                assert (ended[0].reason, ended[0].error) == ("completed", None)
                assert not any(isinstance(one, RequestStarted) for one in stopper.after)
            else:
                assert ended[0].reason in ("aborted_streaming", "aborted_tools")
                assert len(server.requests) <= stopper.allowed
            assert unanswered(agent.transcript_path) == []

            model.deal(reply("Going on."))
            told = await tell(agent, "go on")

            assert told.ending == ("completed", None)
            assert server.verdict() == ()
            assert sent(server.requests[-1]) == written(agent.transcript_path)[:-1]


def written(path: Path) -> list[dict[str, object]]:
    """The blocks that a resumed session would send."""
    return [
        block.wire()
        for message in read_messages(path)
        for block in message.content
        if not is_blank(block)
    ]
