"""Arguments: memory that they share, contexts that have closed, threads, and what cannot be differentiated."""

from __future__ import annotations

import array
import dataclasses
import decimal
import fractions
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge import errors
from bridge.transforms.entering import sharing

X = np.array([0.7, -0.4, 1.3, 0.2])


def test_gradients_survive_what_the_caller_does() -> None:
    x = X.copy()
    value, pull = bridge.vjp(lambda x: x * x, x)
    x[:] = 100.0
    ct = np.ones(4)
    (first,) = pull(ct)
    first[:] = 0.0
    value[:] = 0.0
    assert ct.tobytes() == np.ones(4).tobytes()
    (second,) = pull(ct)
    np.testing.assert_allclose(second, 2 * X)


def test_one_array_passed_twice() -> None:
    gx, gy = bridge.grad(lambda x, y: np.sum(x * y * y), argnums=(0, 1))(X, X)
    np.testing.assert_allclose(gx, X * X)
    np.testing.assert_allclose(gy, 2 * X * X)


def test_an_undifferentiated_alias_is_a_constant_until_it_is_written() -> None:
    np.testing.assert_allclose(bridge.grad(lambda x, y: np.sum(x * y))(X, X), X)

    def f(x: Any, out: Any) -> Any:
        np.exp(x, out=out)
        return np.sum(out * x)

    x = X.copy()
    np.testing.assert_allclose(bridge.grad(f)(x, x), 2 * np.exp(2 * X))
    assert x.tobytes() == X.tobytes()


def test_writing_what_two_differentiated_arguments_share() -> None:
    def f(x: Any, y: Any) -> Any:
        x[0] = 1.0
        return np.sum(x * y)

    with pytest.raises(errors.AliasError, match=r"argument 0, argument 1(.|\n)*x\.copy\(\)"):
        bridge.grad(f, argnums=(0, 1))(X, X)
    base = np.arange(6.0)
    with pytest.raises(errors.AliasError):
        bridge.grad(f, argnums=(0, 1))(base[:4], base[2:])


def test_views_that_do_not_overlap_are_separate() -> None:
    base = np.arange(6.0)

    def f(x: Any, y: Any) -> Any:
        x[0] = 2.0 * x[1]
        return np.sum(x * y)

    gx, gy = bridge.grad(f, argnums=(0, 1))(base[0::2], base[1::2])
    np.testing.assert_allclose(gx, [0.0, 2.0 * 1.0 + 3.0, 5.0])
    np.testing.assert_allclose(gy, [4.0, 2.0, 4.0])


@pytest.mark.parametrize("source", [True, False])
def test_reading_the_original_of_a_mutated_argument(source: bool) -> None:
    """Code that is not read has the caller's array, which did not follow."""
    original = X.copy()

    def f(x: Any) -> Any:
        x[0] = 2.0
        return np.sum(x * original)

    if source:
        expected = 2 * X
        expected[0] = 0.0
        np.testing.assert_allclose(bridge.grad(f)(original), expected)
        return
    with pytest.raises(errors.AliasError, match="global or captured"):
        bridge.grad(f, source=False)(original)


def test_writes_through_overlapping_views_are_refused() -> None:
    def window(x: Any) -> Any:
        w = np.lib.stride_tricks.sliding_window_view(x.copy(), 2)
        w[0] = 1.0
        return np.sum(w)

    def spread(x: Any) -> Any:
        w = np.broadcast_to(x, (2, 4))
        w += 1.0
        return np.sum(w)

    for f in (window, spread):
        with pytest.raises(errors.AliasError, match="share memory"):
            bridge.grad(f)(X)


def test_a_buffer_of_a_closed_context() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        kept.append(x)
        return np.sum(x)

    bridge.grad(f, source=False)(X)
    with pytest.raises(errors.ContextError, match="closed"):
        kept[0] + 1
    with pytest.raises(errors.ContextError):
        bridge.grad(lambda x: np.sum(x * kept[0]))(X)
    with pytest.raises(errors.ContextError):
        kept[0][0] = 1.0


def test_a_context_belongs_to_one_thread() -> None:
    caught: list[BaseException] = []

    def f(x: Any) -> Any:
        def elsewhere() -> None:
            try:
                x * 2
            except errors.ContextError as error:
                caught.append(error)

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        return np.sum(x)

    with pytest.raises(errors.ContextError, match="is used in thread"):
        bridge.grad(f)(X)
    assert "thread" in str(caught[0])


def test_threads_differentiate_side_by_side() -> None:
    results: dict[int, Any] = {}

    def work(k: int) -> None:
        results[k] = bridge.grad(lambda x: np.sum(np.sin(x) * k))(X)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(4):
        np.testing.assert_allclose(results[k], k * np.cos(X))


@pytest.mark.parametrize("bad", [3, True, np.arange(3), np.array(["a"]), np.array([object()]), "text", None])
def test_arguments_that_cannot_be_differentiated(bad: Any) -> None:
    with pytest.raises(errors.ArgumentError, match="argument 0"):
        bridge.grad(lambda x: 1.0)(bad)


INSTEAD: dict[str, tuple[Any, str]] = {
    "integers": (np.arange(3), "has dtype int64(.|\n)*remedy: pass x.astype\\(float\\), or pass allow_int=True"),
    "booleans": (np.array([True]), "has dtype bool(.|\n)*remedy: pass x.astype\\(float\\), or pass allow_int=True"),
    "text": (np.array(["1.5"]), "remedy: pass x.astype\\(float\\), if its texts are numbers, or leave it out"),
    "objects": (np.array([1.5, 2], object), "has dtype object(.|\n)*remedy: pass x.astype\\(float\\), or leave it out"),
    "unlike objects": (
        np.array([1.5, None], object),
        "pass a list of its elements, .* \\(a NoneType\\)",
    ),
    "fields": (
        np.zeros(2, [("u", float), ("n", int)]),
        "pass its fields as arrays of floats \\(x\\['u'\\]",
    ),
}


