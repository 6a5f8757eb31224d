"""A real, small model behind llama.cpp's own Messages endpoint, in a process of its own.

    python -m tests.local_model.serving MODEL.gguf PORT

The server is that of the package `xllamacpp`, or a `llama-server` on the path. The model's own
template may not know tools; `tools.jinja` does, in the words that llama.cpp reads calls from.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from importlib.util import find_spec
from pathlib import Path

TEMPLATE = Path(__file__).with_name("tools.jinja")
ALIAS = "local"
SLOTS, WINDOW = 2, 8192  # runs side by side, and the tokens each of them has


def missing() -> str | None:
    """Why no model can be served here; None if one can."""
    if shutil.which("llama-server") or find_spec("xllamacpp"):
        return None
    return "neither the package xllamacpp nor the program llama-server is here"


def _in_this_process(model: str, port: int) -> None:
    # Threads that wait by spinning take the processor from the agent: a tenth of the speed.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    import xllamacpp

    given = xllamacpp.CommonParams()
    given.model.path, given.model_alias = model, {ALIAS}
    given.hostnames, given.port = ["127.0.0.1"], port
    given.n_ctx, given.n_parallel, given.kv_unified = WINDOW * SLOTS, SLOTS, False
    given.cpuparams.n_threads = given.cpuparams_batch.n_threads = 1
    given.n_threads_http = 8
    given.use_jinja, given.chat_template = True, TEMPLATE.read_text()
    given.warmup = given.ui = False
    kept = xllamacpp.Server(given)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    del kept


def _in_its_place(program: str, model: str, port: int) -> None:
    flags = {
        "--model": model,
        "--alias": ALIAS,
        "--host": "127.0.0.1",
        "--port": str(port),
        "--ctx-size": str(WINDOW * SLOTS),
        "--parallel": str(SLOTS),
        "--chat-template-file": str(TEMPLATE),
    }
    words = [word for pair in flags.items() for word in pair]
    os.execv(program, [program, *words, "--jinja", "--no-webui"])


def main() -> None:
    model, port = sys.argv[1], int(sys.argv[2])
    program = shutil.which("llama-server")
    if program is not None:
        _in_its_place(program, model, port)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    _in_this_process(model, port)


if __name__ == "__main__":
    main()
