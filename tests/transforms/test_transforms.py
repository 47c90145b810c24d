"""The transforms: containers, argnums, aux, second order, what they hand out, and bad input."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import bridge
from bridge import errors

X = np.array([0.3, -1.2, 0.8])


class Parameters(NamedTuple):
    w: Any
    b: Any


def quadratic(x: Any) -> Any:
    return np.sum(x**3) * x[0]


def test_value_and_grad() -> None:
    value, g = bridge.value_and_grad(quadratic)(X)
    assert value == quadratic(X)
    assert type(value) is np.float64
    assert type(g) is np.ndarray
    expected = 3 * X**2 * X[0]
    expected[0] += np.sum(X**3)
    np.testing.assert_allclose(g, expected)


def test_argnums_and_keywords() -> None:
    def f(x: Any, y: Any, *, k: float) -> Any:
        return np.sum(x * y) * k

    gx, gy = bridge.grad(f, argnums=(0, -1))(X, 2 * X, k=3.0)
    np.testing.assert_allclose(gx, 6 * X)
    np.testing.assert_allclose(gy, 3 * X)
    np.testing.assert_allclose(bridge.grad(f, argnums=1)(X, X, k=1.0), X)


def test_containers_keep_their_structure() -> None:
    tree = {"layers": [Parameters(X, 2.0), Parameters(X * 2, 1.0)], "scale": (np.float64(3.0),)}

    def f(p: Any) -> Any:
        total = 0.0
        for layer in p["layers"]:
            total = total + np.sum(layer.w**2) * layer.b
        return total * p["scale"][0]

    g = bridge.grad(f)(tree)
    assert type(g["layers"][0]) is Parameters
    np.testing.assert_allclose(g["layers"][0].w, 2 * X * 2.0 * 3.0)
    assert g["layers"][1].b == pytest.approx(np.sum((2 * X) ** 2) * 3.0)
    assert g["scale"][0] == pytest.approx(f(tree) / 3.0)


def test_has_aux() -> None:
    (_, aux), g = bridge.value_and_grad(lambda x: (np.sum(x), {"y": x * 2, "n": 3}), has_aux=True)(X)
    assert type(aux["y"]) is np.ndarray
    np.testing.assert_allclose(aux["y"], 2 * X)
    assert aux["n"] == 3
    g, aux = bridge.grad(lambda x: (np.sum(x), x), has_aux=True)(X)
    np.testing.assert_allclose(g, np.ones(3))
    with pytest.raises(errors.ArgumentError, match="has_aux=True"):
        bridge.grad(lambda x: np.sum(x), has_aux=True)(X)
    _, _, aux = bridge.vjp(lambda x: (x * x, "note"), X, has_aux=True)
    assert aux == "note"


def test_a_gradient_that_does_not_exist_is_zero() -> None:
    np.testing.assert_array_equal(bridge.grad(lambda x: 3.0)(X), np.zeros(3))
    np.testing.assert_array_equal(bridge.grad(lambda x: np.sum(np.floor(x)))(X), np.zeros(3))
    assert bridge.grad(lambda x, y: x * 2.0, argnums=1)(1.0, 2.0) == 0.0


def test_vjp_of_several_arguments_and_containers() -> None:
    value, pull = bridge.vjp(lambda x, y: {"s": np.sum(x * y), "v": x - y}, X, 2 * X)
    assert value["s"] == np.sum(2 * X * X)
    gx, gy = pull({"s": 1.0, "v": np.ones(3)})
    np.testing.assert_allclose(gx, 2 * X + 1)
    np.testing.assert_allclose(gy, X - 1)


def test_a_pull_can_be_called_again_after_mutation() -> None:
    def f(x: Any) -> Any:
        y = np.sin(x)
        x *= y
        x[1:] += x[:-1]
        return x

    _, pull = bridge.vjp(f, X)
    rows = [pull(unit)[0] for unit in np.eye(3)]
    again = [pull(unit)[0] for unit in np.eye(3)]
    np.testing.assert_array_equal(rows, again)
    np.testing.assert_allclose(np.stack(rows), bridge.jacfwd(f)(X))


def test_jacobians_have_the_value_s_shape_first() -> None:
    def f(x: Any) -> Any:
        return np.outer(x, np.sin(x))

    jacobian = bridge.jacrev(f)(X)
    assert jacobian.shape == (3, 3, 3)
    np.testing.assert_allclose(jacobian, bridge.jacfwd(f)(X))
    assert bridge.jacrev(lambda x: x * 2)(2.0) == 2.0


def test_hessian_through_in_place_writes() -> None:
    def f(x: Any) -> Any:
        a = x.copy()
        a[0] *= a[1]
        a[1:] += a[:-1] ** 2
        return np.sum(np.sin(a))

    hessian = bridge.hessian(f)(X)
    np.testing.assert_allclose(hessian, hessian.T, atol=1e-12)
    nested = bridge.jacrev(bridge.grad(f))(X)
    np.testing.assert_allclose(hessian, nested, atol=1e-12)
    step = 1e-5
    for k in range(3):
        e = np.eye(3)[k] * step
        column = (bridge.grad(f)(X + e) - bridge.grad(f)(X - e)) / (2 * step)
        np.testing.assert_allclose(hessian[:, k], column, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(bridge.hvp(f, (X,), (X,)), hessian @ X)


def test_third_order() -> None:
    third = bridge.grad(lambda x: bridge.grad(lambda y: bridge.grad(lambda z: z**4)(y))(x))(2.0)
    assert third == pytest.approx(48.0)
    assert bridge.jvp(bridge.grad(bridge.grad(np.sin)), (0.5,), (1.0,))[1] == pytest.approx(-np.cos(0.5))


def test_levels_do_not_get_confused() -> None:
    assert bridge.grad(lambda x: x * bridge.grad(lambda y: x + y)(1.0))(3.0) == 1.0
    assert bridge.jvp(lambda x: x * bridge.jvp(lambda y: x * y, (2.0,), (1.0,))[1], (3.0,), (1.0,))[1] == 6.0
    inner = bridge.grad(lambda x: np.sum(x * bridge.grad(lambda y: np.sum(x * x * y))(x)))
    np.testing.assert_allclose(inner(X), 3 * X**2)


def test_jvp_with_a_structural_zero() -> None:
    value, tangent = bridge.jvp(lambda x, y: np.sum(x * y), (X, X), (np.ones(3), None))
    assert tangent == pytest.approx(X.sum())
    assert value == np.sum(X * X)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: x, r"shape \(3,\)"),
        (lambda x: x[0] * 1j, "complex"),
        (lambda x: None, "NoneType"),
        (lambda x: (x[0], x[1]), "tuple"),
        (lambda x: "text", "str"),
    ],
)
def test_only_a_real_number_has_a_gradient(function: Any, message: str) -> None:
    with pytest.raises(errors.CotangentError, match=message):
        bridge.grad(function)(X)


def test_cotangents_that_do_not_fit() -> None:
    _, pull = bridge.vjp(lambda x: x * 2, X)
    with pytest.raises(errors.CotangentError, match=r"shape \(2,\), its value has shape \(3,\)"):
        pull(np.ones(2))
    with pytest.raises(errors.CotangentError, match="complex128"):
        pull(np.ones(3) * 1j)
    with pytest.raises(errors.CotangentError, match="object"):
        pull(np.array([None, 1, 2]))
    with pytest.raises(errors.CotangentError, match="structure"):
        pull({"a": np.ones(3)})
    np.testing.assert_allclose(pull(np.ones(3))[0], np.full(3, 2.0))


def test_tangents_that_do_not_fit() -> None:
    with pytest.raises(errors.CotangentError, match="1 primals and 2 tangents"):
        bridge.jvp(np.sum, (X,), (X, X))
    with pytest.raises(errors.CotangentError, match="tangent has shape"):
        bridge.jvp(np.sum, (X,), (np.ones(2),))
    with pytest.raises(errors.CotangentError, match="structure"):
        bridge.jvp(lambda p: p["a"], ({"a": 1.0},), ((1.0,),))
    with pytest.raises(errors.ArgumentError, match="tuple of primals"):
        bridge.jvp(np.sum, X, X)


@pytest.mark.parametrize("engine", ["jax", "xla"])
def test_engines_that_are_not_there(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.engines.jax.engine.find_spec", lambda name: None)
    with pytest.raises(errors.EngineNotAvailable, match=r"(?s)needs JAX.*remedy: pip install"):
        bridge.grad(np.sum, engine=engine)(X)
    with pytest.raises(errors.EngineNotAvailable, match=engine):
        bridge.vjp(np.sum, X, engine=engine)


def test_index_modes_are_for_compiled_programs() -> None:
    with pytest.raises(errors.ArgumentError, match=r"(?s)index_mode='clip' with engine='native'.*np.take"):
        bridge.grad(np.sum, engine="native", index_mode="clip")(X)
    with pytest.raises(errors.ArgumentError, match="index_mode='wrap'"):
        bridge.grad(np.sum, engine="xla", index_mode="wrap")(X)


def test_an_unknown_engine_and_an_unknown_argument() -> None:
    with pytest.raises(errors.ArgumentError, match="engine='torch'"):
        bridge.grad(np.sum, engine="torch")
    with pytest.raises(errors.ArgumentError, match="argnums=3"):
        bridge.grad(np.sum, argnums=3)(X)


def test_recursion_and_an_error_at_any_entry() -> None:
    def f(x: Any, depth: int, fail_at: int) -> Any:
        x[depth % 3] *= 1.5
        if depth == fail_at:
            raise RuntimeError(f"at depth {depth}")
        return x[0] if depth == 5 else f(x, depth + 1, fail_at) * x[1]

    for fail_at in range(6):
        x = X.copy()
        with pytest.raises(RuntimeError, match=f"at depth {fail_at}"):
            bridge.grad(lambda x, k=fail_at: f(x, 0, k))(x)
        assert x.tobytes() == X.tobytes()
        assert bridge.current_context() is None
    assert np.all(np.isfinite(bridge.grad(lambda x: f(x, 0, 99))(X)))

    def endless(x: Any) -> Any:
        return endless(x * 1.0)

    with pytest.raises(RecursionError):
        bridge.grad(endless)(1.0)
    assert bridge.grad(lambda x: x * x)(1.0) == 2.0


def test_an_error_in_a_pull_leaves_everything_usable() -> None:
    calls = []

    @bridge.rule(lambda x: x * 2)
    def moody(ct: Any, out: Any, x: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise ZeroDivisionError("moody")
        return 2 * ct

    def f(x: Any) -> Any:
        x *= 3
        y = moody(x)
        x[0] = 0.0
        return np.sum(x * y)

    x = X.copy()
    _, pull = bridge.vjp(f, x)
    first = pull(1.0)[0]
    with pytest.raises(ZeroDivisionError) as caught:
        pull(1.0)
    assert any("test_transforms.py" in note for note in caught.value.__notes__)
    np.testing.assert_array_equal(pull(1.0)[0], first)
    assert x.tobytes() == X.tobytes()


def test_lists_of_numbers_and_numpy_scalars() -> None:
    g = bridge.grad(lambda p: p[0] * p[1])([2.0, 3.0])
    assert g == [3.0, 2.0]
    assert bridge.grad(np.sin)(np.float32(0.5)).dtype == np.float32


def test_python_numbers_stay_weak_in_promotion() -> None:
    x = X.astype(np.float32)

    def f(x: Any, s: float, z: complex) -> Any:
        y = np.where(x > 0, x * s, s) + np.clip(x, -s, 2 * s) / (1.0 + s)
        assert y.dtype == np.float32
        w = (x.astype(np.complex64) * z).real * abs(z)
        assert w.dtype == np.float32
        return np.sum(y * s + w)

    value, pull = bridge.vjp(f, x, 0.7, 0.5 + 0.2j)
    assert value.dtype == np.float32
    assert value == f(x.copy(), 0.7, 0.5 + 0.2j)
    gx, gs, gz = pull(np.float32(1.0))
    assert gx.dtype == np.float32
    step = 1e-6
    wide = X.astype(np.float32).astype(float)

    def plain(s: float, z: complex) -> Any:
        y = np.where(wide > 0, wide * s, s) + np.clip(wide, -s, 2 * s) / (1.0 + s)
        return np.sum(y * s + (wide * z).real * abs(z))

    z = 0.5 + 0.2j
    assert gs == pytest.approx((plain(0.7 + step, z) - plain(0.7 - step, z)) / (2 * step), rel=1e-4)
    assert gz.real == pytest.approx((plain(0.7, z + step) - plain(0.7, z - step)) / (2 * step), rel=1e-4)
    assert gz.imag == pytest.approx((plain(0.7, z + 1j * step) - plain(0.7, z - 1j * step)) / (2 * step), rel=1e-4)
    assert bridge.grad(bridge.grad(lambda s: s**3))(2.0) == 12.0
    assert bridge.hvp(lambda s: np.sin(s) * s, (0.3,), (1.0,)) == pytest.approx(2 * np.cos(0.3) - 0.3 * np.sin(0.3))
    assert bridge.jvp(lambda s: s, (2.0,), (3.0,)) == (2.0, 3.0)
    assert bridge.detach(2.0) == 2.0


@pytest.mark.parametrize("x", [0.7, np.float64(0.7), np.array([0.7, 1.1])])
def test_a_function_with_two_results_goes_forward_for_numbers_and_arrays(x: Any) -> None:
    def f(x: Any) -> Any:
        whole, rest = divmod(x, 0.3)
        return np.sum(rest**2 + whole * x)

    ones = 1.0 if np.ndim(x) == 0 else np.ones(2)
    value, change = bridge.jvp(f, (x,), (ones,))
    assert value == f(x)
    np.testing.assert_allclose(change, np.sum(2 * (x % 0.3) + x // 0.3))
    np.testing.assert_allclose(bridge.hvp(f, (x,), (ones,)), 2 * ones)


@pytest.mark.parametrize("transform", [bridge.jacrev, bridge.jacfwd, bridge.hessian])
def test_the_position_of_a_jacobian_counts_from_the_end_too(transform: Any) -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sum(x * x) * np.sum(y**3) if transform is bridge.hessian else np.outer(x * x, y)

    given = X[:2], X[:3] + 1.0
    for position in (0, 1):
        np.testing.assert_array_equal(transform(f, position - 2)(*given), transform(f, position)(*given))
    with pytest.raises(errors.ArgumentError, match="argnums=5, and the function was called with 2"):
        transform(f, 5)(*given)


@pytest.mark.parametrize("key", [..., slice(1, 3), [0, 2]])
def test_forward_through_a_write_with_axes_to_spare(key: Any) -> None:
    """NumPy takes a value with leading axes of length one."""

    def f(x: Any) -> Any:
        y = x * 1.0
        y[key] = np.sin(y[key])[None, None] * 2
        return y

    x, v = np.array([0.3, 1.2, -0.7]), np.array([1.0, -2.0, 0.5])
    expected = (f(x + 1e-6 * v) - f(x - 1e-6 * v)) / 2e-6
    np.testing.assert_allclose(bridge.jvp(f, (x,), (v,))[1], expected, rtol=1e-8)