@pytest.mark.parametrize("name", INSTEAD)
def test_the_remedy_is_what_to_pass(name: str) -> None:
    given, message = INSTEAD[name]
    with pytest.raises(errors.ArgumentError, match=message):
        bridge.grad(lambda x: np.sum(x))(given)


@pytest.mark.parametrize("engine", ["native", "jax", "auto", "xla"])
def test_integers_are_the_same_error_under_every_engine(engine: Any) -> None:
    pytest.importorskip("jax")
    with pytest.raises(errors.ArgumentError, match=r"argument 0 has dtype int64(.|\n)*pass x.astype\(float\)"):
        bridge.grad(lambda x: np.sum(x**2), engine=engine)(np.arange(3))


def test_allow_int() -> None:
    g = bridge.grad(lambda p: np.sum(p["w"] * p["n"]), allow_int=True)({"w": X, "n": np.arange(4)})
    assert g["n"] is None
    np.testing.assert_allclose(g["w"], np.arange(4.0))


FOREIGN: dict[str, Callable[[], Any]] = {
    "memoryview": lambda: memoryview(X.copy()),
    "array": lambda: array.array("d", X),
    "Fraction": lambda: fractions.Fraction(1, 3),
    "Decimal": lambda: decimal.Decimal("0.3"),
    "set": lambda: {0.3, 0.4},
}


@pytest.mark.parametrize("kind", FOREIGN)
@pytest.mark.parametrize("engine", ["native", "xla"])
@pytest.mark.parametrize("transform", ["grad", "vjp", "jvp", "in a dict", "in an object"])
def test_what_may_hold_floats_and_is_no_array(kind: str, engine: str, transform: str) -> None:
    x = FOREIGN[kind]()

    def f(u: Any) -> Any:
        u = u.pop("u") if isinstance(u, dict) else getattr(u, "u", u)
        return np.sum(np.ones(3)) if isinstance(u, type(x)) else 0.0

    runs: dict[str, Callable[[], Any]] = {
        "grad": lambda: bridge.grad(f, engine=engine)(x),
        "vjp": lambda: bridge.vjp(f, x, engine=engine),
        "jvp": lambda: bridge.jvp(f, (x,), (x,), engine=engine),
        "in a dict": lambda: bridge.vjp(f, {"u": x}, engine=engine),
        "in an object": lambda: bridge.grad(f, engine=engine)(Pair(x, X.copy())),
    }
    with pytest.raises(errors.ArgumentError, match=rf"{kind}|no hash"):
        runs[transform]()


@dataclasses.dataclass
class Pair:
    u: Any
    v: Any


@pytest.mark.parametrize("constant", [None, "text", b"bytes", range(3), len, {1, 2}, memoryview(b"abc")])
def test_what_holds_no_floats_is_a_constant_of_vjp(constant: Any) -> None:
    _, pull = bridge.vjp(lambda x, c: np.sum(x * x), X, constant)
    gradient, none = pull(1.0)
    np.testing.assert_allclose(gradient, 2 * X)
    assert none is None


@pytest.mark.parametrize("count", [1, 3])
def test_arguments_lie_as_the_callers_do(count: int) -> None:
    """NumPy computes functions of float32 in another way where a stride is negative."""
    x = np.linspace(-1.12, 1.0, count, dtype=np.float32)[::-1].copy()[::-1]
    seen = []

    def f(x: Any) -> Any:
        seen.append(x.strides)
        return np.sum(np.arctan(x))

    value, _ = bridge.value_and_grad(f)(x)
    assert seen == [x.strides]
    assert value == np.sum(np.arctan(x))


def test_arguments_enter_in_their_order_wherever_they_lie() -> None:
    memory = np.zeros(6)
    high, middle, low = memory[4:], memory[2:4], memory[:2]
    assert sharing([high, low, middle]) == [[0], [1], [2]]
    assert [sorted(group) for group in sharing([high, low, memory[5:], memory[:1]])] == [[0, 2], [1, 3]]


def scaled(x: Any, y: Any) -> Any:
    x[...] = 2 * x
    return x * y


def other_scaled(x: Any, y: Any) -> Any:
    y[...] = 2 * y
    return x * y


@pytest.mark.parametrize("transform", [bridge.jacrev, bridge.jacfwd])
@pytest.mark.parametrize("function", [scaled, other_scaled])
def test_a_jacobian_of_a_write_into_memory_that_two_arguments_share_is_refused(transform: Any, function: Any) -> None:
    x = np.array([1.0, 2.0, 3.0])
    for y in (x, x[::-1]):
        with pytest.raises(errors.AliasError, match=r"2 arguments share.*\n.*\n.*pass copies"):
            transform(function)(x, y)
    np.testing.assert_array_equal(transform(function)(x, x.copy()), np.diag(2 * x))
    np.testing.assert_array_equal(x, [1.0, 2.0, 3.0])


@pytest.mark.parametrize("transform", [bridge.jacrev, bridge.jacfwd])
def test_a_jacobian_of_arguments_that_share_memory_and_are_read(transform: Any) -> None:
    x = np.array([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(transform(lambda x, y: x * y)(x, x), np.diag(x))
