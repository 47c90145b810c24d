"""The engine "jax": the same gradients as the rule book's, by `jax.vjp` and `jax.jvp` of every operation."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

import bridge
import bridge.numpy
from bridge.errors import BridgeError, EngineNotAvailable, NoRuleError, RuleError
from bridge.extend import RULES
from tests.helpers import finite_differences as reference
from tests.programs import PROGRAMS, Program

jax = pytest.importorskip("jax", reason='engine="jax" needs JAX: pip install "mutation-bridge[jax]"')

ROOT = Path(__file__).parents[2]
CASES = json.loads((ROOT / "tests/conformance/cases.json").read_text(encoding="utf-8"))
# JAX has none of Python's `math`: an engine that is asked for every operation refuses it by name.
RIGHT = [p for p in PROGRAMS if p.raises is None and p.name != "mutation: math function of a tracked value"]
CORPUS = [case for case in CASES if "numpy_program" in case]
X = np.array([0.3, -0.5, 1.1])

# Here JAX's derivative is NaN, and says so, where the rule book has the one of the whole composition.
NOT_FINITE = {"l03-svd-equal-singular-values"}
# Whether two singular values that are zero but for rounding are equal is the machine's choice.
FINITE_OR_NOT = {"l04-sum-singular-values-rank-one"}


def differentiable(program: Program) -> tuple[int, ...]:
    return tuple(k for k, x in enumerate(program.inputs) if reference.is_differentiable(x)) or (0,)


def gradients(program: Program, engine: str) -> Any:
    function = bridge.value_and_grad(program.under(bridge.numpy), argnums=differentiable(program), engine=engine)
    with np.errstate(all="ignore"):
        return function(*reference.replicas(program.inputs))


def tolerance_of(arrays: Any) -> float:
    return 1e-10 if all(x.dtype.char not in "efF" for x in arrays) else 1e-5


def assert_equal(found: Any, expected: Any, tolerance: float) -> None:
    largest = np.max(np.abs(expected), initial=1.0, where=np.isfinite(expected))
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * largest)


@pytest.mark.ci
@pytest.mark.parametrize("program", RIGHT, ids=str)
def test_programs_have_the_gradients_of_the_rule_book(program: Program) -> None:
    value, expected = gradients(program, "native")
    found_value, found = gradients(program, "jax")
    assert np.asarray(found_value).tobytes() == np.asarray(value).tobytes()
    for one, other in zip(found, expected, strict=True):
        assert (one.shape, one.dtype) == (other.shape, other.dtype)
        assert_equal(one, other, max(tolerance_of(program.inputs), 1e-2 if other.dtype == np.float16 else 0))


@pytest.mark.parametrize("program", [p for p in PROGRAMS if p.raises is not None], ids=str)
def test_programs_that_must_raise_raise(program: Program) -> None:
    assert program.raises is not None
    with pytest.raises(program.raises), np.errstate(all="ignore"):
        bridge.grad(program.under(bridge.numpy), argnums=differentiable(program), engine="jax")(*program.inputs)


@pytest.mark.nightly
@pytest.mark.parametrize("program", RIGHT, ids=str)
def test_forward_mode(program: Program) -> None:
    tangents = reference.random_tangents(program.inputs)
    results = []
    for engine in ("native", "jax"):
        with np.errstate(all="ignore"):
            inputs = reference.replicas(program.inputs)
            results.append(bridge.jvp(program.under(bridge.numpy), inputs, tangents, engine=engine)[1])
    half = any(x.dtype == np.float16 for x in program.inputs)
    assert_equal(results[1], results[0], 1e-2 if half else max(tolerance_of(program.inputs), 1e-9))


@pytest.mark.ci
@pytest.mark.parametrize("case", CORPUS, ids=lambda case: case["id"])
def test_corpus(case: dict[str, Any]) -> None:
    scope: dict[str, Any] = {"np": bridge.numpy}
    exec(compile(case["numpy_program"], f"<{case['id']}>", "exec"), scope)
    x = np.array(case["x"], float)
    with np.errstate(all="ignore"):
        expected = bridge.grad(scope["f"], engine="native")(x)
        found = bridge.grad(scope["f"], engine="jax")(x)
    if case["id"] in NOT_FINITE:
        assert np.isnan(found).all()
    elif case["id"] not in FINITE_OR_NOT or np.isfinite(found).any():
        assert_equal(found, expected, 1e-10)


def heat(u: Any, steps: int) -> Any:
    for _ in range(steps):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return np.sum(np.sin(u) ** 2)


def test_mutation_and_the_arrays_of_the_caller() -> None:
    u = np.linspace(-1, 1, 12)
    before = u.tobytes()
    np.testing.assert_allclose(
        bridge.grad(heat, engine="jax")(u, 5), bridge.grad(heat, engine="native")(u, 5), rtol=1e-12
    )
    assert u.tobytes() == before


def mixed(x: Any) -> Any:
    x[0] *= x[1]
    return np.sum(np.tanh(x) ** 2 * np.stack([x[0], x[1] * x[0], np.exp(x[2])]))


@pytest.mark.ci
def test_second_derivatives_of_every_nesting() -> None:
    expected = bridge.hessian(mixed, engine="native")(X)
    for engine in ("jax", "native"):
        gradient = bridge.grad(mixed, engine="jax")
        np.testing.assert_allclose(bridge.jacrev(gradient, engine=engine)(X), expected, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(bridge.jacfwd(gradient, engine=engine)(X), expected, rtol=1e-10, atol=1e-12)
    outer = bridge.jacrev(bridge.grad(mixed, engine="native"), engine="jax")
    np.testing.assert_allclose(outer(X), expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(bridge.hessian(mixed, engine="jax")(X), expected, rtol=1e-10, atol=1e-12)


def test_third_derivative() -> None:
    def third(engine: str) -> Any:
        def summed(x: Any) -> Any:
            return np.sum(bridge.jacrev(bridge.grad(mixed, engine=engine), engine=engine)(x))

        return bridge.grad(summed, engine=engine)(X)

    np.testing.assert_allclose(third("jax"), third("native"), rtol=1e-9)


def test_complex_gradients_are_conjugates_of_those_of_jax() -> None:
    z = np.array([0.3 + 0.4j, -1.0 + 2.0j])

    def f(z: Any) -> Any:
        return np.sum(np.real(z**3) + np.abs(np.exp(1j * z)) * np.imag(np.conj(z) * z[::-1]))

    np.testing.assert_allclose(bridge.grad(f, engine="jax")(z), bridge.grad(f, engine="native")(z), rtol=1e-12)


@pytest.mark.ci
@pytest.mark.parametrize("name", ["eigh", "svd", "qr", "eig", "slogdet", "cholesky", "lstsq"])
def test_decompositions_follow_the_signs_of_numpy(name: str) -> None:
    a = np.random.default_rng(1).normal(size=(3, 3))
    a = a @ a.T + np.eye(3) if name in ("cholesky", "eigh", "eig") else a
    weights = np.arange(9.0).reshape(3, 3)

    def f(a: Any) -> Any:
        if name == "lstsq":
            return np.sum(np.linalg.lstsq(a, weights)[0] ** 2)
        found = getattr(np.linalg, name)(a)
        parts = found if isinstance(found, tuple) else (found,)
        return sum(np.sum(np.real(part) * weights[0, 0 : 1 if part.ndim < 2 else 3]) for part in parts)

    np.testing.assert_allclose(
        bridge.grad(f, engine="jax")(a), bridge.grad(f, engine="native")(a), rtol=1e-8, atol=1e-9
    )


def test_shapes_that_depend_on_values() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.trim_zeros(x) ** 2) + np.sum(np.compress(np.array([True, False, True]), x[:3]) ** 3)

    x = np.array([0.0, 2.0, 3.0, 0.0])
    np.testing.assert_allclose(bridge.grad(f, engine="jax")(x), bridge.grad(f, engine="native")(x))


def test_strong_zeros() -> None:
    def f(x: Any) -> Any:
        return np.sum(np.where(x > 0, np.sqrt(x), 0.0))

    x = np.array([0.0, 4.0])
    with np.errstate(all="ignore"):
        assert bridge.grad(f, engine="jax")(x).tolist() == [0.0, 0.25]


def test_what_jax_lacks_is_refused_by_name() -> None:
    special = pytest.importorskip("scipy.special")
    with pytest.raises(NoRuleError, match=r"engine='jax' has no rule for scipy.special.j0"):
        bridge.grad(lambda x: np.sum(special.j0(x)), engine="jax")(X)
    with pytest.raises(NoRuleError, match="no arrays of dtype"):
        bridge.grad(lambda x: np.sum(np.sin(x)), engine="jax")(X.astype(np.longdouble))


def test_a_function_that_is_another_in_jax_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    from bridge.xla.lowering.register import ENTRIES, Lowering

    monkeypatch.setitem(ENTRIES, "np.arctan2", Lowering(lambda x, y: x * y))
    with pytest.raises(RuleError, match=r"JAX computes np.arctan2 as .* and NumPy as"):
        bridge.grad(lambda x: np.sum(np.arctan2(x, 0.123)), engine="jax")(X[:2])


def test_auto_asks_jax_for_what_the_rule_book_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    from bridge.engines.julia import ENGINE as JULIA

    bridge.grad(lambda x: np.sum(np.tanh(x)))(X)
    monkeypatch.delitem(RULES, np.hypot)
    monkeypatch.setattr(JULIA, "missing", lambda: "no Julia today")

    def f(x: Any) -> Any:
        return np.sum(np.hypot(x, 2.0))

    np.testing.assert_allclose(bridge.grad(f)(X), X / np.hypot(X, 2.0))
    np.testing.assert_allclose(bridge.jvp(f, (X,), (X,))[1], np.sum(X * X / np.hypot(X, 2.0)))
    with pytest.raises(NoRuleError, match=r"nobody has a rule for np\.hypot"):
        bridge.grad(f, engine="native")(X)


def test_the_configuration_of_the_user_stays() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bridge.grad(mixed, engine="jax")(X)
    assert not jax.config.jax_enable_x64
    assert jax.numpy.ones(2).dtype == np.float32


def test_threads() -> None:
    expected = bridge.grad(mixed, engine="native")(X)
    found: list[Any] = []
    threads = [Thread(target=lambda: found.append(bridge.grad(mixed, engine="jax")(X))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for one in found:
        np.testing.assert_allclose(one, expected, rtol=1e-12)


def test_kept_programs_are_bounded() -> None:
    from bridge.engines.jax.programs import KEPT, program_of

    assert program_of.cache_info().maxsize == KEPT


WITHOUT = """
import sys
sys.modules["jax"] = None
import bridge, numpy as np
print(bridge.grad(lambda x: np.sum(x * x))(np.ones(2)).tolist())
try:
    bridge.grad(np.sum, engine="jax")
except bridge.errors.EngineNotAvailable as error:
    print(error)
"""


def test_without_jax() -> None:
    run = subprocess.run([sys.executable, "-c", WITHOUT], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.startswith("[2.0, 2.0]\n")
    assert 'pip install "mutation-bridge[jax]"' in run.stdout
    assert issubclass(EngineNotAvailable, BridgeError)
