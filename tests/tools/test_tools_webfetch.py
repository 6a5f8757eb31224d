"""WebFetch: what is read of a page, and where it goes for it."""

from __future__ import annotations

import gzip
import zlib

import pytest

from interlock.tools import Network, WebSettings
from interlock.tools.web.addresses import unfit
from interlock.tools.web.fetch import WebFetch
from phases.world.messages import Media
from tests.tools.documents import pdf
from tests.tools.pages import Site, answer, to
from tests.tools.places import Place
from tests.tools.sites import Clock, Names, fetching
from tests.tools.test_tools_pictures import made


async def test_a_page_becomes_markdown(place: Place, there: Site) -> None:
    page = (
        b"<html><head><title>The title</title><style>p{}</style></head><body><h2>Part</h2>"
        b"<script>alert(1)</script><p>Some <b>bold</b> words and a <a href='/more'>link</a>.</p>"
        b"<pre><code>x = 1</code></pre></body></html>"
    )
    there.answers["/"] = answer(page, "text/html; charset=utf-8")

    said = await fetching(place, there).said("WebFetch", url=there.at("/"), prompt="the link")

    assert said.startswith(f"{there.at('/')} (text/html, {len(page)} bytes)\n\n# The title\n\n")
    assert "## Part" in said
    assert f"Some **bold** words and a [link]({there.at('/more')})." in said
    assert "```\nx = 1\n```" in said
    assert "alert" not in said
    assert "accept-encoding: gzip, deflate" in there.requests[0].lower()


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        pytest.param("text/html; charset=iso-8859-1", b"caf\xe9", "café", id="header"),
        pytest.param("text/html; charset=latin1", b"\x93caf\xe9\x94", "“café”", id="as browsers"),
        pytest.param("text/html", b"<meta charset=cp1250><p>\xe8", "č", id="meta"),
        pytest.param("text/plain", "\ufeffgrüß".encode("utf-16"), "grüß", id="mark"),
        pytest.param("text/plain; charset=nonsense", "grüß".encode(), "grüß", id="unknown"),
        pytest.param("", b"<!doctype html><p>hello", "hello", id="no type"),
        pytest.param("application/json", b'{"a": [1]}', '{"a": [1]}', id="json"),
        pytest.param("application/vnd.api+json", b"{}", "{}", id="kind of json"),
    ],
)
async def test_text_is_read_in_its_charset(
    place: Place, there: Site, kind: str, body: bytes, text: str
) -> None:
    there.answers["/"] = answer(body, kind)

    said = await fetching(place, there).said("WebFetch", url=there.at("/"))

    assert said.partition("\n\n")[2].split("\n")[-1].strip("\ufeff") == text


async def test_bytes_that_do_not_fit_their_charset_are_told(place: Place, there: Site) -> None:
    there.answers["/"] = answer(b"caf\xe9", "text/plain; charset=utf-8")

    said = await fetching(place, there).said("WebFetch", url=there.at("/"))

    assert "byte 0xE9 at offset 3" in said
    assert "caf\ufffd" in said


@pytest.mark.parametrize(
    ("coding", "packed"),
    [
        ("gzip", gzip.compress(b"hello")),
        ("deflate", zlib.compress(b"hello")),
        ("deflate", zlib.compress(b"hello", wbits=-15)),
    ],
    ids=["gzip", "deflate", "bare deflate"],
)
async def test_a_packed_body_is_unpacked(
    place: Place, there: Site, coding: str, packed: bytes
) -> None:
    there.answers["/"] = answer(packed, "text/plain", content_encoding=coding)

    assert (await fetching(place, there).said("WebFetch", url=there.at("/"))).endswith("\nhello")


async def test_pictures_and_documents_are_shown_as_read_shows_them(
    place: Place, there: Site
) -> None:
    there.answers["/a.png"] = answer(made("RGB", (30, 20), "PNG"), "image/png")
    there.answers["/a.pdf"] = answer(pdf("A page with enough words."), "application/pdf")
    there.answers["/a.zip"] = answer(b"PK\3\4", "application/zip")
    fetching(place, there)

    picture = await place.call("WebFetch", url=there.at("/a.png"))
    document = await place.call("WebFetch", url=there.at("/a.pdf"))

    assert isinstance(picture.content, tuple)
    assert isinstance(picture.content[1], Media)
    assert "A page with enough words." in str(document.content)
    assert "is no text" in await place.refused("WebFetch", url=there.at("/a.zip"))


async def test_an_error_status_is_an_error_with_its_words(place: Place, there: Site) -> None:
    said = await fetching(place, there).refused("WebFetch", url=there.at("/nowhere"))

    assert said == f"{there.at('/nowhere')} answered with HTTP 404.\n\nno such page"


