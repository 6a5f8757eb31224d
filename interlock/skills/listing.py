"""Which skills there are, told to the model in few words: the instructions come when it asks.

Within a budget: first descriptions are shortened, all to the same length; then the last ones are
told by name alone; then left out, with their number. The order is that of names, so that one more
skill changes one line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import frozen

from interlock.skills.skill import Skill

LONGEST = 1_000  # characters of one description
_SHORTEST = 40  # a shorter one says nothing
_HEAD = "These can be used with the Skill tool; their instructions come as its result:"


def listing(skills: Iterable[Skill], budget: int) -> str:
    """The list in at most `budget` characters; "" where there is nothing to list."""
    listed = sorted((skill for skill in skills if skill.listed), key=lambda skill: skill.name)
    if not listed:
        return ""
    room = budget - len(_HEAD) - 1
    for longest in (LONGEST, *_shares(listed, room), _SHORTEST):
        lines = [_line(skill, longest) for skill in listed]
        if _size(lines) <= room:
            return "\n".join([_HEAD, *lines])
    return "\n".join([_HEAD, *_names(listed, room)])


def _shares(listed: Sequence[Skill], room: int) -> Iterable[int]:
    """The longest description that all can have."""
    names = sum(len(f"- {skill.name}: \n") for skill in listed)
    low, high = _SHORTEST, LONGEST
    while low < high:
        middle = (low + high + 1) // 2
        if names + sum(min(len(skill.description), middle) for skill in listed) <= room:
            low = middle
        else:
            high = middle - 1
    return (low,)


def _names(listed: Sequence[Skill], room: int) -> list[str]:
    """As many with their shortest description as leave room for the names of the others."""
    names = [f"- {skill.name}" for skill in listed]
    for whole in range(len(listed), -1, -1):
        lines = [_line(skill, _SHORTEST) for skill in listed[:whole]] + names[whole:]
        if _size(lines) <= room:
            return lines
    last = "({} more; ls the folders of skills to see them)"
    fitting = [
        count
        for count in range(len(names))
        if _size([*names[:count], last.format(len(names) - count)]) <= room
    ]
    count = fitting[-1] if fitting else 0
    return [*names[:count], last.format(len(names) - count)]


def _line(skill: Skill, longest: int) -> str:
    words = " ".join(skill.description.split())
    if len(words) > longest:
        words = f"{words[: longest - 1].rstrip()}…"
    return f"- {skill.name}: {words}"


def _size(lines: Iterable[str]) -> int:
    return sum(len(line) + 1 for line in lines)


@frozen(kw_only=True)
class Changes:
    """How the list differs from the one that was told."""

    added: tuple[Skill, ...] = ()
    changed: tuple[Skill, ...] = ()
    gone: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """For the model; "" where nothing changed."""
        lines = [
            f"new, or changed: {_line(one, LONGEST)[2:]}" for one in self.added + self.changed
        ]
        lines += [f"no longer there: {name}" for name in self.gone]
        return "\n".join(["The list of skills has changed:", *lines]) if lines else ""


def changes(old: Mapping[str, str], skills: Iterable[Skill]) -> Changes:
    """From the descriptions that were told, by name, to the skills there are now."""
    now = {skill.name: skill for skill in skills if skill.listed}
    return Changes(
        added=tuple(skill for name, skill in now.items() if name not in old),
        changed=tuple(
            skill
            for name, skill in now.items()
            if old.get(name, "") != skill.description and name in old
        ),
        gone=tuple(name for name in old if name not in now),
    )
