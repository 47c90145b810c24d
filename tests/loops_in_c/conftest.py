"""What the tests of loops in C share: a record of the loops that ran in C."""

from __future__ import annotations

from typing import Any

import pytest

from bridge.loops_in_c import running, tiers
from bridge.loops_in_c.functions import DERIVED
from bridge.rulebook import book


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of iterations of each loop that ran in C. No loop is too short to be compiled."""
    found: list[int] = []
    log = running.Beginning._log

    def counted(self: Any, *args: Any) -> None:
        found.append(args[-1])
        log(self, *args)

    monkeypatch.setattr(running.Beginning, "_log", counted)
    # Rules that other tests register would leave loops to Python.
    monkeypatch.setattr(book, "OF_USERS", book.OF_USERS - DERIVED)
    for name in ("HOT", "WORTH"):
        monkeypatch.setattr(tiers, name, 0.0)
    return found
