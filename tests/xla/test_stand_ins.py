"""Arrays that stand for abstract ones: on addresses of their own, of few mappings, and in no memory."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.linalg as sl

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

import bridge
from bridge.errors import NoRuleError
from bridge.rulebook.facts import facts_of
from bridge.rules.decompositions import factor_solved
from bridge.rules.scipy_matrix_functions import sylvester
from bridge.xla.tracing import stand_ins
from bridge.xla.tracing.compiled_home import CompiledHome
from bridge.xla.tracing.integers import bounds_of
from bridge.xla.tracing.stand_ins import StandIn, of_matrices, regular, untouched


@pytest.mark.ci
def test_large_arrays_lie_apart_and_hold_zeros() -> None:
    shapes = [(200, 100), (1 << 14, 1), (333, 77), (1, 1 << 22)] * 40
    arrays = [untouched(shape, np.dtype(float)) for shape in shapes]
    ends = sorted((one.__array_interface__["data"][0], one.nbytes) for one in arrays)
    assert all(start + size <= other for (start, size), (other, _) in pairwise(ends))
    assert [one.shape for one in arrays] == shapes
    assert not any(one[0].any() or one[-1].any() for one in arrays)


@pytest.mark.ci
def test_many_arrays_take_few_mappings(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    plain = stand_ins._mapped
    monkeypatch.setattr(stand_ins, "_mapped", lambda size: made.append(size) or plain(size))
    monkeypatch.setattr(stand_ins, "_pool", stand_ins._Pool())
    kept = [untouched((1 << 15,), np.dtype(float)) for _ in range(1000)]
    assert len(kept) == 1000
    assert len(made) <= 5


def stood_for(*shape: int) -> np.ndarray:
    return np.empty(shape).view(StandIn)


FACTORING: dict[str, Callable[..., Any]] = {
    "solve": lambda run: run(np.linalg.solve, stood_for(40, 40), stood_for(40, 30)),
    "solve one": lambda run: run(np.linalg.solve, stood_for(40, 40), stood_for(40)),
    "solve many": lambda run: run(np.linalg.solve, stood_for(30, 5, 5), stood_for(30, 5, 20)),
    "plain right-hand side": lambda run: run(np.linalg.solve, stood_for(40, 40), np.ones((40, 2))),
    "cholesky": lambda run: run(np.linalg.cholesky, stood_for(50, 50), upper=True),
    "qr": lambda run: run(np.linalg.qr, stood_for(50, 20), "complete"),
    "triangular": lambda run: run(factor_solved.function, stood_for(40, 40), stood_for(40, 30), True),
    "sylvester": lambda run: run(sylvester.function, stood_for(40, 40), stood_for(20, 20), stood_for(40, 20)),
    "power": lambda run: run(np.linalg.matrix_power, stood_for(40, 40), -3),
    "another length": lambda run: run(
        lambda x, y: np.linalg.inv(np.eye(len(x) + len(y))), stood_for(40), stood_for(30)
    ),
}


@pytest.mark.ci
@pytest.mark.parametrize("name", FACTORING)
def test_results_of_factorizations_look_as_those_of_the_whole_matrices(name: str) -> None:
    def plainly(function: Any, *args: Any, **kwargs: Any) -> Any:
        return function(*map(regular, args), **kwargs)

    def briefly(function: Any, *args: Any, **kwargs: Any) -> Any:
        return of_matrices(function, regular, args, kwargs)

    expected, found = FACTORING[name](plainly), FACTORING[name](briefly)
    for one, other in zip(*([x] if isinstance(x, np.ndarray) else x for x in (expected, found)), strict=True):
        assert (other.shape, other.dtype, other.strides) == (one.shape, one.dtype, one.strides)


RANDOM = np.random.default_rng(0)
SYSTEMS: dict[str, Callable[[Any, int], Any]] = {
    "known right-hand side": lambda a, n: np.linalg.solve(a, np.arange(2.0 * n).reshape(n, 2)),
    "known vector": lambda a, n: np.linalg.solve(a, np.arange(1.0, n + 1)),
    "known batch": lambda a, n: np.linalg.solve(a, np.arange(60.0 * n).reshape(30, n, 2)),
    "known matrix": lambda a, n: np.linalg.solve(np.eye(n) + np.ones((n, n)), a),
    "known triangle": lambda a, n: sl.solve_triangular(np.tri(n) + np.eye(n), a, lower=True) * a,
    "known factor": lambda a, n: np.linalg.cholesky(np.eye(n) + np.ones((n, n))) @ a,
    "nothing known": lambda a, n: np.linalg.inv(a) @ np.linalg.cholesky(a @ a.T),
}


@pytest.mark.ci
@pytest.mark.parametrize("mode", ["value", "grad", "jvp", "hvp"])
@pytest.mark.parametrize("n", [3, 20])
@pytest.mark.parametrize("name", SYSTEMS)
def test_known_operands_are_computed_with(name: str, n: int, mode: str) -> None:
    """Stand-ins say how a result looks; in a context around the trace an operand that is known is one."""
    a, v = RANDOM.normal(size=(2, n, n)) + 2 * n * np.eye(n)

    def program(a: Any) -> Any:
        return np.sum(SYSTEMS[name](a, n) ** 2)

    run: dict[str, Callable[[str], Any]] = {
        "value": lambda engine: bridge.value_and_grad(program, engine=engine)(a)[0],
        "grad": lambda engine: bridge.grad(program, engine=engine)(a),
        "jvp": lambda engine: bridge.jvp(program, (a,), (v,), engine=engine)[1],
        "hvp": lambda engine: bridge.hvp(program, (a,), (v,), engine=engine),
    }
    np.testing.assert_allclose(run[mode]("xla"), run[mode]("native"), rtol=1e-8, atol=1e-9)


@pytest.mark.ci
def test_no_whole_matrix_is_factorized_while_a_program_is_traced(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []

    def program(a: Any) -> Any:
        b = np.linalg.cholesky(a)
        return np.sum(np.linalg.solve(b, a[:, 0])) + np.sum(np.linalg.inv(a))

    plain_value = CompiledHome.value

    def value(self: Any, call: Any, function: Any, values: Any, named: Any) -> Any:
        def noted(function: Any, args: Any, kwargs: Any) -> Any:
            if facts_of(function).fails_on:
                sizes.extend(max(x.shape) for x in args if isinstance(x, np.ndarray))
            return call(function, args, kwargs)

        return plain_value(self, noted, function, values, named)

    monkeypatch.setattr(CompiledHome, "value", value)
    a = np.eye(64) * 2.0
    gradient = bridge.xla(bridge.grad(program))(a)
    np.testing.assert_allclose(gradient, bridge.grad(program)(a))
    assert sizes
    assert max(sizes) < 64


BANDS = np.array([[1.0] * 20, [4.0] * 20, [0.5] * 20])

WITHOUT_COUNTERPART: dict[str, tuple[Callable[..., Any], Any]] = {
    "banded": (lambda ab, b: sl.solve_banded((1, 1), ab, b), BANDS),
    "lower band": (lambda ab, b: sl.solve_banded((2, 0), ab, b), BANDS + np.array([[4.0], [0.0], [0.0]])),
    "symmetric band": (lambda ab, b: sl.solveh_banded(ab, b), BANDS[:2]),
    "factor of a band": (lambda ab, b: sl.cholesky_banded(ab)[1] * b, BANDS[:2]),
    "factor of a lower band": (lambda ab, b: sl.cholesky_banded(ab, lower=True)[0] * b, BANDS[1:]),
    "toeplitz": (lambda ab, b: sl.solve_toeplitz(ab[1] / (1 + np.arange(20)), b), BANDS),
}


@pytest.mark.ci
@pytest.mark.parametrize("name", WITHOUT_COUNTERPART)
def test_what_jax_does_not_factorize_is_refused_by_name(name: str) -> None:
    """While it was traced it met zeros, and raised LinAlgError without a word of what it was."""
    function, matrix = WITHOUT_COUNTERPART[name]

    def program(ab: Any, b: Any) -> Any:
        return np.sum(function(ab, b) ** 2)

    assert np.isfinite(bridge.grad(program)(matrix, np.ones(20))).all()
    with pytest.raises(NoRuleError, match=r"JAX has no counterpart of scipy\.linalg\.(solve|cholesky)"):
        bridge.xla(bridge.grad(program))(matrix, np.ones(20))


@pytest.mark.ci
def test_addresses_that_nobody_has_are_a_memory_error() -> None:
    with pytest.raises(MemoryError, match=re.escape("no addresses for an array of")):
        untouched((1 << 58,), np.dtype(float))


@pytest.mark.ci
def test_the_largest_integer_bounds_no_loop() -> None:
    assert bounds_of(0, (1 << 63) - 1) == (0, None)
    assert bounds_of(0, 1 << 40) == (0, 1 << 40)
