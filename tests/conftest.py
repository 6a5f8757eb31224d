"""Coverage of the machines: which edges the test run took, which guards it saw True and False.

What is counted, and how, is the plugin's that users have too (`interlock/testing/edges.py`); here
every call of the executor's own tests feeds it too, and a whole run must leave nothing unseen.
"""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import settings

pytest_plugins = ["interlock.testing.edges"]

# No deadline: a busy machine is no defect. In CI the examples are the same each time, so that a
# red run always means a change; at home they differ, so that they still find something.
settings.register_profile("house", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("house")


def pytest_configure(config: pytest.Config) -> None:
    # Here, not above: pytest loads the plugin itself, to rewrite its assertions.
    from interlock.testing.edges import COVERAGE
    from tests.tools.running import call_observers

    call_observers.append(COVERAGE.saw)
    if _whole_run(config):
        config.option.edges = "missing"
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # Started in the background of a shell: the commands under test would inherit deafness.
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)  # the processes of a parallel run have handed in theirs
def pytest_sessionfinish(session: pytest.Session) -> None:
    """A whole test run that leaves an edge or a guard value unseen has failed."""
    if hasattr(session.config, "workeroutput") or not _whole_run(session.config):
        return
    from interlock.testing.edges import COVERAGE, COVERED

    if not all(COVERAGE.report(one).whole for one in COVERED):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _whole_run(config: pytest.Config) -> bool:
    return bool(config.args == config.getini("testpaths") and not config.option.keyword)
