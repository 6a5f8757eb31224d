"""The flags of a run, and what they ask for. Imports nothing heavy: `--help` passes here.

Spelled as drivers of agent command lines spell them: `--flag value` and `--flag=value`, both
`--allowedTools` and `--allowed-tools`, lists by commas, spaces or repetition.
"""

from __future__ import annotations

import argparse
import math
import os
import uuid
from collections.abc import Sequence
from difflib import get_close_matches
from typing import NoReturn

from interlock.errors import UsageError
from interlock.token_budget import amount_of

MODES = ("default", "acceptEdits", "plan", "dontAsk", "bypassPermissions")
SANDBOX = ("required", "auto", "off")
FORMATS = ("text", "json", "stream-json")
INPUTS = ("text", "stream-json")
EFFORTS = ("low", "medium", "high", "xhigh", "max")
THINKING = ("adaptive", "disabled")
DISPLAYS = ("summarized", "omitted")

_EPILOG = """\
commands:
  trace RUN [--json]       what a run did, edge by edge
  explain RUN [--step N]   why it went that way: the whole run, or one edge and all others
  replay RUN...            take every decision again, run what was recorded again; --what-if
  record RUN [--scrub]     keep a recorded run as a file that can be run again anywhere
  context RUN              what filled the window at its end, what made room before
  diagram [MACHINE]        draw the machine (--format mermaid|table, --check)
  check                    prove the laws of the loop, print its bounds
  rewind [SESSION]         go back to before a prompt: conversation, files or both
  sessions [tree|show|…]   the sessions of this folder: list, branches, rename, delete
  agents                   the agent types there are, and where each comes from
  serve                    run agents of other Interlock processes here, over HTTP
  worktrees [list|clean]   what agents have left in trees of their own; clean: the empty ones go
  permissions explain CALL whether a call like 'Bash(git push)' would run, and why
  mcp COMMAND              MCP servers: list, get, add, remove; serve offers our own tools
  config show [--origin]   every setting in force, where it comes from, and why
  config check             whether all settings files can be used
  memory [PATH]            which notes and memory the model is told, from where, how large
  skills                   the skills and slash commands that there are, what is odd in them
  demo                     a whole session against a scripted model, without a key

RUN is a run id, a session id, the beginning of one, a path, or: last

Without -p, at a terminal, it is a session: type on while it works, /help lists the commands.
The prompt may come from an argument, from standard input, or both; then they are joined.
With a prompt argument, standard input is read only if it is a file, or if data arrives on it
within a second.

Exit codes: 0 whole answer, 1 anything else, 129 hangup, 130 Ctrl-C, 141 reader gone, 143 SIGTERM.
The first Ctrl-C stops the run and saves the session; a third leaves at once.
"""


