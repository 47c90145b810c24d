"""What a rule supports: programs over kernels get their gradients, and the rest is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import RefusedError, RuleError
from bridge.extend import RULES, Supports, mutating_rule, rule
from tests.helpers.kernels import KERNEL, scale, scale_adjoint, square, square_adjoint, strict

X = np.array([0.3, 0.5, 2.0, -1.1])
Y = np.arange(12.0).reshape(3, 4) / 7

squared = rule(lambda x: square(x), **KERNEL)(lambda ct, out, x: square_adjoint(ct, x))


@mutating_rule(mutates="a", **KERNEL)
def scaled(a, factor):
    scale(a, factor)


@scaled.pull
def _(ct, a, factor):
    return scale_adjoint(ct, factor)


LINEAR = rule(lambda x: (strict(x), x[::-1] + 0.0)[1], linear=True, **KERNEL)(lambda ct, out, x: ct[::-1].copy())


@pytest.fixture(autouse=True)
def taught() -> None:
    """The rules of this file, of which each test is taught anew."""
    RULES.update({one.function: one for one in (squared, LINEAR)})


def view(x):
    z = x.copy()
    scaled(z[1:], 3.0)
    return np.sum(z**2)


def loop(x):
    z = x.copy()
    for _ in range(3):
        z = squared(z)
        scaled(z, 1.1)
    return z[0] + z[-1]


def overwritten(x):
    z = squared(x)
    z[1:3] = 0.0
    w = squared(z)
    z[:] = 1.0
    return np.sum(w * z)


PROGRAMS: dict[str, tuple[Callable[..., Any], np.ndarray]] = {
    "a broadcast cotangent": (lambda x: np.sum(squared(x)), X),
    "a mean": (lambda x: np.mean(squared(x)), X),
    "a reversed cotangent": (lambda x: np.sum(squared(x)[::-1] * np.arange(4.0)), X),
    "a transposed cotangent": (lambda y: np.sum(squared(y).T * np.arange(12.0).reshape(4, 3)), Y),
    "a cotangent from a broadcast": (lambda y: np.sum(np.broadcast_to(squared(y[0]), (5, 4))), Y),
    "a cotangent of a part": (lambda x: squared(x)[2], X),
    "a copy of a strided view": (lambda x: np.sum(squared(x[::2].copy())), X),
    "a branch": (lambda x: np.sum(np.where(x > 0, squared(x), 0.0)), X),
    "an outer product": (lambda x: np.sum(np.outer(squared(x), x)), X),
    "a complex product": (lambda x: np.sum(np.abs(squared(x) * (1 + 2j)) ** 2), X),
    "its result unused": (lambda x: np.sum(x**2) + 0 * len(squared(x)), X),
    "a view that is written": (view, X),
    "a loop": (loop, X),
    "a result that is overwritten": (overwritten, X),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_of_programs_over_kernels(name: str) -> None:
    f, x = PROGRAMS[name]
    assert bridge.check_gradient(f)(x).ok


def test_an_inner_gradient_whose_arguments_the_outer_one_does_not_move() -> None:
    def f(w):
        return np.sum(bridge.grad(lambda x: np.sum(squared(x)))(X * 1.0) * w)

    def g(w):
        return np.sum(bridge.grad(lambda v: np.sum(squared(X)) * np.sum(v * w))(w))

    np.testing.assert_allclose(bridge.grad(f)(np.ones(4)), 2 * X)
    np.testing.assert_allclose(bridge.grad(g)(np.ones(4)), np.full(4, np.sum(X**2)))


def test_an_adjoint_with_a_rule_of_its_own_gives_second_derivatives_and_no_third() -> None:
    def f(x):
        strict(x)
        return np.power(x, 3, out=np.empty_like(x))

    def adjoint(ct, x):
        strict(ct, x)
        return np.multiply(3 * x**2, ct, out=np.empty_like(x))

    pulled = rule(adjoint, **KERNEL)(lambda c, out, ct, x: (3 * x**2 * c, 6 * x * ct * c))
    cubed = rule(f, **(KERNEL | {"orders": 2}))(lambda ct, out, x: pulled(ct, x))
    assert bridge.check_rule(cubed, X).ok
    second = bridge.grad(lambda x: np.sum(bridge.grad(lambda y: np.sum(cubed(y)))(x) * np.arange(4.0)))
    np.testing.assert_allclose(second(X), 6 * X * np.arange(4.0))
    with pytest.raises(RefusedError, match="is to be differentiated"):
        bridge.grad(lambda x: np.sum(second(x)))(X)


def test_a_linear_kernel_has_forward_mode() -> None:
    value, tangent = bridge.jvp(lambda x: LINEAR(np.broadcast_to(np.sum(x), (4,)).copy()), (X,), (np.ones(4),))
    np.testing.assert_allclose(tangent, np.full(4, 4.0))
    assert value.shape == (4,)


ORDER = "its rule says orders=1"
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "forward mode": (lambda: bridge.jvp(lambda x: squared(x), (X,), (X,)), ORDER),
    "forward mode of a call that writes": (lambda: bridge.jvp(view, (X,), (X,)), ORDER),
    "a product with the Hessian": (lambda: bridge.hvp(PROGRAMS["a mean"][0], (X,), (X,)), ORDER),
    "a Hessian": (lambda: bridge.hessian(view)(X), ORDER),
    "a gradient of a gradient": (lambda: bridge.grad(lambda x: np.sum(bridge.grad(view)(x)))(X), ORDER),
    "float32": (lambda: bridge.grad(view)(X.astype(np.float32)), "dtype float32; its rule supports float64"),
    "complex": (lambda: bridge.grad(lambda x: np.real(squared(x)[0]))(X + 0j), "np.real(x) and np.imag(x)"),
    "no elements": (lambda: bridge.grad(lambda x: np.sum(squared(x[:0])))(X), "its rule supports arrays with elements"),
    "strides": (lambda: bridge.grad(lambda x: np.sum(squared(x[::2])))(X), "strides (16,); its rule supports C-"),
    "strides of what is written": (lambda: bridge.grad(lambda x: scaled(x[::2], 2.0) or x[0])(X), "gets a with strid"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_supported_is_refused_by_name_and_place(name: str) -> None:
    run, words = REFUSED[name]
    with pytest.raises(RefusedError) as caught:
        run()
    assert words in str(caught.value) and caught.value.remedy
    assert f"{__file__}:" in caught.value.where


@pytest.mark.parametrize("program", [view, PROGRAMS["a mean"][0]])
def test_a_compiled_program_refuses_compiled_code_by_name(program: Callable[..., Any]) -> None:
    pytest.importorskip("jax")
    with pytest.raises(RefusedError, match="is to become a part of a compiled program") as caught:
        bridge.grad(program, engine="xla")(X)
    assert f"{__file__}:" in caught.value.where


def test_an_undeclared_kernel_says_what_to_declare() -> None:
    undeclared = rule(lambda x: square(x))(lambda ct, out, x: square_adjoint(ct, x))
    with pytest.raises(TypeError) as caught:
        bridge.grad(lambda x: np.sum(bridge.grad(lambda y: np.sum(undeclared(y) * y))(x)))(X)
    assert "say orders=1 where the rule is registered" in caught.value.__notes__[-1]


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"order": 1}, "did you mean orders?"),
        ({"kernel": True}, "orders, dtypes, layouts, empty"),
        ({"orders": 0}, "orders=0"),
        ({"dtypes": "int"}, "dtypes='int'"),
        ({"dtypes": ("nonsense",)}, "nonsense"),
        ({"layouts": "F"}, "layouts='F'"),
    ],
)
def test_declarations_that_say_nothing(keywords: Any, words: str) -> None:
    for register in (lambda: rule(square, **keywords), lambda: mutating_rule(mutates="a", **keywords)(scale)):
        with pytest.raises(RuleError) as caught:
            register()
        assert words in str(caught.value)


def test_what_is_supported_anyway_is_not_declared() -> None:
    assert squared.supports == Supports(1, (np.dtype(float),), "C", False)
    assert rule(square, layouts="any", empty=True)(lambda ct, out, x: ct).supports is None
