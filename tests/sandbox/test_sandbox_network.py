"""The network of a sandbox: none, or listed hosts through a proxy."""

from __future__ import annotations

from attrs import evolve

from interlock.sandbox import Mode, opened
from tests.sandbox.grounds import Ground, boxed, fetch, in_thread, listening, needs_bubblewrap, run


@needs_bubblewrap
async def test_loopback_and_other_hosts_cannot_be_reached(ground: Ground) -> None:
    with listening() as (port, got):
        async with boxed(ground.policy) as box:
            done = run(box, fetch(f"http://127.0.0.1:{port}/"), ground.work)
            udp = run(box, "echo x > /dev/udp/192.0.2.1/53", ground.work)

    assert "failed" in done.stdout
    assert udp.returncode != 0
    assert got == []


@needs_bubblewrap
async def test_through_the_proxy_only_listed_hosts_are_reached(ground: Ground) -> None:
    refused: list[str] = []
    with listening() as (port, got):
        policy = evolve(ground.policy, domains=("127.0.0.1", "*.example.com"))
        async with opened(Mode.REQUIRED, policy, refused=refused.append) as box:
            assert box is not None
            listed = await in_thread(run, box, fetch(f"http://127.0.0.1:{port}/x"), ground.work)
            other = await in_thread(run, box, fetch("http://other.test/"), ground.work)
            inside = await in_thread(run, box, fetch("http://localhost.other.test/"), ground.work)

    assert listed.stdout == "hello\n"
    assert got[0].startswith(b"GET /x HTTP/1.1\r\n")
    assert "403" in other.stdout
    assert "allowedDomains" in other.stdout
    assert "failed" in inside.stdout
    assert refused == ["other.test", "localhost.other.test"]


@needs_bubblewrap
async def test_a_listed_name_that_leads_into_this_machine_is_refused(ground: Ground) -> None:
    with listening() as (port, got):
        policy = evolve(ground.policy, domains=("localhost.localdomain", "*.localhost"))
        async with boxed(policy) as box:
            done = await in_thread(run, box, fetch(f"http://a.localhost:{port}/"), ground.work)

    assert "hello" not in done.stdout
    assert got == []