class Parser(argparse.ArgumentParser):
    """Raises UsageError where argparse would print its own lines and exit 2."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(message)


def run_parser() -> Parser:
    """The parser for `interlock [flags] [prompt]`; its help has the flags in this order."""
    parser = Parser(
        prog="interlock",
        description="A coding agent whose loop is an explicit finite state machine.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    for part in (
        _add_doors,
        _add_bounds,
        _add_words,
        _add_permissions,
        _add_asking,
        _add_surroundings,
        _add_session,
    ):
        part(parser)
    return parser


def _add_doors(parser: Parser) -> None:
    """What goes in, and how what comes out is told."""
    add = parser.add_argument
    add("prompt", nargs="*", help="what to do")
    add("-v", "--version", action="store_true", help="print the version and exit")
    add("-p", "--print", action="store_true", help="print the answer and exit; ask nobody")
    add("--output-format", choices=FORMATS, default="text", help="default: text")
    add("--input-format", choices=INPUTS, default="text", help="stream-json: driven by a program")
    add("--verbose", action="store_true", help="show on stderr what happens")
    add(
        "--record",
        action=argparse.BooleanOptionalAction,
        help="write down what the world answers (the default), so that it can be run again",
    )
    add("--debug", action="store_true", help="log every edge of the machine to stderr")
    add("--include-partial-messages", action="store_true", help="with stream-json: raw events")
    add("--replay-user-messages", action="store_true", help="with it: prompts are told back")
    add(
        "--permission-prompt-tool",
        metavar="TOOL",
        help="with it: who is asked; stdio: the program",
    )
    add("--include-hook-events", action="store_true", help="with stream-json: hooks as they run")


def _add_bounds(parser: Parser) -> None:
    """How far it may go."""
    add = parser.add_argument
    add("--max-turns", type=_turns, metavar="N", help="model calls with their tools")
    add("--max-budget-usd", type=_dollars, metavar="X", help="stop when this much is spent")
    add("--token-budget", type=_tokens, metavar="N", help="use up to N output tokens, e.g. 500k")


def _add_words(parser: Parser) -> None:
    """Which model is asked, and what it is told."""
    add = parser.add_argument
    add("--model", type=_some, metavar="M", help="default: as settings say, else our own")
    add("--fallback-model", type=_some, metavar="M,M", help="asked when the first is overloaded")
    add("--system-prompt", metavar="TEXT", help="in place of our own")
    add("--system-prompt-file", type=_some, metavar="FILE", help="the same, from a file")
    add("--append-system-prompt", metavar="TEXT", help="behind our own")
    add("--json-schema", metavar="JSON|@FILE", help="the answer is JSON that fits this schema")


def _add_permissions(parser: Parser) -> None:
    """What it may do."""
    add = parser.add_argument
    for name, alias, words in (
        ("--allowedTools", "--allowed-tools", "run without asking: Read, 'Bash(git:*)'"),
        ("--disallowedTools", "--disallowed-tools", "never run"),
    ):
        add(name, alias, nargs="+", action="extend", metavar="RULE", help=words)
    add("--tools", nargs="+", action="extend", metavar="NAME", help="offer only these")
    add("--permission-mode", choices=MODES, help="when no rule decides; default: default")


def _add_asking(parser: Parser) -> None:
    """How the model is asked, beside what it is told."""
    add = parser.add_argument
    add("--effort", choices=EFFORTS, help="how much the model spends on an answer")
    add("--thinking", choices=THINKING, help="whether the model thinks; default: as it does")
    add("--max-thinking-tokens", type=_count, metavar="N", help="0: it does not think")
    add("--thinking-display", choices=DISPLAYS, help="what is shown of it")
    add("--task-budget", type=_turns, metavar="N", help="tokens that the model is told it has")
    add("--betas", nargs="+", action="extend", metavar="NAME", help="beta features of the API")


def _add_surroundings(parser: Parser) -> None:
    """What it works with, and where."""
    add = parser.add_argument
    add("--settings", metavar="FILE|JSON", help="over the settings files that are found")
    add(
        "--setting-sources",
        metavar="S,S",
        help="settings files to read: user,project,local (default: all of them)",
    )
    add("--mcp-config", nargs="+", action="extend", metavar="FILE|JSON", help="MCP servers too")
    add("--strict-mcp-config", action="store_true", help="no MCP servers but those")
    add("--add-dir", nargs="+", action="extend", metavar="DIR", help="work in these folders too")
    add("--sandbox", choices=SANDBOX, help="keep commands in the working folder; default: off")
    add("--agents", metavar="JSON|@FILE", help="agent types: {name: {description, prompt, ...}}")
    add("--cwd", metavar="DIR", help="the working folder; default: where it is started")


def _add_session(parser: Parser) -> None:
    """Which session goes on."""
    add = parser.add_argument
    add("-c", "--continue", action="store_true", help="go on with the newest session here")
    add("-r", "--resume", nargs="?", const="", metavar="ID|TITLE", help="go on with this session")
    add("--fork-session", action="store_true", help="go on in a branch, leave that one as it is")
    add(
        "--resume-session-at",
        type=_some,
        metavar="MESSAGE",
        help="with --resume: go on from this message; what came after it stays as a branch",
    )
    add("--resume-drops-turn", metavar="PROMPT", help="with it: only this prompt's turn is left")
    add("--session-mirror", action="store_true", help="with stream-json: told what is written")
    add_plugins(parser)
    add("--session-id", type=_uuid, metavar="UUID", help="of the new session or branch")


def add_plugins(parser: argparse.ArgumentParser) -> None:
    words = "load the plugin in this folder; once for each"
    parser.add_argument("--plugin-dir", action="append", metavar="DIR", help=words)


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The flags of a run. Raises UsageError that names what is wrong and what comes near."""
    parser = run_parser()
    given = [decoded(each) for each in argv]
    # argparse loses the -- on its way; behind it everything is prompt, whatever it looks like.
    dashes = given.index("--") if "--" in given else len(given)
    flags, rest = parser.parse_known_intermixed_args(given[:dashes])
    if rest:
        name = rest[0].partition("=")[0]
        near = get_close_matches(name, parser._option_string_actions, n=1)
        hint = f"; did you mean {near[0]}?" if near else "; see interlock --help"
        raise UsageError(f"unknown flag {name}{hint}")
    words = [*flags.prompt, *given[dashes + 1 :]]
    flags.prompt = " ".join(words) if words else None
    _insist_on_one_session(flags)
    if flags.input_format != "stream-json":
        _insist_on_no_host(flags)
    if flags.system_prompt is not None and flags.system_prompt_file is not None:
        raise UsageError("--system-prompt and --system-prompt-file are two prompts; use one")
    if flags.output_format == "stream-json" and not flags.verbose:
        raise UsageError("--output-format stream-json needs --verbose")
    if flags.input_format == "stream-json" and flags.output_format != "stream-json":
        raise UsageError("--input-format stream-json needs --output-format stream-json")
    if flags.input_format == "stream-json" and flags.prompt is not None:
        raise UsageError("with --input-format stream-json prompts come on standard input alone")
    return flags