async def test_a_page_is_kept_for_a_quarter_of_an_hour(place: Place, there: Site) -> None:
    clock = Clock()
    there.answers["/"] = answer(b"one", "text/plain")
    fetching(place, there, clock)
    await place.said("WebFetch", url=there.at("/"))
    there.answers["/"] = answer(b"two", "text/plain")

    clock.now += 899
    early = await place.said("WebFetch", url=there.at("/#part"))
    clock.now += 2
    late = await place.said("WebFetch", url=there.at("/"))

    assert early.startswith("(as it was 899 s ago, from the cache)\n")
    assert early.endswith("one")
    assert late.endswith("two")


async def test_a_redirect_on_the_host_is_followed(place: Place, there: Site) -> None:
    there.answers["/old"] = to("/new")
    there.answers["/new"] = answer(b"here", "text/plain")

    said = await fetching(place, there).said("WebFetch", url=there.at("/old"))

    assert said.startswith(there.at("/new"))
    assert there.asked == ["/old", "/new"]


@pytest.mark.parametrize(
    ("location", "why"),
    [
        ("http://127.0.0.1:{port}/private", "is a loopback address"),
        ("http://[::ffff:127.0.0.1]:{port}/", "is a loopback address"),
        ("http://localhost:{port}/", "is a loopback address"),
        ("http://2130706433:{port}/", "is a loopback address"),
        ("http://0x7f.1:{port}/", "is a loopback address"),
        ("http://0:{port}/", "an unspecified address"),
        ("http://169.254.169.254/latest/", "is a link-local address"),
        ("http://10.0.0.1/", "is a private address"),
        ("file:///etc/hostname", "only http and https"),
        ("gopher://127.0.0.1:{port}/", "only http and https"),
        ("http://user:word@127.0.0.1:{port}/", "user name or password"),
    ],
)
async def test_a_redirect_to_where_nobody_may_go_is_refused_at_the_hop(
    place: Place, there: Site, private: Site, location: str, why: str
) -> None:
    there.answers["/"] = to(location.format(port=private.port))

    said = await fetching(place, there).refused("WebFetch", url=there.at("/"))
    direct = await place.refused("WebFetch", url=location.format(port=private.port))

    assert why in said
    assert why in direct
    assert private.asked == []


async def test_a_redirect_to_another_host_is_told_and_not_followed(
    place: Place, there: Site
) -> None:
    names = Names([["127.0.0.1"], ["93.184.216.34"]])
    there.answers["/"] = to("https://elsewhere.example/page")
    network = Network(allowed=frozenset({f"127.0.0.1:{there.port}"}), resolve=names)
    place.tools["WebFetch"] = WebFetch(WebSettings(network=network))

    said = await place.said("WebFetch", url=there.at("/"))

    assert "redirects to another host: https://elsewhere.example/page" in said
    assert names.asked == [f"127.0.0.1:{there.port}", "elsewhere.example:443"]


async def test_a_circle_of_redirects_ends(place: Place, there: Site) -> None:
    there.answers["/loop"] = to("/loop")

    said = await fetching(place, there).refused("WebFetch", url=there.at("/loop"))

    assert "in a circle" in said
    assert len(there.asked) == 6


async def test_the_address_that_was_judged_is_the_one_that_is_reached(
    place: Place, there: Site
) -> None:
    """A name that is public when it is judged and loopback when it is reached."""
    names = Names([["192.0.2.7", "127.0.0.1"], ["127.0.0.1"]])
    place.tools["WebFetch"] = WebFetch(WebSettings(network=Network(resolve=names)))

    said = await place.refused("WebFetch", url=f"http://rebinds.example:{there.port}/")

    assert "rebinds.example" in said
    assert names.asked == [f"rebinds.example:{there.port}"]
    assert there.asked == []


async def test_a_name_is_looked_up_once_for_each_hop(place: Place, there: Site) -> None:
    names = Names([["127.0.0.1"], ["192.0.2.1"]])
    there.answers["/"] = answer(b"here", "text/plain")
    network = Network(allowed=frozenset({f"named.example:{there.port}"}), resolve=names)
    place.tools["WebFetch"] = WebFetch(WebSettings(network=network))

    said = await place.said("WebFetch", url=f"http://Named.example:{there.port}/")

    assert said.endswith("here")
    assert len(names.asked) == 1
    assert f"Host: named.example:{there.port}" in there.requests[0]


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1"),
        *("169.254.169.254", "100.64.0.1", "192.0.2.1", "198.18.0.1", "224.0.0.1", "240.0.0.1"),
        *("255.255.255.255", "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254"),
        *("fec0::1", "ff02::1", "2001:db8::1", "::ffff:10.0.0.1", "::10.0.0.1", "2001::1"),
        *("64:ff9b::7f00:1", "2002:7f00:1::", "no address"),
    ],
)
def test_addresses_that_are_not_of_the_public_internet(address: str) -> None:
    assert unfit(address) is not None


@pytest.mark.parametrize(
    "address",
    ["93.184.216.34", "8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"],
)
def test_addresses_that_are(address: str) -> None:
    assert unfit(address) is None
