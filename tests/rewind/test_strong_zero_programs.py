"""Every recorded program with unselected poles, under every engine, in both orders of derivative."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import BridgeError, RuleError, TraceError
from tests.rewind.strong_zero_programs import PROGRAMS, StrongZero

EAGER = ("native", "jax")
COMPILED = [program for program in PROGRAMS if program.eager is None]
SECOND = [program for program in PROGRAMS if program.first_only is None]


def with_engines(programs: list[StrongZero]) -> list[Any]:
    """Every program under the rule book, and in CI also under JAX."""
    under_jax = [pytest.param(program, "jax", marks=pytest.mark.ci, id=f"{program}-jax") for program in programs]
    return [pytest.param(program, "native", id=f"{program}-native") for program in programs] + under_jax


@pytest.fixture(params=EAGER)
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "jax":
        pytest.importorskip("jax", reason='engine="jax" needs JAX: pip install "mutation-bridge[jax]"')
    return str(request.param)


@pytest.fixture(autouse=True)
def _poles_are_expected() -> Any:
    with np.errstate(all="ignore"):
        yield


def assert_first_derivatives(program: StrongZero, engine: str) -> None:
    value, gradient = bridge.value_and_grad(program.function, engine=engine)(program.x)
    np.testing.assert_allclose(value, program.function(program.x.copy()), rtol=1e-12)
    np.testing.assert_allclose(gradient, program.gradient, rtol=1e-9, atol=1e-12)
    pushed, tangent = bridge.jvp(program.function, (program.x,), (np.ones_like(program.x),), engine=engine)
    np.testing.assert_allclose(pushed, value, rtol=1e-12)
    np.testing.assert_allclose(tangent, np.sum(program.gradient), rtol=1e-9, atol=1e-12)


def assert_second_derivatives(program: StrongZero, engine: str) -> None:
    ones = np.ones_like(program.x)
    inner = bridge.grad(program.function, engine="eager" if engine == "xla" else engine)
    for found in (
        bridge.hvp(program.function, (program.x,), (ones,), engine=engine),
        bridge.grad(lambda x: np.sum(inner(x)), engine=engine)(program.x),
    ):
        if program.curvature is None:
            assert np.all(np.isfinite(found)), found
        else:
            np.testing.assert_allclose(found, program.curvature, rtol=1e-9, atol=1e-12)


@pytest.mark.ci
@pytest.mark.parametrize(("program", "engine"), with_engines(PROGRAMS), indirect=["engine"])
def test_first_derivatives(program: StrongZero, engine: str) -> None:
    assert_first_derivatives(program, engine)
    columns = bridge.jacfwd(program.function, engine=engine)(program.x)
    np.testing.assert_allclose(columns, program.gradient, rtol=1e-9, atol=1e-12)


@pytest.mark.ci
@pytest.mark.parametrize(("program", "engine"), with_engines(SECOND), indirect=["engine"])
def test_second_derivatives(program: StrongZero, engine: str) -> None:
    if engine == "jax" and program.not_jax is not None:
        with pytest.raises(RuleError, match="JAX computes"):
            assert_second_derivatives(program, engine)
        return
    assert_second_derivatives(program, engine)


@pytest.mark.julia
def test_julia_is_right_or_refuses() -> None:
    """In one test, because one Julia serves all programs; three quarters of them must be answered."""
    answered = 0
    for program in PROGRAMS:
        try:
            assert_first_derivatives(program, "julia")
        except BridgeError as error:
            assert error.remedy, program
        else:
            answered += 1
    assert answered > 0.75 * len(PROGRAMS)


@pytest.mark.ci
@pytest.mark.parametrize("program", COMPILED, ids=str)
def test_compiled_first_derivatives(program: StrongZero) -> None:
    pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')
    assert_first_derivatives(program, "xla")


@pytest.mark.nightly
@pytest.mark.parametrize("program", [p for p in COMPILED if p in SECOND], ids=str)
def test_compiled_second_derivatives(program: StrongZero) -> None:
    pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')
    assert_second_derivatives(program, "xla")


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.eager is not None], ids=str)
def test_what_is_not_compiled_is_refused_by_name(program: StrongZero) -> None:
    pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')
    with pytest.raises(TraceError) as caught:
        bridge.grad(program.function, engine="xla")(program.x)
    assert caught.value.remedy


@pytest.mark.ci
@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.first_only is not None], ids=str)
def test_what_is_not_seen_through_twice_is_nan_or_right(program: StrongZero) -> None:
    """The limitation of docs/limitations.md: never another finite number."""
    second = bridge.hessian(program.function)(program.x)
    seen = np.isfinite(second)
    assert not np.all(seen)
    np.testing.assert_array_equal(second[seen], bridge.hessian(program.function, engine="xla")(program.x)[seen])


def test_ieee_zeros_show_that_the_programs_ask_something() -> None:
    poisoned = [p for p in PROGRAMS if np.any(np.isnan(bridge.grad(p.function, zeros="ieee")(p.x)))]
    assert len(poisoned) > 0.6 * len(PROGRAMS)


class Peak:
    """A function that counts its runs."""

    def __init__(self) -> None:
        self.runs = 0

    def __call__(self, x: Any) -> Any:
        self.runs += 1
        return np.sum(np.where(x > 0, x**1.5, 0.0))


@pytest.mark.parametrize("at", [np.array([0.0, 1.0]), np.array([4.0, 1.0])], ids=["pole", "smooth"])
def test_only_nested_nans_run_the_function_again(at: np.ndarray) -> None:
    peak = Peak()
    found = bridge.grad(lambda x: np.sum(bridge.grad(peak)(x)))(at)
    np.testing.assert_allclose(found, [0.0 if at[0] == 0 else 0.375, 0.75])
    assert peak.runs == (2 if at[0] == 0 else 1)


def test_a_pull_of_an_inner_gradient_mends_too() -> None:
    x = np.array([0.0, 1.0])
    value, pull = bridge.vjp(bridge.grad(Peak()), x)
    x[:] = 7.0
    for _ in range(2):
        np.testing.assert_allclose(pull(np.ones(2))[0], [0.0, 0.75])
    np.testing.assert_allclose(value, [0.0, 1.5])


@pytest.mark.parametrize("power", [0.5, 1.5])
def test_python_numbers_at_a_pole(power: float) -> None:
    """Python's own `0.0 ** -0.5` raises; the slope of a power is infinite there, as it is for arrays."""

    def f(x: Any) -> Any:
        return np.where(x > 0, x**power, 2.0)

    assert bridge.grad(f)(0.0) == 0.0
    assert bridge.hessian(f)(0.0) == 0.0
    assert bridge.grad(bridge.grad(f))(0.0) == 0.0
    assert bridge.jvp(lambda x: bridge.jvp(f, (x,), (1.0,))[1], (0.0,), (1.0,))[1] == 0.0
    assert bridge.grad(lambda x: x**0.5)(0.0) == np.inf


