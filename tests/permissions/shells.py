"""Real bash, run where it can hurt nobody, to learn which commands a line really runs.

`PATH` holds stubs only; each writes its words down. The few builtins that could reach out of the
empty folder are switched off before the line is read.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from attrs import frozen

STUBS = ("ls", "rm", "git", "cat", "xargs", "sudo", "env", "timeout", "nohup", "make", "x")
# A file for each: two of a pipeline must not write into one another's words.
_STUB = '#!{bash}\nprintf \'%s\\0\' "${{0##*/}}" "$@" >{log}/$$\n'
# The line comes by argument and is evaluated, as the Bash tool does it.
_RUN = 'enable -n kill exec source . ulimit umask wait suspend; eval "$1"'


@frozen(kw_only=True)
class RealBash:
    """One empty folder with stubs in `bin`."""

    folder: Path
    bash: str

    @classmethod
    def within(cls, folder: Path) -> RealBash | None:
        """None where there is no bash."""
        bash = shutil.which("bash")
        if bash is None:
            return None
        (folder / "bin").mkdir()
        (folder / "work").mkdir()
        for name in STUBS:
            stub = folder / "bin" / name
            stub.write_text(_STUB.format(bash=bash, log=folder / "log"))
            stub.chmod(0o755)
        (folder / "bin" / "bash").symlink_to(bash)  # for lines inside lines
        return cls(folder=folder, bash=bash)

    def ran(self, line: str) -> list[tuple[str, ...]]:
        """The words of each stub that the line ran, those in the background too."""
        log = self.folder / "log"
        for folder in (log, self.folder / "work"):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
        read_end, write_end = os.pipe()
        try:
            subprocess.run(
                [self.bash, "--norc", "--noprofile", "-c", _RUN, "bash", line],
                cwd=self.folder / "work",
                env={"PATH": str(self.folder / "bin"), "HOME": str(Path.home())},
                stdin=subprocess.DEVNULL,
                stdout=write_end,
                stderr=write_end,
                timeout=5,
                check=False,
            )
        finally:
            os.close(write_end)
            while os.read(read_end, 65536):  # until the last of them has let go
                pass
            os.close(read_end)
        return [
            tuple(os.fsdecode(word) for word in each.read_bytes().split(b"\0")[:-1])
            for each in sorted(log.iterdir())
        ]
