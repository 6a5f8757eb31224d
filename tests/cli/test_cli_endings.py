"""The endings of a headless run, as docs/headless.md tells them."""

from __future__ import annotations

import re

import pytest
from attrs import evolve

from interlock.cli.headless import exit_code_of
from interlock.cli.result import result_of
from interlock.summary import NO_ANSWER_FITS
from phases.world.states import ENDINGS
from tests.cli.fake_agent import whole
from tests.cli.shell import ROOT

_ROW = re.compile(r"^\| `(\w+)` \| (?:`(\w+)`)? ?\| `(\w+)` \| (true|false) \| (\d) \|$", re.M)
ROWS = _ROW.findall((ROOT / "docs" / "headless.md").read_text())


@pytest.mark.parametrize(("ending", "error", "subtype", "is_error", "code"), ROWS)
def test_an_ending_is_told_as_the_page_says(
    ending: str, error: str, subtype: str, is_error: str, code: str
) -> None:
    summary = evolve(whole("s", "ok"), reason=ending, error=error or None)

    said = result_of(summary)
    assert (said["subtype"], said["is_error"]) == (subtype, is_error == "true")
    assert exit_code_of(summary) == int(code)
    assert ("errors" in said) == subtype.startswith("error_")


def test_the_page_has_every_ending() -> None:
    assert {row[0] for row in ROWS} == {ending.value for ending in ENDINGS}
    assert NO_ANSWER_FITS in {row[1] for row in ROWS}
