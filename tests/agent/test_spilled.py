"""What was too long to be shown lies in a file that the model may page through, unasked."""

from __future__ import annotations

import re

from interlock.options import Options
from interlock.scripted import ByFunction, Reply, ScriptedServer, SentRequest, reply, tool_use
from tests.agent.support import Room, results, tell


async def test_a_spilled_result_is_read_in_the_default_mode(room: Room) -> None:
    def answer(request: SentRequest) -> Reply:
        if request.index == 1:
            return reply(tool_use("Bash", {"command": "seq 1 300000"}))
        if request.index == 2:
            ((_, words, _),) = results(request)
            path = re.findall(r"/\S+\.txt", words)[0]
            return reply(tool_use("Read", {"file_path": path, "offset": 299_999}))
        return reply("Done.")

    options = Options(allowed_tools=("Bash(seq:*)",))
    async with (
        ScriptedServer(ByFunction(answer)) as server,
        room.open(server, options=options) as agent,
    ):
        told = await tell(agent, "count")

    assert told.ending == ("completed", None)
    assert "300000" in results(server.requests[-1])[-1][1]
    assert told.summary.denials == ()
