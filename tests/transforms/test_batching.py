"""`vmap`: one function, a batch of elements."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import ArgumentError, TraceError

W = np.arange(6.0).reshape(2, 3) / 3
X = np.linspace(-1, 1, 15).reshape(5, 3)


def loss(w: Any, x: Any) -> Any:
    """Overwrites what it makes."""
    h = w @ x
    h[1:] *= h[:-1]
    return np.sum(h**2)


def mean(w: Any, batch: Any) -> Any:
    """The mean over a batch."""
    return np.mean(bridge.vmap(loss, (None, 0))(w, batch))


def test_a_gradient_for_each_element() -> None:
    found = bridge.vmap(bridge.grad(loss), in_axes=(None, 0))(W, X)
    np.testing.assert_array_equal(found, [bridge.grad(loss)(W, x) for x in X])


@pytest.mark.parametrize("engine", ["native", "jax", "xla"])
def test_inside_of_a_gradient(engine: Any) -> None:
    expected = np.mean([bridge.grad(loss)(W, x) for x in X], axis=0)
    np.testing.assert_allclose(bridge.grad(mean, engine=engine)(W, X), expected, rtol=1e-12)
    by_x = bridge.grad(mean, argnums=1, engine=engine)(W, X)
    np.testing.assert_allclose(by_x, [bridge.grad(loss, argnums=1)(W, x) / 5 for x in X], rtol=1e-12)


def test_compiled_it_is_one_loop() -> None:
    per_element = bridge.xla(bridge.vmap(bridge.grad(loss), in_axes=(None, 0)))
    np.testing.assert_allclose(per_element(W, X), [bridge.grad(loss)(W, x) for x in X], rtol=1e-12)
    few, many = (len(bridge.xla(mean).lower(W, np.tile(X, (k, 1))).as_text()) for k in (8, 40))
    assert many < 1.1 * few


def test_axes_and_containers() -> None:
    def f(given: Any, *, scale: Any) -> Any:
        return {"row": given["a"] * scale, "number": np.sum(given["a"]), "none": None, "pair": (given["b"], 1.0)}

    given = {"a": X.T, "b": 3.0}
    found = bridge.vmap(f, in_axes=({"a": 1, "b": None},), out_axes={"row": -1, "number": 0, "none": 0, "pair": None})(
        given, scale=np.arange(5.0)
    )
    np.testing.assert_array_equal(found["row"], X.T * np.arange(5.0))
    np.testing.assert_allclose(found["number"], X.sum(axis=1))
    assert found["none"] is None and found["pair"] == (3.0, 1.0)


def test_elements_are_views() -> None:
    batch = np.ones((3, 4))

    def overwrite(column: Any) -> None:
        column[0] = 7.0

    assert bridge.vmap(overwrite, in_axes=1)(batch) is None
    np.testing.assert_array_equal(batch[0], 7.0)
    np.testing.assert_array_equal(batch[1:], 1.0)


def test_calls_follow_each_other() -> None:
    """What a call leaves in memory that all share is what the next one finds, and results are those of their call."""

    def running(total: Any, x: Any) -> Any:
        total += x
        return total

    def last(batch: Any) -> Any:
        return np.sum(bridge.vmap(running, (None, 0))(np.zeros(3), batch) ** 2)

    np.testing.assert_allclose(bridge.vmap(running, (None, 0))(np.zeros(3), X), np.cumsum(X, axis=0))
    sums = np.cumsum(X, axis=0)
    expected = 2 * np.cumsum(sums[::-1], axis=0)[::-1]
    np.testing.assert_allclose(bridge.grad(last)(X), expected, rtol=1e-12)
    np.testing.assert_allclose(bridge.grad(last, engine="xla")(X), expected, rtol=1e-12)


def test_as_a_decorator_and_pickled() -> None:
    @bridge.vmap(in_axes=(None, 0))
    def decorated(w: Any, x: Any) -> Any:
        return loss(w, x)

    again = pickle.loads(pickle.dumps(bridge.vmap(loss, (None, 0))))
    np.testing.assert_array_equal(again(W, X), decorated(W, X))
    assert decorated.__name__ == "decorated"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bridge.vmap(loss, (0,))(W, X), "vmap got 2 positional arguments and 1 in_axes"),
        (lambda: bridge.vmap(loss)(W, X), "vmap got batches of 2 and 5 elements"),
        (lambda: bridge.vmap(loss, (None, None))(W, X), "vmap got no argument that is a batch"),
        (lambda: bridge.vmap(np.sin)(2.0), r"a float of shape \(\) among the arguments of vmap has no axis 0"),
        (lambda: bridge.vmap(np.sin)(X[:0]), "vmap got batches of 0 elements"),
        (lambda: bridge.vmap(np.sin, 2)(X), "has no axis 2"),
        (lambda: bridge.vmap(np.sin, ({"a": 0},))(X), "in_axes .* is no beginning of"),
        (lambda: bridge.vmap(np.sin, ("0",))(X), "has something else than axes"),
        (lambda: bridge.vmap(np.sin, out_axes=None)(X), "what is not the same in each call"),
        (lambda: bridge.vmap(lambda x: [x] * int(1 + (x[0] > 0)))(X), r"element 3 of a batch gives .*, the first one"),
        (lambda: bridge.xla(bridge.vmap(np.sin, out_axes=None))(X), "out_axes=None is not known to hold"),
    ],
)
def test_what_is_no_batch(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        call()


@pytest.mark.parametrize(
    ("later", "message"),
    [
        (lambda x: x[:1], r"gives shape \(1,\) and float64, the first one \(3,\) and float64"),
        (lambda x: x * 1j, r"gives shape \(3,\) and complex128, the first one \(3,\) and float64"),
        (lambda x: (x, x), "an element of a batch gives \\(\\*, \\*\\)"),
    ],
)
def test_a_compiled_element_that_looks_otherwise(later: Callable[..., Any], message: str) -> None:
    """NumPy would stretch it, or drop its imaginary part."""

    def compiled(batch: Any) -> Any:
        calls = [0]

        def f(x: Any) -> Any:
            calls[0] += 1
            return x * 2.0 if calls[0] == 1 else later(x)

        return bridge.vmap(f)(batch)

    with pytest.raises((ArgumentError, TraceError), match=message):
        bridge.xla(compiled)(np.tile(X, (3, 1)))
