"""`python -m benchmarks.sizes` prints every size, saves its plot, and does not pass over a gradient that is another."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

jax = pytest.importorskip("jax", reason="jax is needed: python -m pip install -e '.[test]'")
pytest.importorskip("matplotlib", reason="matplotlib is needed: python -m pip install -e '.[test]'")

from benchmarks import sizes  # noqa: E402
from benchmarks.peers import mutation_bridge  # noqa: E402
from benchmarks.sizes import Effort, Series  # noqa: E402


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    """A peer sets JAX up for a process of its own; the tests after these want it as it was."""
    before = jax.config.jax_enable_x64, jax.config.jax_platforms
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before[0])
    jax.config.update("jax_platforms", before[1])


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sizes, "EFFORT", Effort(level=1, repeats=1, at_least=1, budget=0.1, patience=10.0))
    monkeypatch.setattr(
        sizes, "SERIES", (Series("heat", "heat", (10, 20), (2,)), Series("recurrence", "steps", (5, 99), ()))
    )


@pytest.mark.ci
def test_sizes_are_printed_and_plotted(short: None, tmp_path: Path, capsys: Any) -> None:
    assert sizes.main(["--to", str(tmp_path), "--most", "20"]) == 0
    said = capsys.readouterr().out
    assert [line.split("│")[2].strip() for line in said.splitlines() if line.startswith("│")] == ["10", "20", "5"]
    assert (tmp_path / "sizes.png").stat().st_size > 10_000


@pytest.mark.ci
def test_another_gradient_is_told(short: None, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def off(workload: Any) -> Any:
        run = mutation_bridge.prepare(workload)
        return lambda: tuple(1.001 * part for part in run())

    monkeypatch.setattr(sizes, "engine", lambda name: type("Peer", (), {"prepare": staticmethod(off)}))
    assert sizes.main(["--to", str(tmp_path), "--most", "10"]) == 1
    assert "heat, 10: JAX, rewritten has another gradient" in capsys.readouterr().out
