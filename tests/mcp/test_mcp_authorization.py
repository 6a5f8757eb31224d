"""Servers that want to know who we are: told in a line, let in by a token however it is got."""

from __future__ import annotations

import stat
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx2
import orjson
import pytest

from interlock.mcp import BadDefinition, Definition, Host, Scope, Servers, Status, parsed
from interlock.mcp.consent import told
from interlock.mcp.login import LoggingIn, LoginFailed
from interlock.mcp.tokens import FILE, Tokens
from phases.world.updates import Notice, Update
from tests.mcp.support import GUARDED, listening
from tests.mcp.test_mcp_whole import PATIENCE, called, surroundings, text


@pytest.fixture
def base() -> Iterator[str]:
    with listening(GUARDED, "http") as base:
        yield base


def hub(base: str, *, environ: Mapping[str, str] | None = None, **more: Any) -> Definition:
    raw = {"type": "http", "url": f"{base}/mcp", **more}
    return parsed("whole", raw, scope=Scope.USER, environ=environ or {})


@asynccontextmanager
async def running(
    definition: Definition, home: Path, environ: Mapping[str, str] | None = None
) -> AsyncIterator[Servers]:
    servers = Servers(
        definitions=(definition,), patience=PATIENCE, environ=environ or {}, logins=Tokens(home)
    )
    host = Host(roots=(), person=None, tell=servers.tell, moved=servers.moved)

    async def nothing(servers: Servers) -> None:
        """Nobody is asked."""

    async with servers.running(host, nothing):
        await servers.settled()
        yield servers


async def standing(
    definition: Definition, home: Path, environ: Mapping[str, str] | None = None
) -> Status:
    async with running(definition, home, environ) as servers:
        return servers.status()[0]


async def log_in(definition: Definition, home: Path) -> bool:
    """A person opens the address that is shown, and says yes."""
    browsers: list[threading.Thread] = []

    def open_it(address: str) -> None:
        visit = partial(httpx2.get, address, follow_redirects=True)
        browsers.append(threading.Thread(target=visit))
        browsers[-1].start()

    logging_in = LoggingIn(definition=definition, tokens=Tokens(home), environ={}, show=open_it)
    try:
        with anyio.fail_after(60):
            return await logging_in.login()
    finally:
        for browser in browsers:
            await anyio.to_thread.run_sync(browser.join)


# --- told ---------------------------------------------------------------------------------------


async def test_a_server_that_wants_to_know_who_we_are_says_so_in_one_line(
    base: str, tmp_path: Path
) -> None:
    notices: list[str] = []

    def show(update: Update) -> None:
        if isinstance(update, Notice):
            notices.append(update.text)

    async with running(hub(base), tmp_path) as servers:
        servers.show = show
        await servers.ready()
        (status,) = servers.status()

    assert status.status == "needs-auth"
    assert status.error == (
        "wants to know who you are, and answers 401 (its metadata: "
        f"{base}/.well-known/oauth-protected-resource/mcp): "
        "interlock mcp login whole logs you in"
    )
    assert notices == [f"the MCP server whole {status.error}"]


async def test_over_sse_it_is_told_alike(tmp_path: Path) -> None:
    with listening(GUARDED, "sse") as base:
        raw: dict[str, Any] = {"type": "sse", "url": f"{base}/sse"}
        shut = await standing(parsed("whole", raw, scope=Scope.USER, environ={}), tmp_path)
        raw["headers"] = {"Authorization": "Bearer a-token-by-hand"}
        there = await standing(parsed("whole", raw, scope=Scope.USER, environ={}), tmp_path)

    assert shut.status == "needs-auth"
    assert "answers 401" in (shut.error or "")
    assert there.status == "connected"


# --- headers ------------------------------------------------------------------------------------


async def test_headers_let_us_in(base: str, tmp_path: Path) -> None:
    headers = {"Authorization": "Bearer ${TOKEN}"}

    good = hub(base, headers=headers, environ={"TOKEN": "a-token-by-hand"})
    bad = hub(base, headers=headers, environ={"TOKEN": "an-old-one"})

    assert (await standing(good, tmp_path)).status == "connected"
    refused = await standing(bad, tmp_path)
    assert refused.status == "needs-auth"
    assert (refused.error or "").startswith("does not take the headers of its definition")
    assert "login" not in (refused.error or "")


async def test_a_helper_prints_headers_for_the_server_it_is_told(
    base: str, tmp_path: Path
) -> None:
    command = (
        """test "$CLAUDE_CODE_MCP_SERVER_URL" = "$WANTED" && """
        """printf '{"Authorization": "Bearer a-token-by-hand"}'"""
    )
    environ = {"WANTED": f"{base}/mcp"}

    good = await standing(hub(base, headersHelper=command), tmp_path, environ)
    silent = await standing(hub(base, headersHelper="echo no; exit 0"), tmp_path)
    broken = await standing(
        hub(base, headersHelper="echo the vault is shut >&2; exit 3"), tmp_path
    )

    assert good.status == "connected"
    assert "printed no object of strings" in (silent.error or "")
    assert "headersHelper that ended with 3: the vault is shut" in (broken.error or "")


def test_whoever_is_asked_about_a_server_sees_what_it_would_run(base: str) -> None:
    asked = told(hub(base, headersHelper="cat ~/.token"))

    assert asked == f"{base}/mcp; it runs cat ~/.token"


# --- a program's own name -----------------------------------------------------------------------


def program(base: str, **more: Any) -> dict[str, Any]:
    return {"grant": "client_credentials", "clientId": "known", "issuer": base, **more}


