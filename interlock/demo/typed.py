"""How the command that runs now can be typed again, in the folder where one stands.

After `make demo` it lies in `.venv/bin`, which is on nobody's PATH.
"""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

_NAME = "interlock"


def typed(argv0: str, executable: str, path: str | None) -> str:
    """The command's first words, quoted for a shell; the arguments are `sys.argv[0]`,
    `sys.executable` and what PATH holds.
    """
    scripts = (Path(argv0), Path(executable).with_name(_NAME))
    running = next((one for one in scripts if one.name == _NAME and one.is_file()), None)
    if running is None:
        return f"{shlex.quote(executable)} -m {_NAME}"
    found = shutil.which(_NAME, path=path)
    if found is not None and Path(found).samefile(running):
        return _NAME
    return shlex.quote(_shortest(running))


def _shortest(script: Path) -> str:
    try:
        whole, near = str(script.absolute()), os.path.relpath(script)
    except FileNotFoundError:  # the working folder is gone, so the path was a whole one
        return str(script)
    if os.sep not in near:
        near = f".{os.sep}{near}"  # a bare name would be looked for on PATH
    return min(near, whole, key=len)
