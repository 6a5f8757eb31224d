"""`python -m interlock.scripted SCRIPT.json [--port N] [--set NAME=VALUE]`: serve until Ctrl-C."""

from __future__ import annotations

import argparse
import asyncio
import sys

import attrs

from interlock.scripted.script import Script, ScriptError, load
from interlock.scripted.server import ScriptedServer


def main(argv: list[str] | None = None) -> int:
    """Serve a script. Exit status: 0 all good, 1 the verdict names faults, 2 not to be served."""
    arguments = _parser().parse_args(argv)
    try:
        script = load(arguments.script, dict(one.split("=", 1) for one in arguments.set))
    except (OSError, ScriptError) as error:
        print(f"interlock.scripted: {error}", file=sys.stderr)
        return 2
    settings = attrs.evolve(script.settings, port=arguments.port or script.settings.port)
    server = ScriptedServer(attrs.evolve(script, settings=settings))
    try:
        asyncio.run(_serve(server, script))
    except KeyboardInterrupt:
        pass
    except (OSError, OverflowError) as error:
        print(f"interlock.scripted: {error}", file=sys.stderr)
        return 2
    for fault in server.verdict():
        print(f"fault: {fault}", file=sys.stderr)
    print(f"served {len(server.requests)} requests from a script of {len(script.replies)}")
    return 1 if server.verdict() else 0


async def _serve(server: ScriptedServer, script: Script) -> None:
    async with server:
        print(f"scripted model server (no real model): {server.base_url}", flush=True)
        if script.description:
            print(script.description, flush=True)
        await asyncio.Event().wait()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m interlock.scripted",
        description="Serve the Anthropic Messages API on 127.0.0.1 from a script. No model runs.",
    )
    parser.add_argument("script", help="a JSON file of replies")
    parser.add_argument("--port", type=int, default=0, help="default: any free port")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        type=_pair,
        help="fills {{NAME}} in the script; may be given several times",
    )
    return parser


def _pair(said: str) -> str:
    if "=" not in said:
        raise argparse.ArgumentTypeError(f"{said!r} is no NAME=VALUE")
    return said


if __name__ == "__main__":
    raise SystemExit(main())