def masked_product(s: Any) -> Any:
    out = np.ones_like(s * np.ones((2, 3)))
    np.multiply(s, np.arange(6.0).reshape(2, 3), out=out, where=np.array([[True, False, True], [True, True, False]]))
    return np.sum(out * out)


@pytest.mark.parametrize("s", [np.array([2.0]), np.array([[2.0], [3.0]]), np.array([1.0, 2.0, 3.0]), 2.0], ids=str)
def test_a_mask_counts_once_for_an_operand_that_was_broadcast(s: Any, engine: str) -> None:
    found = bridge.grad(masked_product, engine=engine)(s)
    np.testing.assert_allclose(found, bridge.grad(masked_product, engine="native")(s), rtol=1e-12)
    bridge.check_gradient(masked_product)(s)


def test_a_row_without_terms_does_not_multiply_the_others(engine: str) -> None:
    """An engine's pull sums over broadcast axes: what is absent must be taken out before, and once."""

    def f(x: Any) -> Any:
        return (np.array([[np.inf, 1.0], [2.0, 3.0]]) / x)[1, 0]

    np.testing.assert_allclose(bridge.grad(f, engine=engine)(np.array([[0.0], [2.0]])), [[0.0], [-0.5]])
    np.testing.assert_allclose(bridge.grad(f, engine=engine)(np.array([0.5, 0.0])), [-8.0, 0.0])