@pytest.mark.parametrize(
    "secret", [{"clientSecret": "${HUSH}"}, {"clientSecretHelper": "echo hush"}]
)
async def test_a_program_gets_in_by_its_secret(
    base: str, tmp_path: Path, secret: dict[str, str]
) -> None:
    definition = hub(base, oauth=program(base, **secret), environ={"HUSH": "hush"})

    async with running(definition, tmp_path) as servers:
        said = text(await called(servers, "secret", tmp_path))
        httpx2.post(f"{base}/forget")
        again = text(await called(servers, "secret", tmp_path))  # with a new token, unasked

    assert said == again == "the treasure is under the tree"
    assert not (tmp_path / FILE).exists()


async def test_a_wrong_secret_is_told_with_what_the_token_endpoint_said(
    base: str, tmp_path: Path
) -> None:
    definition = hub(base, oauth=program(base, clientSecret="loud"))

    status = await standing(definition, tmp_path)

    assert status.status == "needs-auth"
    assert (status.error or "").startswith("does not take the credentials of its definition")
    assert "invalid_grant" in (status.error or "")


async def test_the_secret_is_shown_to_its_issuer_alone(base: str, tmp_path: Path) -> None:
    oauth = program("https://elsewhere.example", clientSecret="hush")

    status = await standing(hub(base, oauth=oauth), tmp_path)

    assert status.status == "needs-auth"
    assert "elsewhere.example" in (status.error or "")


@pytest.mark.parametrize(
    ("oauth", "words"),
    [
        ([], "oauth that is no object"),
        ({"grant": "password"}, "write authorization_code or client_credentials"),
        ({"clientID": "x"}, "has 'clientID' in oauth; there are grant, clientId"),
        ({"callbackPort": "80"}, "callbackPort that is no port"),
        ({"grant": "client_credentials", "clientId": "x"}, "has no issuer"),
        (
            {"grant": "client_credentials", "clientId": "x", "issuer": "https://a"},
            "has no clientSecret in oauth",
        ),
    ],
)
def test_a_wrong_definition_says_what_would_be_right(oauth: Any, words: str) -> None:
    with pytest.raises(BadDefinition, match=words.replace("(", r"\(")):
        hub("https://hub.example", oauth=oauth)


# --- a person's ---------------------------------------------------------------------------------


async def test_a_login_lets_us_in_and_is_kept_for_its_user_alone(
    base: str, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    assert await log_in(hub(base), home)

    async with running(hub(base), home) as servers:
        said = text(await called(servers, "secret", tmp_path))

    assert said == "the treasure is under the tree"
    assert stat.S_IMODE((home / FILE).stat().st_mode) == 0o600
    assert list(home.iterdir()) == [home / FILE]


async def test_a_token_that_has_run_out_is_renewed_unasked(base: str, tmp_path: Path) -> None:
    await log_in(hub(base), tmp_path)
    first = orjson.loads((tmp_path / FILE).read_bytes())[f"whole {base}/mcp"]

    httpx2.post(f"{base}/forget")  # before its time
    assert (await standing(hub(base), tmp_path)).status == "connected"
    second = orjson.loads((tmp_path / FILE).read_bytes())[f"whole {base}/mcp"]
    httpx2.post(f"{base}/forget")
    kept = orjson.loads((tmp_path / FILE).read_bytes())
    kept[f"whole {base}/mcp"]["ends"] = 1.0  # at its time
    (tmp_path / FILE).write_bytes(orjson.dumps(kept))
    assert (await standing(hub(base), tmp_path)).status == "connected"
    third = orjson.loads((tmp_path / FILE).read_bytes())[f"whole {base}/mcp"]

    given = [one["tokens"]["refresh_token"] for one in (first, second, third)]
    assert len(set(given)) == 3


async def test_a_login_that_has_ended_is_told_and_can_be_made_anew(
    base: str, tmp_path: Path
) -> None:
    await log_in(hub(base), tmp_path)
    httpx2.post(f"{base}/forget?all")

    status = await standing(hub(base), tmp_path)
    assert status.status == "needs-auth"
    assert (status.error or "").startswith("no longer takes what the login gave, and answers 401")
    assert await log_in(hub(base), tmp_path)
    assert (await standing(hub(base), tmp_path)).status == "connected"


async def test_a_call_that_meets_a_locked_door_says_so(base: str, tmp_path: Path) -> None:
    await log_in(hub(base), tmp_path)
    async with running(hub(base), tmp_path) as servers:
        httpx2.post(f"{base}/forget?all")
        tool = servers.tools["mcp__whole__secret"]
        with pytest.raises(Exception, match="The MCP server whole no longer takes"):
            await tool.run({}, surroundings(tmp_path))
        await servers.settled()
        shut = servers.status()[0].status
        await log_in(hub(base), tmp_path)  # in another terminal
        await servers.reconnect("whole")
        there = servers.status()[0].status

    assert (shut, there) == ("needs-auth", "connected")


async def test_a_login_is_for_one_address(base: str, tmp_path: Path) -> None:
    await log_in(hub(base), tmp_path)

    with listening(GUARDED, "http") as other:
        assert (await standing(hub(other), tmp_path)).status == "needs-auth"


async def test_a_person_who_declines_is_not_logged_in(base: str, tmp_path: Path) -> None:
    with pytest.raises(LoginFailed, match="came back without leave: access_denied"):
        await log_in(hub(base, oauth={"clientId": "nobody"}), tmp_path)

    assert not (tmp_path / FILE).exists()


async def test_there_is_no_logging_in_where_nobody_asks(tmp_path: Path) -> None:
    raw = {"command": "true"}
    with pytest.raises(BadDefinition, match="there is no logging in at it"):
        await log_in(parsed("whole", raw, scope=Scope.USER, environ={}), tmp_path)
