"""WebFetch: what it does not take, and what it needs permission for."""

from __future__ import annotations

import gzip
import tracemalloc
from asyncio import StreamWriter

import anyio
import pytest

from interlock.options import PermissionMode
from phases.world.messages import ToolUse
from tests.tools.pages import Site, answer, send, to
from tests.tools.places import Place
from tests.tools.running import bench
from tests.tools.sites import fetching


async def _endless(stream: StreamWriter) -> None:
    await send(stream, b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n")
    await send(stream, b"transfer-encoding: chunked\r\n\r\n")
    while True:
        await send(stream, b"10000\r\n" + b"x" * 65_536 + b"\r\n")


async def test_an_endless_body_ends_at_the_cap_in_little_memory(place: Place, there: Site) -> None:
    there.answers["/endless"] = _endless
    fetching(place, there, most_bytes=2_000_000)
    there.answers["/warm"] = answer(b"x", "text/plain")
    await place.said("WebFetch", url=there.at("/warm"))
    tracemalloc.start()

    said = await place.said("WebFetch", url=there.at("/endless"))

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "the first 2,000,000 bytes; there is more" in said
    assert peak < 20_000_000


async def test_a_small_body_that_unpacks_to_a_huge_one_ends_at_the_cap(
    place: Place, there: Site
) -> None:
    bomb = gzip.compress(bytes(1 << 28))
    there.answers["/"] = answer(bomb, "text/plain", content_encoding="gzip")
    there.answers["/warm"] = answer(b"x", "text/plain")
    fetching(place, there, most_bytes=1_000_000)
    await place.said("WebFetch", url=there.at("/warm"))
    tracemalloc.start()

    said = await place.said("WebFetch", url=there.at("/"))

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "the first 1,000,000 bytes; there is more" in said
    assert peak < 20_000_000


async def test_a_slow_body_ends_at_the_time_limit(place: Place, there: Site) -> None:
    async def slow(stream: StreamWriter) -> None:
        await send(stream, b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")
        while True:
            await anyio.sleep(0.05)
            await send(stream, b"x")

    there.answers["/slow"] = slow
    fetching(place, there, time_limit=0.4)

    with anyio.fail_after(10):
        assert "took over 0.4 s" in await place.refused("WebFetch", url=there.at("/slow"))


@pytest.mark.parametrize(
    ("said", "why"),
    [
        pytest.param(b"not HTTP at all\r\n\r\n", "does not answer as HTTP does", id="no HTTP"),
        pytest.param(b"", "does not answer as HTTP does", id="nothing"),
        pytest.param(answer(b"x", content_encoding="br"), "packed as 'br'", id="brotli"),
        pytest.param(answer(b"xxxx", content_encoding="gzip"), "is damaged", id="no gzip"),
        pytest.param(to("http://[::1"), "cannot be followed", id="bad redirect"),
    ],
)
async def test_a_server_that_is_broken_is_one_clear_line(
    place: Place, there: Site, said: bytes, why: str
) -> None:
    there.answers["/"] = said

    told = await fetching(place, there).refused("WebFetch", url=there.at("/"))

    assert why in told
    assert "\n" not in told


@pytest.mark.parametrize(
    "url", ["", "example.com", "http://", "http://a b/", "ftp://a/b", "http:///x"]
)
async def test_what_is_no_address_is_refused(place: Place, url: str) -> None:
    assert "fetched" in await place.refused("WebFetch", url=url)


async def test_a_page_for_machines_is_text_all_the_same(place: Place, there: Site) -> None:
    there.answers["/"] = answer(b"<div>" * 20_000 + b"deep inside", "text/html")

    assert (await fetching(place, there).said("WebFetch", url=there.at("/"))).endswith(
        "deep inside"
    )


async def test_a_fetch_is_about_the_host_it_goes_to(place: Place) -> None:
    touches = place.tools["WebFetch"].touches(
        {"url": "https://Docs.Example.COM.:8443/a"}, place.folder
    )

    assert touches.domain == "docs.example.com"


async def test_nothing_is_fetched_where_nobody_allows_it(place: Place, there: Site) -> None:
    fetching(place, there)
    call = ToolUse(id="toolu_1", name="WebFetch", input={"url": there.at("/")})

    async with bench(place.folder, tools=place.tools, mode=PermissionMode.DEFAULT) as run:
        (result,) = await run.run(call)

    assert result.is_error
    assert "needs approval" in result.text
    assert there.asked == []