def _insist_on_no_host(flags: argparse.Namespace) -> None:
    """Raise for what only a program at the other end can be told or asked."""
    given = {
        "--replay-user-messages": flags.replay_user_messages,
        "--permission-prompt-tool": flags.permission_prompt_tool,
        "--session-mirror": flags.session_mirror,
        "--resume-drops-turn": flags.resume_drops_turn is not None,
    }
    for name, value in given.items():
        if value:
            raise UsageError(f"{name} needs --input-format stream-json")


def _insist_on_one_session(flags: argparse.Namespace) -> None:
    resumes = flags.resume is not None or getattr(flags, "continue")
    if flags.resume is not None and getattr(flags, "continue"):
        raise UsageError("--continue and --resume name two sessions; use one of them")
    if flags.fork_session and not resumes:
        raise UsageError("--fork-session needs a session: --continue, or --resume with its name")
    if flags.resume_session_at is not None and not resumes:
        raise UsageError("--resume-session-at needs a session: --resume with its name")
    if flags.session_id is not None and resumes and not flags.fork_session:
        raise UsageError(
            "a session that is resumed has its id: --session-id needs --fork-session beside it"
        )


def words_of(values: Sequence[str] | None) -> tuple[str, ...]:
    """The items of a list flag: split at commas and blanks that stand outside parentheses."""
    found: list[str] = []
    for value in values or ():
        depth, item = 0, ""
        for letter in value:
            if depth == 0 and (letter == "," or letter.isspace()):
                found.append(item)
                item = ""
                continue
            depth = max(0, depth + (letter == "(") - (letter == ")"))
            item += letter
        found.append(item)
    return tuple(dict.fromkeys(item for item in found if item))


def decoded(argument: str) -> str:
    """An argument as valid Unicode, whatever bytes the shell gave."""
    return os.fsencode(argument).decode("utf-8", "replace")


def _turns(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 up")
    return int(text)


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0 up")
    return int(text)


def _dollars(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no amount above 0")
    return value


def _tokens(text: str) -> int:
    value = amount_of(text)
    if value is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of tokens, like 500k or 2M")
    return value


def _some(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("is empty")
    return text.strip()


def _uuid(text: str) -> str:
    try:
        return str(uuid.UUID(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no UUID") from None
