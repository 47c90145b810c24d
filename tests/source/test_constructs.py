"""Every construct of Python that can stand in a function means read what it means unread."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

import bridge
from tests.source import comparing
from tests.source.constructs import rows

HOME = os.path.join(os.path.dirname(os.path.abspath(__file__)), "constructs")


@pytest.mark.ci
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("run", [comparing.read, comparing.differentiated], ids=lambda run: run.__name__)
@pytest.mark.parametrize("row", rows(), ids=lambda row: row.__name__.removeprefix("row_"))
def test_read_as_unread(row: Callable[[list[Any]], Any], run: comparing.Run) -> None:
    if run is comparing.differentiated and row.__name__ == "row_lifetimes":
        pytest.skip("what a differentiated call has changed lives as long as the call")
    expected = comparing.outcome(comparing.plain, row, HOME)
    assert comparing.outcome(comparing.plain, row, HOME) == expected, "the construct does not repeat itself"
    assert comparing.outcome(run, row, HOME) == expected


@pytest.mark.ci
def test_every_construct_is_read() -> None:
    unread = [row.__name__ for row in rows() if bridge.explain_source(row).startswith("# not read")]
    assert unread == []
