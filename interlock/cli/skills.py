"""`interlock skills`: the skills and commands of a session here, whose they are, what is odd.

Exit code 1 where a file could not be used at all.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence

from interlock.cli.flags import Parser, add_plugins, decoded
from interlock.cli.place import folder_of, insist_on_stdout
from interlock.errors import SettingsError
from interlock.hooks.registering import parse
from interlock.skills import Skill, SkillBook, read

_WIDTH = 100  # characters of a description


def run(argv: Sequence[str]) -> int:
    """Run the command. Raises SettingsError for an environment that cannot be used."""
    from interlock.cli.headless import plugins_of
    from interlock.configuration import Flags, sources_of
    from interlock.configured import configured
    from interlock.knowledge import book_of
    from interlock.options import Options
    from interlock.permissions.explain import judge_of

    asked = _parser().parse_args([decoded(each) for each in argv])
    insist_on_stdout()
    folder = folder_of(asked.cwd)
    asking = Options(cwd=folder, plugins=plugins_of(asked.plugin_dir))
    found = configured(asking, Flags(sources=sources_of(None)), os.environ, key=False)
    options = found.options
    withheld, shipped = judge_of(options).withholds, options.shipped
    book = book_of(found.settings, folder, withheld, shipped=shipped)
    broken = () if options.plugins is None else options.plugins.problems
    for line in (*told(book), *(f"! {one.line}" for one in broken)):
        print(line)
    unusable = bool(broken) or any(problem.unusable for problem in book.found.problems)
    return 1 if unusable or any(map(_hooks_problem, book.skills.values())) else 0


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="interlock skills", allow_abbrev=False)
    parser.add_argument("--cwd", metavar="DIR", help="the working folder")
    add_plugins(parser)
    return parser


def told(book: SkillBook) -> Iterator[str]:
    """The report, line by line."""
    from interlock.cli.commands import COMMANDS

    skills = sorted(book.skills.values(), key=lambda skill: skill.name)
    for skill in skills:
        yield f"{_named(skill)}: {_cut(skill.description) or 'no description'}"
        further = f", for {', '.join(skill.paths)}" if skill.paths else ""
        yield f"  {skill.origin} {skill.kind}, {_for(skill)}{further}; {skill.path}"
    if not skills:
        yield (
            "no skills and no commands: they lie in .claude/skills/NAME/SKILL.md and"
            " .claude/commands/NAME.md"
        )
    for skill in book.found.shadowed:
        taken = book.skills[skill.name]
        yield f"! {skill.path}: not used, {taken.origin} {taken.kind} /{taken.name} goes before it"
    for skill in skills:
        if (words := _hooks_problem(skill)) is not None:
            line = read(skill.path).line_of("hooks") or 1
            yield f"! {skill.path}:{line}: {words}; it is not used"
        if skill.by_user and skill.name in COMMANDS:
            rest = "the model alone can use it" if skill.listed else "nobody can use it"
            yield f"! {skill.path}: /{skill.name} is a command of interlock itself; {rest}"
    for problem in book.found.problems:
        yield f"! {problem.place}: {problem.words}"


def _hooks_problem(skill: Skill) -> str | None:
    """Why the hooks it brings cannot be understood; then it is refused when it is used."""
    try:
        parse(skill.hooks, f"{skill.kind} {skill.name}")
    except SettingsError as error:
        return str(error)
    return None


def _named(skill: Skill) -> str:
    return f"/{skill.name} {skill.argument_hint}".rstrip()


def _for(skill: Skill) -> str:
    match skill.by_user, skill.listed:
        case True, True:
            return "for you and the model"
        case True, False:
            return "for you alone"
        case False, True:
            return "for the model alone"
    return "for nobody"


def _cut(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _WIDTH else f"{words[: _WIDTH - 1]}…"
