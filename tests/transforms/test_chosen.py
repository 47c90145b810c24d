"""Which arguments are differentiated: by position, by name, given by keyword or by default; several of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import bridge
from bridge import errors

X, Y = np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0])
GRADIENTS = {"x": 2 * X * np.sum(Y**3), "y": 3 * np.sum(X**2) * Y**2, "c": np.sum(X**2) * np.sum(Y**3)}


def program(x: Any, y: Any, *, c: Any = 1.0) -> Any:
    z = np.zeros_like(y)
    z[:] = y**3
    x *= x
    return c * np.sum(x) * np.sum(z)


class Model:
    def loss(self, x: Any, y: Any, *, c: Any = 1.0) -> Any:
        return program(x, y, c=c)


CALLABLES: dict[str, Callable[..., Any]] = {
    "function": program,
    "method": Model().loss,
    "partial": partial(program, c=1.0),
    "lambda": lambda x, y, *, c=1.0: program(x, y, c=c),
}
CALLS: dict[str, Callable[[Any], Any]] = {
    "by position": lambda g: g(X, Y),
    "by keyword": lambda g: g(x=X, y=Y),
    "in another order": lambda g: g(y=Y, x=X),
    "mixed": lambda g: g(X, y=Y),
    "keyword only too": lambda g: g(X, Y, c=1.0),
}
ASKED: dict[Any, tuple[str, ...]] = {
    0: ("x",),
    1: ("y",),
    "x": ("x",),
    "y": ("y",),
    "c": ("c",),
    ("x", "y"): ("x", "y"),
    ("y", 0): ("y", "x"),
    ("c", "x"): ("c", "x"),
}


@pytest.mark.ci
@pytest.mark.parametrize("engine", ["native", "xla"])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("argnums", ASKED, ids=str)
def test_arguments_are_chosen_by_position_or_name(argnums: Any, call: Callable[[Any], Any], engine: Any) -> None:
    found = call(bridge.grad(program, argnums, engine=engine))
    found = found if isinstance(argnums, tuple) else (found,)
    for gradient, name in zip(found, ASKED[argnums], strict=True):
        np.testing.assert_allclose(gradient, GRADIENTS[name])
    np.testing.assert_array_equal(X, [1.0, 2.0])


@pytest.mark.parametrize("f", CALLABLES.values(), ids=CALLABLES)
def test_names_of_all_that_can_be_called(f: Callable[..., Any]) -> None:
    by_y, by_c = bridge.grad(f, ("y", "c"))(X, Y)
    np.testing.assert_allclose(by_y, GRADIENTS["y"])
    assert by_c == pytest.approx(GRADIENTS["c"])
    (_, again) = bridge.value_and_grad(argnums="y")(f)(X, y=Y)
    np.testing.assert_allclose(again, GRADIENTS["y"])


@pytest.mark.parametrize(
    ("argnums", "args", "kwargs", "message"),
    [
        ("z", (X, Y), {}, r"argnums='z': program has no argument 'z'\n.*use one of 'x', 'y', 'c'"),
        ("yy", (X, Y), {}, r"program has no argument 'yy'\n.*did you mean 'y'"),
        ("y", (X,), {}, r"the call of program gives no argument 'y'"),
        (2, (X, Y), {"c": 2.0}, r"argnums=2, and the function was called with 2 positional arguments\n.*name the"),
        (1.5, (X, Y), {}, r"argnums=1.5\n.*a position or a name"),
        (("x", None), (X, Y), {}, r"argnums=\('x', None\)\n.*a position or a name"),
    ],
)
def test_arguments_that_are_not_there(argnums: Any, args: Any, kwargs: Any, message: str) -> None:
    with pytest.raises(errors.ArgumentError, match=message):
        bridge.grad(program, argnums)(*args, **kwargs)


def test_arguments_without_names_are_counted() -> None:
    def anything(*args: Any) -> Any:
        return np.sum(args[0] ** 2)

    with pytest.raises(errors.ArgumentError, match="anything has no argument 'x'"):
        bridge.grad(anything, "x")(X)
    with pytest.raises(errors.ArgumentError, match="argument 'n' has type int"):
        bridge.grad(lambda x, n: np.sum(x) * n, ("x", "n"))(X, n=3)


@pytest.mark.parametrize("engine", ["native", "xla"])
@pytest.mark.parametrize("transform", [bridge.jacrev, bridge.jacfwd])
def test_jacobians_with_respect_to_several_arguments_into_containers(transform: Any, engine: Any) -> None:
    def f(a: Any, b: Any, *, scale: Any = 2.0) -> Any:
        a = a * 1.0
        a[0] = b[1] * a[1]
        return {"outer": np.outer(a, b), "parts": (a * scale, np.sum(b**2))}

    jacobian = transform(f, ("a", "scale", 1), engine=engine)(X, b=Y)
    by_a, by_scale, by_b = (jacobian["parts"][0][k] for k in range(3))
    np.testing.assert_allclose(by_a, [[0.0, 8.0], [0.0, 2.0]])
    np.testing.assert_allclose(by_scale, [8.0, 2.0])
    np.testing.assert_allclose(by_b, [[0.0, 4.0, 0.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(jacobian["parts"][1][2], 2 * Y)
    assert jacobian["outer"][0].shape == (2, 3, 2) and jacobian["outer"][2].shape == (2, 3, 3)
    np.testing.assert_allclose(jacobian["outer"][0][1], [[0.0, 3.0], [0.0, 4.0], [0.0, 5.0]])


@pytest.mark.parametrize("engine", ["native", "xla"])
def test_hessians_of_several_arguments_and_containers(engine: Any) -> None:
    def f(p: Any, y: Any) -> Any:
        p["w"] *= y[0]
        return np.sum(p["w"] ** 2) * p["s"]

    given = {"w": X, "s": 2.0}, Y
    blocks = bridge.hessian(f, engine=engine)(*given)
    np.testing.assert_allclose(blocks["w"]["w"], 36 * np.eye(2))
    np.testing.assert_allclose(blocks["w"]["s"], 18 * X)
    np.testing.assert_allclose(blocks["s"]["w"], 18 * X)
    np.testing.assert_allclose(blocks["s"]["s"], 0.0)
    both = bridge.hessian(f, argnums=("p", "y"), engine=engine)(*given)
    np.testing.assert_allclose(both[0]["w"][1], np.outer(4 * 2.0 * 3.0 * X, [1.0, 0.0, 0.0]))
    np.testing.assert_allclose(both[1][1], np.diag([4.0 * np.sum(X**2), 0.0, 0.0]))


@pytest.mark.parametrize("engine", ["native", "xla"])
def test_products_with_the_hessian_of_some_arguments(engine: Any) -> None:
    v = np.array([1.0, -1.0, 2.0])
    expected = 6 * np.sum(X**2) * Y * v
    np.testing.assert_allclose(bridge.hvp(program, (X, Y), (v,), argnums=1, engine=engine), expected)
    np.testing.assert_allclose(bridge.hvp(program, (X, Y), (v,), argnums=("y",), engine=engine)[0], expected)
    by_y, by_x = bridge.hvp(program, (X, Y), (v, 0 * X), argnums=("y", "x"), engine=engine)
    np.testing.assert_allclose(by_y, expected)
    np.testing.assert_allclose(by_x, 2 * X * np.sum(3 * Y**2 * v))


def test_an_argument_named_twice() -> None:
    with pytest.raises(errors.ArgumentError, match=r"argnums=\(0, 'x'\) names an argument twice"):
        bridge.jacrev(program, (0, "x"))(X, Y)


def test_products_with_the_hessian_of_what_is_not_given() -> None:
    with pytest.raises(errors.ArgumentError, match="the call of program gives no argument 'c'"):
        bridge.hvp(program, (X, Y), (1.0,), argnums="c")
    with pytest.raises(errors.CotangentError, match="1 arguments and 2 tangents"):
        bridge.hvp(program, (X, Y), (X, Y), argnums=0)
