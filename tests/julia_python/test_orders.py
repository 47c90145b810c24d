"""Derivatives of the third order and above through Julia functions inside NumPy programs: against the same in NumPy."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import JuliaError, ReplayError

pytestmark = pytest.mark.julia

X = np.array([0.3, -0.8, 1.2])


@dataclass
class Case:
    """A program of a function, which is `code` in Julia and `twin` in NumPy."""

    program: Callable[[Any, Any], Any]
    code: str
    twin: Callable[..., Any]
    options: dict[str, Any] = field(default_factory=dict)

    def both(self) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
        function = bridge.julia.function(self.code, **self.options)
        return lambda x: self.program(function, x), lambda x: self.program(self.twin, x)


def arithmetic(f: Any, x: Any) -> Any:
    return f(x * x[0]) * np.sum(x)


def containers(f: Any, x: Any) -> Any:
    total, more = f({"w": x * 2, "parts": [x**2, x[0]]}, 2, scale=3.0)
    return total + np.sum(more["squares"] * x) * more["product"][0]


def of_containers(p: Any, n: int, scale: float) -> Any:
    total = np.sum(p["w"] * p["parts"][0]) * p["parts"][1] * scale
    return total, {"squares": p["w"] ** n, "product": p["w"] * p["parts"][1]}


def writes(f: Any, x: Any) -> Any:
    u = x * x
    f(u[1:], x[0])
    first = np.sum(u * x)
    u[0] *= x[2]
    f(u, 2.0)
    return first + np.sum(u)


def write_squares(u: Any, c: Any) -> None:
    u[...] = u**2 * c


def complex_numbers(f: Any, x: Any) -> Any:
    value = f((x[:2] + 1j * x[1:]) * x[0], x[2])
    return np.sum(np.abs(value) ** 2) + np.real(value[0])


def matrices(f: Any, x: Any) -> Any:
    w = np.stack([x, x**2])
    return np.sum(f(w) * w)


def scaled(f: Any, x: Any) -> Any:
    return f(x) * x[0]


def recurrence(x: Any) -> Any:
    second = np.tanh(x[1] + x[0] / 2)
    return x[0] + second + np.tanh(x[2] + second / 2)


LOOP = "i in 2:length(y) y[i] = tanh(y[i] + y[i-1] / 2) end"
CASES = {
    "arithmetic": Case(arithmetic, "x -> sum(x .^ 3 .* exp.(reverse(x)))", lambda x: np.sum(x**3 * np.exp(x[::-1]))),
    "containers": Case(
        containers,
        "(p, n; scale) -> (sum(p.w .* p.parts[1]) * p.parts[2] * scale, "
        '(squares=p.w .^ n, product=p.w .* p.parts[2], name="n", count=n))',
        of_containers,
    ),
    "mutates": Case(
        writes,
        "function squares_of!(u, c); for i in eachindex(u); u[i] = u[i]^2 * c; end; return nothing; end",
        write_squares,
        {"mutates": "u"},
    ),
    "buffers": Case(scaled, f"x -> (y = MutationBridge.Buffer(x); for {LOOP}; sum(copy(y)))", recurrence),
    "plain arrays": Case(scaled, f"x -> (y = copy(x); for {LOOP}; sum(y))", recurrence, {"ad": "forwarddiff"}),
    "complex": Case(
        complex_numbers,
        "(z, s) -> z .* conj.(reverse(z)) .* exp.(im .* z) .* s",
        lambda z, s: z * np.conj(z[::-1]) * np.exp(1j * z) * s,
    ),
    "reversed": Case(
        matrices,
        "w -> exp.(w .* w[2, 1]) .* w[3, 2]",
        lambda w: np.exp(w * w[0, 1]) * w[1, 2],
        {"order": "reversed"},
    ),
    "own ForwardDiff": Case(
        arithmetic,
        "x -> sum(x .* MutationBridge.ForwardDiff.gradient(y -> sum(y .^ 4) * y[1], x))",
        lambda x: np.sum(x * (4 * x**3 * x[0])) + x[0] * np.sum(x**4),
    ),
    "own second derivatives": Case(
        arithmetic,
        "x -> x[2] * sum(MutationBridge.hvp(y -> sum(y .^ 3) * x[1], x, x))",
        lambda x: x[1] * np.sum(6 * x**2) * x[0],
        {"ad": "forwarddiff"},
    ),
}


def third(f: Any, *, forward: bool) -> Any:
    """All third derivatives, by forward mode thrice or by reverse mode thrice."""
    once = bridge.jacfwd if forward else bridge.jacrev
    return once(once(bridge.jacfwd(f) if forward else bridge.grad(f)))(X)


OF_OTHER_ENGINES_AND_LAYOUTS = {"buffers", "plain arrays", "reversed"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.ci if name in OF_OTHER_ENGINES_AND_LAYOUTS else ()) for name in CASES],
)
def test_third_derivatives(name: str) -> None:
    program, twin = CASES[name].both()
    expected = third(twin, forward=False)
    for found in (
        third(program, forward=True),
        third(program, forward=False),
        bridge.jacfwd(bridge.hessian(program))(X),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)
        for order in itertools.permutations(range(3)):
            np.testing.assert_allclose(np.transpose(found, order), found, rtol=1e-9, atol=1e-10)
    h, v = 1e-4, np.array([1.0, -2.0, 0.5])
    ahead, behind = bridge.hessian(program)(X + h * v), bridge.hessian(program)(X - h * v)
    np.testing.assert_allclose(expected @ v, (ahead - behind) / (2 * h), rtol=1e-5, atol=1e-5)


def along(f: Any, *directions: np.ndarray) -> Any:
    """The derivative once along each direction."""
    for v in directions:
        f = _along(f, v)
    return f


def _along(f: Any, v: np.ndarray) -> Any:
    return lambda x: bridge.jvp(f, (x,), (v,))[1]


@pytest.mark.parametrize("name", ["arithmetic", "mutates"])
def test_fourth_and_fifth_derivatives(name: str) -> None:
    def fourth(f: Any) -> Any:
        return along(lambda x: np.sum(bridge.grad(along(f, X))(x) * X[::-1]), np.ones(3), X**2)

    program, twin = map(fourth, CASES[name].both())
    np.testing.assert_allclose(program(X), twin(X), rtol=1e-9)
    np.testing.assert_allclose(bridge.grad(program)(X), bridge.grad(twin)(X), rtol=1e-9)


def test_derivatives_by_complex_variables() -> None:
    code = "(z, s) -> real(sum(z .^ 3 .* conj.(reverse(z)) .* exp.(im .* z) .* s))"
    z, v, w = X[:2] + 1j * X[1:], np.array([1j, 0.5 - 1j]), np.array([2.0 + 1j, -0.25j])

    def twin(z: Any, s: float) -> Any:
        return np.real(np.sum(z**3 * np.conj(z[::-1]) * np.exp(1j * z) * s))

    def derivatives(f: Any) -> list[Any]:
        program = lambda z: f(z, 2.0) * 1.0  # noqa: E731
        gradient = bridge.grad(program)
        _, pull = bridge.vjp(along(gradient, v), z)
        return [along(gradient, v, w)(z), pull(w)[0], bridge.grad(along(program, v, w))(z), along(program, v, w, v)(z)]

    found, expected = derivatives(bridge.julia.function(code)), derivatives(twin)
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-10)
    np.testing.assert_allclose(found[1], found[0])
    np.testing.assert_allclose(found[2], found[0])


def test_float32_stays() -> None:
    cubes = bridge.julia.function("x -> sum(x .^ 3)")
    found = bridge.grad(along(lambda x: cubes(x) * 2, np.ones(3, "f"), np.ones(3, "f")))(X.astype("f"))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, 12)


def test_what_does_not_vary_may_have_infinite_slopes() -> None:
    function = bridge.julia.function("(x, y) -> sum(x .^ 4) + sum(sqrt.(y))")

    def program(x: Any, y: Any) -> Any:
        return along(lambda x: function(x, y), X, X)(x)

    zeros = np.zeros(2)
    _, derivative = bridge.jvp(program, (X, zeros), (X, None))
    assert derivative == pytest.approx(24 * np.sum(X**4))


def test_random_draws_and_memory_are_those_of_the_forward_run() -> None:
    noisy = bridge.julia.function("x -> sum(x .^ 3 .* rand(length(x)))")
    counting = bridge.julia.function("let n = Ref(0.0); x -> (n[] += 1; sum(x .^ 3) * n[]) end")

    for _ in range(2):
        value, derivative = value_and_third(noisy)
        assert derivative == pytest.approx(6 * value)
    for k in range(1, 4):
        value, derivative = value_and_third(counting)
        assert value == pytest.approx(k * np.sum(X**3)) and derivative == pytest.approx(6 * value)


def value_and_third(f: Any) -> Any:
    """Value, and derivative along X thrice, of one run."""

    def twice(x: Any) -> Any:
        (value, _), (_, second) = bridge.jvp(lambda x: bridge.jvp(lambda x: f(x) * 1.0, (x,), (X,)), (x,), (X,))
        return value, second

    (value, _), (_, derivative) = bridge.jvp(twice, (X,), (X,))
    return value, derivative


def test_tracked_entries_of_sparse_matrices() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    function = bridge.julia.function("(S, x) -> sum((S * x) .^ 2 .* x)")
    rows, columns = np.array([0, 1, 2, 2]), np.array([1, 0, 0, 2])

    def program(f: Any, x: Any) -> Any:
        entries = np.concatenate([x * x[0], x[:1]])
        return f(sparse.coo_array((entries, (rows, columns)), (3, 3)), x + 1) if f else of_entries(entries, x + 1)

    def of_entries(e: Any, x: Any) -> Any:
        return (e[0] * x[1]) ** 2 * x[0] + (e[1] * x[0]) ** 2 * x[1] + (e[2] * x[0] + e[3] * x[2]) ** 2 * x[2]

    found, expected = (third(lambda x, f=f: program(f, x), forward=False) for f in (function, None))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)


def test_what_julia_cannot_is_named() -> None:
    strict = bridge.julia.function("(x::Vector{Float64}) -> sum(x .^ 3)")
    with pytest.raises(JuliaError, match=r"no method matching[\s\S]*remedy: Julia has no method for these types"):
        third(lambda x: strict(x) * 1.0, forward=True)
    nested = bridge.julia.function("x -> sum(MutationBridge.hvp(y -> sum(y .^ 3), x, x))", ad="zygote")
    with pytest.raises(JuliaError, match="a gradient of a gradient by Zygote over Zygote is not supported"):
        third(lambda x: nested(x) * 1.0, forward=False)
    drawing = bridge.julia.function("let own = MutationBridge.Random.Xoshiro(1); x -> sum(x .^ 3) * rand(own) end")
    with pytest.raises(ReplayError, match="gave other values when it was run again"):
        third(lambda x: drawing(x) * 1.0, forward=True)
