"""What transforms make, as things that are copied, pickled, sent to other processes, and methods in a class."""

from __future__ import annotations

import copy
import functools
import inspect
import multiprocessing
import pickle
import sys
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import RefusedError

X = np.linspace(0.1, 0.6, 4)
HAS_JAX = find_spec("jax") is not None
needs_jax = pytest.mark.skipif(not HAS_JAX, reason="JAX is not installed (pip install jax)")


def f(x: Any) -> Any:
    """Squares of sines."""
    return np.sum(np.sin(x) ** 2)


@bridge.grad
def decorated(x: Any) -> Any:
    return np.sum(x * x)


@bridge.grad
@bridge.checkpoint
def decorated_twice(x: Any) -> Any:
    return np.sum(x * x)


@bridge.checkpoint
def body(x: Any) -> Any:
    return np.sin(x)


class Model:
    def __init__(self) -> None:
        self.w = 2.0

    def loss(self, x: Any) -> Any:
        return self.w * np.sum(x * x)

    slope = bridge.grad(loss, argnums=1)

    @staticmethod
    @bridge.grad
    def static(x: Any) -> Any:
        return np.sum(x**3)


if HAS_JAX:

    @bridge.xla
    @bridge.grad
    def compiled_outside(x: Any) -> Any:
        return np.sum(x * x)

    @bridge.grad
    @bridge.xla
    def compiled_inside(x: Any) -> Any:
        return np.sum(x * x)


MADE: dict[str, Callable[[], Any]] = {
    **{
        one.__name__: lambda one=one: one(f)
        for one in (
            bridge.grad, bridge.value_and_grad, bridge.hessian, bridge.jacrev, bridge.jacfwd, bridge.checkpoint
        )
    },
    "options": lambda: bridge.grad(f, argnums=(0,), engine="native", zeros="ieee"),
    "nested": lambda: bridge.jacrev(bridge.grad(f)),
    "of a checkpoint": lambda: bridge.value_and_grad(bridge.checkpoint(f)),
    "decorated": lambda: decorated,
    "decorated twice": lambda: decorated_twice,
    "a decorated body": lambda: body,
    "of a method": lambda: bridge.grad(Model().loss),
    "a static method": lambda: Model.static,
    "of a partial": lambda: bridge.grad(functools.partial(f)),
    "in a partial": lambda: functools.partial(bridge.grad(f)),
    "of NumPy's": lambda: bridge.grad(np.sum),
    "auto": lambda: bridge.grad(f, engine="auto"),
}  # fmt: skip
COMPILED: dict[str, Callable[[], Any]] = {
    "xla": lambda: bridge.grad(f, engine="xla"),
    "xla, hessian": lambda: bridge.hessian(f, engine="xla"),
    "xla around": lambda: bridge.xla(bridge.grad(f)),
    "decorated, xla outside": lambda: compiled_outside,
    "decorated, xla inside": lambda: compiled_inside,
}
EACH = [*MADE, *(pytest.param(one, marks=needs_jax) for one in COMPILED)]
WAYS: dict[str, Callable[[Any], Any]] = {
    "pickled": lambda g: pickle.loads(pickle.dumps(g)),
    "pickled twice": lambda g: pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(g)))),
    "copied": copy.copy,
    "deeply": copy.deepcopy,
}


def same(a: Any, b: Any) -> bool:
    return len(a) == len(b) and all(map(same, a, b)) if isinstance(a, tuple) else np.array_equal(a, b)


@pytest.mark.ci
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", EACH)
def test_it_travels(name: str, way: str) -> None:
    made = (MADE | COMPILED)[name]()
    other = WAYS[way](made)
    assert same(other(X.copy()), made(X.copy()))
    assert type(other) is type(made)
    assert getattr(other, "__name__", None) == getattr(made, "__name__", None)


