"""Skills and commands as people write them."""

from __future__ import annotations

from pathlib import Path


def skill(folder: Path, name: str, text: str = "Do it.", /, **fields: str) -> Path:
    """A skill in `folder` (the user's own, or `.claude` of a project); underscores are dashes."""
    path = folder / "skills" / name / "SKILL.md"
    return _written(path, text, {"description": f"Use it for {name}.", **fields})


def command(folder: Path, name: str, text: str = "Do it.", /, **fields: str) -> Path:
    """A command; a name with slashes lies in folders."""
    return _written(folder / "commands" / f"{name}.md", text, fields)


def _written(path: Path, text: str, fields: dict[str, str]) -> Path:
    lines = "".join(f"{name.replace('_', '-')}: {value}\n" for name, value in fields.items())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\n{lines}---\n{text}\n" if lines else text)
    return path
