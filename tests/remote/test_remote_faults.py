"""A child on another machine whose line or server fails: told as it is, or taken up again."""

from __future__ import annotations

from pathlib import Path

import anyio
import httpx2
import pytest

from interlock.remote.wire import RUNS, VERSION, Order, encoded
from interlock.scripted import ScriptedServer, reply
from phases.world.updates import AgentEnded, AgentStarted
from tests.agent.support import Room, living, results, tell
from tests.agents.families import by_prompt, children, of
from tests.remote.errands import at_work, bash, once_it_runs, there
from tests.remote.serving import TOKEN, knowing, served
from tests.waiting import until


async def test_a_server_that_is_killed_costs_a_truthful_error(room: Room, tmp_path: Path) -> None:
    async with ScriptedServer(by_prompt(at_work())) as server:
        with served(tmp_path, server.base_url) as box:
            async with room.open(server, options=knowing(box.url)) as agent:
                told = await tell(agent, "go", on=once_it_runs(box.process.kill))
                spent = sum(use.cost or 0 for use in agent.spent.values())
                left = children(agent)["do work"]

    ((_, said, bad),) = results(of(server.requests, "go")[1])
    assert bad
    assert "the remote box was lost" in said
    assert "is not known" in said
    assert told.ending == ("completed", None)
    assert left.result["costUSD"] > 0
    assert spent > left.result["costUSD"]


async def test_one_that_cannot_be_reached_or_refuses_is_an_error_of_the_call(
    room: Room, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scripts = {"go": [reply(there("a")), reply("I see.")]}
    said = []
    async with ScriptedServer(by_prompt(scripts)) as server:
        with served(tmp_path, server.base_url) as box:
            monkeypatch.setenv("INTERLOCK_SERVE_TOKEN", "another")
            async with room.open(server, options=knowing(box.url)) as agent:
                await tell(agent, "go")
            said += results(server.requests[-1])
    async with ScriptedServer(by_prompt({"go": [reply(there("a")), reply("I see.")]})) as server:
        async with room.open(server, options=knowing(box.url)) as agent:
            await tell(agent, "go")
        said += results(server.requests[-1])

    (_, wrong, bad), (_, gone, bad_too) = said
    assert bad
    assert "the token is missing or wrong" in wrong
    assert bad_too
    assert "cannot be reached" in gone


async def test_a_run_that_nobody_reads_is_ended(room: Room, tmp_path: Path) -> None:
    """As when its parent was killed: a lost connection ends it, and its commands."""
    scripts = {"work": [bash("touch begun; sleep 600"), reply("done")]}
    async with ScriptedServer(by_prompt(scripts)) as server:
        with served(tmp_path, server.base_url, "--grace", "1") as box:
            async with (
                room.open(server) as agent,
                httpx2.AsyncClient(
                    base_url=box.url,
                    headers={"Authorization": f"Bearer {TOKEN}"},
                    trust_env=False,
                    timeout=60,
                ) as client,
            ):
                definition = agent.crew.tree.catalogue.find("general-purpose")
                order = Order(
                    version=VERSION,
                    agent_id="0123456789abcdef",
                    definition=definition,
                    description="work",
                    prompt="work",
                    tool_use_id="t",
                    parent_agent_id=None,
                    depth=1,
                    models=("claude-sonnet-4-5",),
                    chain_id="c",
                )
                said = (await client.post(RUNS, json=encoded(order))).json()
                async with client.stream("GET", f"{RUNS}/{said['id']}/lines") as response:
                    async for line in response.aiter_lines():
                        if '"is":"Asked"' in line:
                            break
                answered = {"number": 1, "decision": {"verdict": "allow", "reason": "yes"}}
                await client.post(f"{RUNS}/{said['id']}/answers", json=answered)
            await until((box.work / "begun").exists)
            await until(lambda: not any("sleep" in one for one in living(box.work)))


async def test_a_connection_that_is_cut_is_taken_up_where_it_was(
    room: Room, tmp_path: Path
) -> None:
    scripts = {
        "go": [reply(there("work")), reply("I see.")],
        "work": [bash("echo one"), bash("echo two"), reply("the report")],
    }
    cuts = iter([1500, 4000, 9000])

    async with ScriptedServer(by_prompt(scripts)) as server:
        with served(tmp_path, server.base_url) as box:
            port = int(box.url.rpartition(":")[2])

            async def through(stream: anyio.abc.SocketStream) -> None:
                most = None
                async with stream, await anyio.connect_tcp("127.0.0.1", port) as out:

                    async def up() -> None:
                        nonlocal most
                        async for chunk in stream:
                            if b"/lines" in chunk:
                                most = next(cuts, None)
                            await out.send(chunk)

                    async with anyio.create_task_group() as tasks:
                        tasks.start_soon(up)
                        seen = 0
                        async for chunk in out:
                            seen += len(chunk)
                            await stream.send(chunk)
                            if most is not None and seen > most:
                                break
                        tasks.cancel_scope.cancel()

            listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
            address = listener.extra(anyio.abc.SocketAttribute.local_address)
            async with listener, anyio.create_task_group() as tasks:
                tasks.start_soon(listener.serve, through)
                options = knowing(f"http://127.0.0.1:{address[1]}")
                async with room.open(server, options=options) as agent:
                    told = await tell(agent, "go")
                tasks.cancel_scope.cancel()

    ((_, said, bad),) = results(of(server.requests, "go")[1])
    assert not bad, said
    assert said.startswith("the report")
    assert sum(isinstance(one, AgentStarted | AgentEnded) for one in told.updates) == 2
    assert len(of(server.requests, "work")) == 3


async def test_a_server_that_ends_says_so_to_the_parent(room: Room, tmp_path: Path) -> None:
    async with ScriptedServer(by_prompt(at_work())) as server:
        with served(tmp_path, server.base_url) as box:
            async with room.open(server, options=knowing(box.url)) as agent:
                await tell(agent, "go", on=once_it_runs(box.process.terminate))
            code = box.process.wait(timeout=60)

    ((_, said, bad),) = results(of(server.requests, "go")[1])
    assert bad
    # It may be gone before it has told its last.
    assert "it was interrupted" in said or "the remote box was lost" in said
    assert code == 143
    assert [one for one in living(box.work) if "sleep" in one] == []