def test_names_stay() -> None:
    assert (bridge.grad(f).__name__, bridge.jacrev(bridge.grad(f)).__qualname__) == ("grad(f)", "jacrev(grad(f))")
    assert bridge.hessian(f).__doc__.startswith("hessian of f.\n\nSquares of sines.")
    assert (body.__name__, body.__wrapped__(X).tolist()) == ("body", np.sin(X).tolist())
    assert list(inspect.signature(body).parameters) == ["x"]
    assert "grad(f)" in repr(bridge.grad(f))


def test_in_a_class_it_is_a_method() -> None:
    model = Model()
    np.testing.assert_array_equal(model.slope(X), 4.0 * X)
    model.w = 3.0
    np.testing.assert_array_equal(model.slope(X), 6.0 * X)
    np.testing.assert_allclose(Model.static(X), 3 * X**2)


def test_a_deep_copy_has_its_own_object() -> None:
    model = Model()
    slope = bridge.grad(model.loss)
    other = copy.deepcopy(slope)
    model.w = 5.0
    np.testing.assert_array_equal(other(X), 4.0 * X)
    np.testing.assert_array_equal(slope(X), 10.0 * X)


def test_a_local_function_is_still_none_that_pickles() -> None:
    with pytest.raises((pickle.PicklingError, AttributeError), match="local"):
        pickle.dumps(bridge.grad(lambda x: np.sum(x)))


def worked(asked: tuple[Any, Any]) -> Any:
    g, x = asked
    try:
        return g(x)
    except RefusedError as error:
        return str(error)


def pooled(method: str, made: list[Any]) -> list[Any]:
    with warnings.catch_warnings():
        # JAX's own word on forks.
        warnings.simplefilter("ignore", RuntimeWarning)
        with multiprocessing.get_context(method).Pool(1) as pool:
            return pool.map_async(worked, [(g, X) for g in made]).get(120)


@pytest.mark.ci
def test_in_a_spawned_pool() -> None:
    made = [bridge.grad(f), bridge.checkpoint(f), decorated, bridge.hessian(f)]
    if HAS_JAX:
        made += [bridge.grad(f, engine="xla"), bridge.xla(bridge.grad(f)), compiled_outside]
    assert all(map(same, pooled("spawn", made), [g(X) for g in made]))


@pytest.mark.skipif(sys.platform != "linux", reason="no fork here")
def test_in_a_forked_pool() -> None:
    made = [bridge.grad(f), bridge.checkpoint(f), decorated, bridge.grad(f, engine="auto")]
    assert all(map(same, pooled("fork", made), [g(X) for g in made]))


@needs_jax
@pytest.mark.skipif(sys.platform != "linux", reason="no fork here")
def test_after_a_fork_a_compiled_call_is_refused() -> None:
    made = [bridge.grad(f, engine="xla"), bridge.xla(f), bridge.grad(f, engine="jax")]
    for one in made:
        one(X)
    eager, *refused = pooled("fork", [bridge.grad(f), *made])
    assert same(eager, bridge.grad(f)(X))
    for said in refused:
        assert "was forked from one in which JAX had started: XLA's threads stayed there" in said
        assert "test_transformed.py:" in said
        assert 'remedy: start processes by multiprocessing.get_context("spawn")' in said


@pytest.mark.parametrize("engine", ["native", pytest.param("xla", marks=needs_jax)])
@pytest.mark.parametrize(
    "send", [pickle.dumps, lambda pull: pickle.dumps([pull], 2), functools.partial(pickle.dumps, protocol=5)]
)
def test_a_pull_does_not_travel(engine: str, send: Callable[[Any], bytes]) -> None:
    _, pull = bridge.vjp(f, X, engine=engine)
    with pytest.raises(RefusedError, match="a pull of vjp cannot be pickled: the log") as told:
        send(pull)
    assert "pickle the function and its arguments, and call bridge.vjp where they arrive" in str(told.value)
    assert copy.copy([pull])[0] is pull and copy.deepcopy([pull])[0] is pull
    np.testing.assert_allclose(pull(1.0)[0], np.sin(2 * X))
