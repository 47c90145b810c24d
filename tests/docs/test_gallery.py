"""The gallery: its page has every example with its picture, and the examples, run short, find what they are to find."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import bridge
from examples.gallery.__main__ import EXAMPLES, main, missing
from tests.helpers.pages import ROOT, text_of

PAGE = text_of("docs/gallery.md")


class Short(NamedTuple):
    """An example with arguments that make it short, a number of what it prints, and where that number is to lie."""

    name: str
    arguments: dict[str, int]
    found: str
    low: float
    high: float


SHORT = [
    Short("rain", {"steps": 60}, r"^y speed +\S+ +(\S+)", 0.30, 0.40),
    Short("rain", {"steps": 60}, r"^misfit (\S+)", 0.8, 1.1),
    Short("stencil", {"updates": 40}, r"at (\S+) inside", 0.9, 1.1),
    Short("kernel", {"steps": 300}, r"^misfit (\S+)", 0.85, 1.15),
    Short("kernel", {"steps": 300}, r"^speed +(\S+)", 0.53, 0.57),
    Short("posterior", {"draws": 60}, r"^deaths +\S+ +(\S+)", 0.6, 0.8),
    Short("epidemic", {"days": 50}, r"^contacts before +\S+ +(\S+)", 0.53, 0.57),
    Short("pendulum", {"updates": 8, "steps": 20}, r"before, (\S+) after", 0.0, 0.1),
    Short("nile", {"draws": 60}, r"^noise +(\S+)", 105, 140),
    Short("shock", {"updates": 30, "steps": 10}, r"grid, (\S+) with", 0.0, 0.03),
]
JULIA = {"epidemic", "pendulum", "nile", "shock"}


@pytest.mark.ci
@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            one,
            id=f"{one.name}-{k}",
            marks=pytest.mark.julia if one.name in JULIA else pytest.mark.ci,
        )
        for k, one in enumerate(SHORT)
    ],
)
def test_an_example_finds_what_it_is_to_find(case: Short, runs: dict[str, Any]) -> None:
    lacks = missing(case.name)
    if lacks:
        pytest.skip(f"{case.name} {lacks}")
    if case.name not in runs:
        text, figure = import_module(f"examples.gallery.{case.name}").run(**case.arguments)
        assert figure.axes
        runs[case.name] = text
    found = re.search(case.found, runs[case.name], re.MULTILINE)
    assert found is not None, runs[case.name]
    assert case.low <= float(found[1]) <= case.high


@pytest.mark.julia
def test_gradients_through_flux_are_those_of_differences_and_of_zygote_alone() -> None:
    lacks = missing("shock")
    if lacks:
        pytest.skip(f"shock {lacks}")
    from examples.gallery.shock import NETWORK, learning

    loss, _, weights, _, _ = learning(6)
    along = np.random.default_rng(0).normal(size=weights.shape)
    by_differences = (loss(weights + 1e-6 * along) - loss(weights - 1e-6 * along)) / 2e-6
    assert bridge.grad(loss)(weights) @ along == pytest.approx(by_differences, rel=1e-5)
    _, rebuild = bridge.julia.eval(NETWORK)
    around = np.random.default_rng(1).normal(size=(4, 20))
    squares = bridge.julia.function("(rebuild, weights, around) -> sum(abs2, rebuild(weights)(around))")
    alone = bridge.julia.function("using Zygote; (f, rebuild, w, x) -> Zygote.gradient(w -> f(rebuild, w, x), w)[1]")
    np.testing.assert_allclose(
        bridge.grad(squares, argnums=1)(rebuild, weights, around),
        alone(squares.julia_value, rebuild, weights, around),
        rtol=1e-10,
        atol=1e-12,
    )


@pytest.fixture(autouse=True)
def settings() -> Iterator[None]:
    """Examples may change what JAX does from then on; the tests after them want it as it was."""
    jax = pytest.importorskip("jax", reason="most examples need jax: python -m pip install -e '.[test]'")
    before = jax.config.jax_enable_x64
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.fixture(scope="module")
def runs() -> dict[str, Any]:
    return {}


def test_the_page_has_every_example_with_its_picture() -> None:
    assert re.findall(r"`examples/gallery/(\w+)\.py`", PAGE) == list(EXAMPLES)
    pictures = re.findall(r"\(gallery/(\w+)\.png\)", PAGE)
    assert pictures == list(EXAMPLES)
    assert all((ROOT / "docs" / "gallery" / f"{name}.png").stat().st_size > 10_000 for name in pictures)
    files = {path.stem for path in (ROOT / "examples" / "gallery").glob("*.py")} - {"__init__", "__main__"}
    assert files == set(EXAMPLES)


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any) -> None:
    pytest.importorskip("matplotlib", reason="matplotlib is needed: python -m pip install -e '.[test]'")
    monkeypatch.setitem(EXAMPLES, "stencil", ("jax", "no_such_package"))
    assert main(["stencil", "--to", str(tmp_path)]) == 1
    assert "stencil: left out, it needs no_such_package: pip install no_such_package" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["rainbow"])
    assert "there is no example 'rainbow': choose among rain" in capsys.readouterr().err
