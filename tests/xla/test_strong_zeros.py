"""Strong zeros in compiled programs: the tests of the eager ones, with every transform compiled."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.xla import calling, compiled
from tests.rewind import test_strong_zeros as eager

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

PROGRAMS = eager.test_what_was_not_selected_has_no_gradient.pytestmark[0].args[1]  # type: ignore[attr-defined]
WHOLE = [test for name, test in vars(eager).items() if name.startswith("test_") and not hasattr(test, "pytestmark")]


class Compiled:
    """The package, its transforms compiled."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(bridge, name)
        transforms = ("grad", "value_and_grad", "vjp", "jvp", "jacrev", "jacfwd", "hessian", "hvp")
        return partial(found, engine="xla") if name in transforms else found


@pytest.fixture(autouse=True)
def _compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eager, "bridge", Compiled())


@pytest.mark.ci
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_what_was_not_selected_has_no_gradient(program: Callable[[Any], Any]) -> None:
    eager.test_what_was_not_selected_has_no_gradient(program)


@pytest.mark.ci
@pytest.mark.parametrize("test", WHOLE, ids=lambda f: f.__name__)
def test_as_eager(test: Callable[[], None]) -> None:
    test()


@pytest.mark.ci
def test_only_a_run_with_nans_mends() -> None:
    """A program whose gradients hold no NaN is compiled once; the mending one only when a NaN is met."""
    function = bridge.grad(eager.selected_by_where, engine="xla")
    np.testing.assert_allclose(function(np.array([1.0, 4.0])), [0.5, 0.25])
    assert len(function.compile_seconds) == 1
    np.testing.assert_allclose(function(eager.AT_ZERO), [0.0, 0.25])
    assert len(function.compile_seconds) == 2


@pytest.mark.ci
def test_calls_after_a_nan_begin_with_what_mends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plain program is run again ever more rarely, and always once it has met no NaN."""
    runs: list[int] = []
    for module in (calling, compiled):
        for name in ("quiet", "interruptible"):
            plain = getattr(module, name)
            monkeypatch.setattr(module, name, lambda *args, plain=plain, **kw: runs.append(1) or plain(*args, **kw))
    function = bridge.grad(eager.selected_by_where, engine="xla")
    without = np.array([1.0, 4.0])

    def runs_of(x: Any, expected: list[float]) -> int:
        runs.clear()
        np.testing.assert_allclose(function(x), expected)
        return len(runs)

    runs_of(without, [0.5, 0.25])
    # One run of the plain program, with a NaN, and one of the other; then 2, and after the next NaN 4 calls of one run.
    assert [runs_of(eager.AT_ZERO, [0.0, 0.25]) for _ in range(9)] == [2, 1, 1, 2, 1, 1, 1, 1, 2]
    assert [runs_of(without, [0.5, 0.25]) for _ in range(10)] == [1] * 10
    assert [runs_of(eager.AT_ZERO, [0.0, 0.25]) for _ in range(4)] == [2, 1, 1, 2]


@pytest.mark.parametrize("point", [2.0, 0.0], ids=["a number", "a NaN that strong zeros take out"])
def test_a_gradient_at_plain_numbers_inside(point: float) -> None:
    def inner(t: Any) -> Any:
        return np.where(t > 0, np.sqrt(t), 3.0 * t)

    def program(x: Any) -> Any:
        return np.sum(x) * bridge.grad(inner)(point)

    x = np.ones(3)
    expected = np.full(3, 0.5 / np.sqrt(point) if point else 3.0)
    np.testing.assert_allclose(bridge.grad(program)(x), expected)
    np.testing.assert_allclose(bridge.grad(program, engine="xla")(x), expected)
