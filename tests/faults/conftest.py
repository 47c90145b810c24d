"""Points are where Python is called: what is compiled has none in between, and its own faults are in tests/in_c."""

from collections.abc import Iterator

import pytest

from bridge import in_c


@pytest.fixture(autouse=True)
def everything_runs_in_python(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("BRIDGE_PURE", "1")
    with in_c.pure():
        yield
