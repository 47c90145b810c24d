"""`bridge.objective`: functions of parameters in containers, minimised by SciPy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import bridge
from bridge import errors

minimize = pytest.importorskip("scipy.optimize", reason='pip install "mutation-bridge[demo]"').minimize

T = np.linspace(0.0, 1.0, 9)
TRUTH = {"rates": np.array([0.5, 2.0]), "scale": 1.5}


def model(p: Any, t: Any) -> Any:
    u = np.zeros_like(t)
    u += p["scale"]
    for rate in p["rates"]:
        u *= np.exp(-rate * t)
        u += rate * t
    return u


def misfit(p: Any, t: Any, data: Any) -> Any:
    data -= model(p, t)
    return np.sum(data**2)


START = {"rates": np.array([1.0, 1.3]), "scale": 1.0}
DATA = model(TRUTH, T)


@pytest.mark.parametrize("engine", ["native", "xla"])
@pytest.mark.parametrize("method", ["BFGS", "L-BFGS-B", "trust-ncg", "Newton-CG"])
def test_parameters_are_found(method: str, engine: Any) -> None:
    fit = bridge.objective(misfit, START, T, DATA, engine=engine)
    more = {"hessp": fit.hessp} if method in ("trust-ncg", "Newton-CG") else {}
    found = minimize(fit.fun, fit.x0, jac=fit.jac, method=method, tol=1e-10, **more)
    p = fit.parameters(found.x)
    assert found.fun < 1e-8
    np.testing.assert_allclose(model(p, T), DATA, atol=1e-3)
    np.testing.assert_array_equal(DATA, model(TRUTH, T))
    assert type(p["scale"]) is np.float64 and p["rates"].shape == (2,)


def test_value_and_gradient_are_computed_together_and_once() -> None:
    runs = []

    def f(x: Any) -> Any:
        runs.append(1)
        return np.sum(x**4)

    fit = bridge.objective(f, np.array([1.0, 2.0]), source=False)
    assert fit.fun(fit.x0) == 17.0 and len(runs) == 1
    gradient = fit.jac(fit.x0)
    gradient[:] = 0
    np.testing.assert_allclose(fit.value_and_jac(fit.x0)[1], [4.0, 32.0])
    assert len(runs) == 1
    moved = fit.x0.copy()
    fit.fun(moved)
    moved[0] = 2.0
    assert fit.fun(moved) == 32.0


@dataclass
class Network:
    weights: list[np.ndarray] = field(default_factory=lambda: [np.ones((2, 3), np.float32), np.ones(2)])
    bias: float = 0.5
    layers: int = 2
    name: str = "network"


def test_objects_dtypes_and_what_stays() -> None:
    def loss(network: Network, x: Any) -> Any:
        for w in network.weights[: network.layers]:
            x = w @ x if w.ndim == 1 else np.tanh(w @ x)
        return (x + network.bias) ** 2

    fit = bridge.objective(loss, Network(), np.array([0.1, 0.2, 0.3]))
    assert fit.x0.shape == (9,) and fit.x0.dtype == np.float64
    made = fit.parameters(fit.x0 + 1.0)
    assert isinstance(made, Network) and made.layers == 2 and made.name == "network"
    assert made.weights[0].dtype == np.float32 and made.bias == 1.5
    step = 1e-6 * np.eye(9)[8]
    np.testing.assert_allclose(fit.jac(fit.x0)[8], (fit.fun(fit.x0 + step) - fit.fun(fit.x0 - step)) / 2e-6, rtol=1e-6)
    assert minimize(fit.value_and_jac, fit.x0, jac=True).fun < 1e-9


def test_bounds_in_containers() -> None:
    fit = bridge.objective(misfit, START, T, DATA)
    low = fit.flattened({"rates": 0.0, "scale": 1.6})
    np.testing.assert_array_equal(np.sort(low), [0.0, 0.0, 1.6])
    high = np.full(3, np.inf)
    found = minimize(fit.fun, fit.x0 + 1.0, jac=fit.jac, bounds=np.stack([low, high], axis=1))
    assert fit.parameters(found.x)["scale"] == pytest.approx(1.6)


def test_products_with_the_hessian() -> None:
    fit = bridge.objective(misfit, START, T, DATA)
    v = np.array([1.0, -2.0, 0.5])
    expected = (fit.jac(fit.x0 + 1e-6 * v) - fit.jac(fit.x0 - 1e-6 * v)) / 2e-6
    np.testing.assert_allclose(fit.hessp(fit.x0, v), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ({"a": np.ones(2, complex)}, r"start\['a'\] has dtype complex128, and an optimiser varies real numbers"),
        ({"fixed": True, "name": "x"}, "start holds no float and no float array"),
    ],
)
def test_starts_that_cannot_vary(start: Any, message: str) -> None:
    with pytest.raises(errors.ArgumentError, match=message):
        bridge.objective(lambda p: 0.0, start)


def test_vectors_and_containers_that_do_not_fit() -> None:
    fit = bridge.objective(misfit, START, T, DATA)
    with pytest.raises(errors.ArgumentError, match=r"a vector of shape \(2,\), where 3 numbers vary"):
        fit.fun(np.ones(2))
    with pytest.raises(errors.ArgumentError, match="that of start is"):
        fit.flattened({"rates": 1.0})


def test_integers_in_start_are_named_since_they_will_not_vary() -> None:
    start = {"off": 0, "width": 2.0, "ph": (0.1, 1), "mask": np.array([1, 0]), "flag": True}
    with pytest.warns(
        errors.BridgeWarning, match=r"will not vary: start\['mask'\], start\['off'\], start\['ph'\]\[1\]\."
    ):
        fit = bridge.objective(lambda p: p["width"] ** 2 + p["ph"][0], start)
    np.testing.assert_array_equal(fit.x0, [0.1, 2.0])


def test_structures_are_shown_as_containers() -> None:
    fit = bridge.objective(lambda p: p["a"] ** 2, {"a": 1.0})
    with pytest.raises(errors.ArgumentError, match=r"the structure is \{'b': \*\}, that of start is \{'a': \*\}\n"):
        fit.flattened({"b": 1.0})
