"""Programs with functions that Numba compiles: values and gradients, and what differs from Python."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import BridgeError, EscapeError, RefusedError, TraceError, ValueDiffersError
from bridge.loops_in_c.functions import DERIVED
from bridge.rulebook import book

pytest.importorskip("numba", reason="numba is needed: pip install -e '.[test]'")

import numba
from numba import njit
from numba.experimental import jitclass

from tests.helpers.numba_programs import PROGRAMS

X = np.array([0.7, 1.3, 2.1])
COMPILED = ("n_body", "lotka_volterra_rk4", "histogram", "mandelbrot_like", "vectorize_in_njit", "prange_of_the_module")
"""The programs that are also compiled by XLA, which takes seconds for each."""


def differences(f: Callable[[Any], Any], x: np.ndarray, h: float = 1e-6) -> np.ndarray:
    """Central differences, of what Numba computes."""
    found = np.empty_like(x)
    for k in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[k] = h
        found[k] = (f(x + step) - f(x - step)) / (2 * h)
    return found


@pytest.fixture(autouse=True)
def _no_rules_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules of users' for operators leave loops to Python."""
    monkeypatch.setattr(book, "OF_USERS", book.OF_USERS - DERIVED)


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_numbas_and_gradients_agree_with_differences(name: str) -> None:
    f, x = PROGRAMS[name]
    expected = differences(f, x)
    for loops in ("python", "c"):
        value, gradient = bridge.value_and_grad(f, loops=loops)(x)
        np.testing.assert_allclose(value, f(x.copy()), rtol=1e-12)
        np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("name", COMPILED)
def test_they_are_compiled_by_xla(name: str) -> None:
    pytest.importorskip("jax")
    f, x = PROGRAMS[name]
    value, gradient = bridge.value_and_grad(f, engine="xla")(x)
    np.testing.assert_allclose(value, f(x.copy()), rtol=1e-12)
    np.testing.assert_allclose(gradient, bridge.grad(f)(x), rtol=1e-10, atol=1e-12)


@njit
def scaled(x, factor=2.0):
    for i in range(x.size):
        x[i] *= factor


@njit
def of_an_array(x):
    return x[0] * x[1]


@njit
def noise(n):
    return np.random.rand(n)


@njit
def drawing(x):
    return x[0] * np.random.rand()


@njit
def drawing_by_python(x):
    return x[0] * random.random()


@njit
def drawing_from(x, generator):
    return x[0] * generator.random()


def test_without_tracked_arguments_the_compiled_function_is_called() -> None:
    """Only compiled code can draw from Numba's generator."""
    value, gradient = bridge.value_and_grad(lambda x: np.sum(x * noise(3)))(X)
    np.testing.assert_allclose(value, X @ gradient)


def test_a_function_that_is_written_into_plain_arrays() -> None:
    def program(x: Any) -> Any:
        plain = np.ones(3)
        scaled(plain, 3.0)
        plain[1] = x[1]
        scaled(plain)
        return np.sum(plain) + x[0]

    np.testing.assert_allclose(bridge.value_and_grad(program)(X)[0], program(X))
    np.testing.assert_allclose(bridge.grad(program)(X), [1.0, 2.0, 0.0])


@pytest.mark.parametrize("engine", ["native", "xla"])
def test_an_array_that_has_become_tracked_in_a_tuple(engine: Any) -> None:
    if engine == "xla":
        pytest.importorskip("jax")

    @njit
    def product(pair):
        return pair[0][0] * pair[1][0]

    def program(x: Any) -> Any:
        plain = np.ones(3)
        pair = (plain, np.full(3, 2.0))
        plain[0] = x[0]
        return product(pair)

    np.testing.assert_allclose(bridge.grad(program, engine=engine)(X), [2.0, 0.0, 0.0])


@pytest.mark.parametrize("loops", ["python", "c"])
def test_functions_that_the_program_compiles_itself(loops: Any) -> None:
    def program(x: Any) -> Any:
        @njit
        def squared(v):
            return v * v * factor

        @njit("f8(f8)")
        def halved(v):
            return v / 2.0

        factor = 3.0
        tripled = numba.vectorize(["f8(f8)"])(lambda v: 3.0 * v)
        return squared(x[0]) * squared(2.0) + halved(x[1]) * halved(1.0) + np.sum(tripled(x)) * tripled(1.0)

    np.testing.assert_allclose(bridge.value_and_grad(program, loops=loops)(X)[0], program(X))
    np.testing.assert_allclose(bridge.grad(program, loops=loops)(X), [72.0 * 0.7 + 9.0, 9.25, 9.0])


def test_partial_map_and_vjp() -> None:
    square = njit(lambda v: v * v)
    np.testing.assert_allclose(bridge.grad(lambda x: functools.partial(of_an_array, x)())(X), [1.3, 0.7, 0.0])
    np.testing.assert_allclose(bridge.grad(lambda x: sum(map(square, x)))(X), 2 * X)
    _value, pull = bridge.vjp(of_an_array, X)
    np.testing.assert_allclose(pull(1.0)[0], [1.3, 0.7, 0.0])
    np.testing.assert_allclose(bridge.jvp(of_an_array, (X,), (np.ones(3),))[1], 2.0)
    np.testing.assert_allclose(bridge.hessian(of_an_array)(X)[0], [0.0, 1.0, 0.0])


def test_a_rule_comes_first() -> None:
    @njit
    def ruled(v):
        return v * v

    @njit
    def around(v):
        return 3.0 * ruled(v)

    bridge.rule(ruled)(lambda ct, out, v: ct * 100.0)
    for loops in ("python", "c"):
        np.testing.assert_allclose(bridge.grad(lambda x: ruled(x[0]), loops=loops)(X), [100.0, 0.0, 0.0])
        np.testing.assert_allclose(bridge.grad(lambda x: around(x[0]), loops=loops)(X), [300.0, 0.0, 0.0])

    def in_a_loop(x: Any) -> Any:
        total = 0.0
        for k in range(3):
            total += ruled(x[k])
        return total

    with pytest.raises(RefusedError, match="a call"):
        bridge.grad(in_a_loop, loops="c")(X)
    np.testing.assert_allclose(bridge.grad(in_a_loop)(X), np.full(3, 100.0))


def test_loops_run_in_c_and_prange_in_one_thread() -> None:
    f, x = PROGRAMS["reduction_in_prange"]
    bridge.grad(f, loops="c")(x)
    told = bridge.explain_source(f).splitlines()[-2:]
    assert "one thread runs this loop over prange" in told[0]
    assert told[1].endswith("this loop has run in C.")


@numba.guvectorize(["(f8[:], f8[:])"], "(n)->()")
def generalised(x, y):
    y[0] = x[0]


@numba.stencil
def stencil(a):
    return a[1] + a[-1]


@jitclass([("a", numba.float64)])
class Struct:
    def __init__(self, a):
        self.a = a

    def scaled(self, y):
        return self.a * y


@numba.vectorize(["f8(f8)"])
def doubled(x):
    return 2.0 * x


def typed_list(x: Any) -> Any:
    values = numba.typed.List()
    values.append(1.0)
    values.append(x[0])
    return values[1]


def with_out(x: Any) -> Any:
    y = np.zeros(3)
    doubled(x, out=y)
    return np.sum(y)


UNREAD = njit(eval("lambda x: x * 2.0"))

REFUSED: dict[str, tuple[Callable[[Any], Any], type[BridgeError], str]] = {
    "guvectorize": (lambda x: generalised(x), EscapeError, "generalised, which is compiled code"),
    "stencil": (lambda x: np.sum(stencil(x)), EscapeError, "StencilFunc, which is compiled code"),
    "a class": (lambda x: Struct(x[0]).a, EscapeError, "Struct, which is compiled code"),
    "a method of a class": (lambda x: Struct(2.0).scaled(x[0]), EscapeError, "which is compiled code and is not read"),
    "a typed list": (typed_list, EscapeError, "append, which is compiled code"),
    "no source": (lambda x: UNREAD(x[0]), EscapeError, r"compiled code and is not read \(the source of .* cannot"),
    "out=": (with_out, RefusedError, "doubled, a function of numba.vectorize, with keywords"),
    "a draw": (drawing, RefusedError, "draws random numbers, from a generator"),
    "a draw by Python": (drawing_by_python, RefusedError, "draws random numbers, from a generator"),
}


@pytest.mark.parametrize("engine", ["native", "xla"])
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str, engine: Any) -> None:
    if engine == "xla":
        pytest.importorskip("jax")
    program, kind, words = REFUSED[name]
    kind = TraceError if engine == "xla" and kind is EscapeError else kind
    with pytest.raises(kind, match=rf"(?s){words}.*remedy"):
        bridge.grad(program, engine=engine)(X)


def test_a_draw_of_compiled_code_is_no_constant() -> None:
    pytest.importorskip("jax")
    with pytest.raises(RefusedError, match="draws random numbers"):
        bridge.grad(lambda x: np.sum(x * noise(3)), engine="xla")(X)


def test_generators_that_are_passed() -> None:
    def program(x: Any) -> Any:
        return drawing_from(x, np.random.default_rng(0))

    assert bridge.value_and_grad(program)(X)[0] == program(X)


@njit
def bytes_added(x, image):
    return x[0] * (image[0] + image[1])


@njit
def wrapping(x):
    s = 1
    for _ in range(70):
        s *= 3
    return x[0] * (s % 7)


@njit("int64(float64)")
def cut_off(v):
    return v * 2.0


@numba.vectorize(["i8(f8)"])
def whole(v):
    return v


DIFFERENT: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "bytes": (
        lambda x: bytes_added(x, np.array([200, 100], np.uint8)),
        lambda x: bytes_added.py_func(x, np.array([200, 100], np.uint8)),
    ),
    "integers that wrap": (wrapping, wrapping.py_func),
    "a signature that converts": (lambda x: cut_off(x[0]) * x[1], lambda x: cut_off.py_func(x[0]) * x[1]),
}


@pytest.mark.filterwarnings("ignore:overflow")
@pytest.mark.parametrize("name", DIFFERENT)
def test_other_values_than_numbas_are_an_error(name: str) -> None:
    program, of_python = DIFFERENT[name]
    for _ in range(2):
        with pytest.raises(ValueDiffersError, match=r"(?s)compiled by Numba, computes other values.*py_func"):
            bridge.grad(program, loops="python")(X)
    value, gradient = bridge.value_and_grad(of_python, loops="python")(X)
    np.testing.assert_allclose(value, of_python(X))
    assert gradient[0] != 0.0


ERRORS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "of Numba alone": (
        njit(lambda x: x[0] / (x[1] - x[1])),
        r"an error \(ZeroDivisionError.*\), and inf",
    ),
    "of an index": (njit(lambda x: x[0] + 0.0 * x[5]), "no error, and IndexError"),
    "of math": (njit(lambda x: x[0] + math.log(x[1] - x[1])), "no error, and ValueError"),
}


@pytest.mark.filterwarnings("ignore:divide")
@pytest.mark.parametrize("name", ERRORS)
def test_an_error_of_one_of_them(name: str) -> None:
    f, words = ERRORS[name]

    def program(x: Any) -> Any:
        try:
            return f(x)
        except (ArithmeticError, IndexError, ValueError):
            return x[1]

    with pytest.raises(ValueDiffersError, match=words):
        bridge.grad(program, loops="python")(X)


def test_compiled_code_runs_in_the_first_call_alone() -> None:
    @njit
    def cubed(v):
        return v**3

    gradient = bridge.grad(lambda x: cubed(x[0]) + cubed(x[1]))
    gradient(X)
    assert len(cubed.signatures) == 1
    np.testing.assert_allclose(gradient(X), [3 * 0.49, 3 * 1.69, 0.0])


@njit
def added(a, b):
    for i in range(a.size):
        a[i] += b[a.size - 1 - i]


@njit
def raising(x):
    for i in range(5):
        if i == 2:
            raise ValueError("half-way")
        x[i] *= 2.0


def caught(x: Any) -> Any:
    try:
        raising(x)
    except ValueError:
        return np.sum(x**2)


def views(x: Any) -> Any:
    added(x[:2], x[1:])
    return np.sum(x**2)


def itself(x: Any) -> Any:
    added(x, x)
    return np.sum(x**2)


@pytest.mark.parametrize("program", [caught, views, itself])
@pytest.mark.parametrize("loops", ["python", "c"])
def test_errors_and_shared_memory_in_a_first_call(program: Any, loops: Any) -> None:
    value, gradient = bridge.value_and_grad(program, loops=loops)(X)
    np.testing.assert_allclose(value, program(X.copy()))
    np.testing.assert_allclose(gradient, differences(lambda x: program(x.copy()), X), rtol=1e-7)


def test_arrays_that_are_not_filled_are_not_compared() -> None:
    @njit
    def inner(u):
        new = np.empty_like(u)
        for i in range(1, u.size - 1):
            new[i] = u[i - 1] * u[i + 1]
        return new

    def program(x: Any) -> Any:
        new = inner(x)
        new[0] = new[-1] = 0.0
        return np.sum(new)

    np.testing.assert_allclose(bridge.grad(program)(X), [2.1, 0.0, 0.7])


def test_vectorize_dtypes() -> None:
    double = X.astype(np.float32)
    of_floats = numba.vectorize(["f4(f4)", "f8(f8)"])(lambda v: v * v)
    for x in (X, double):
        value, gradient = bridge.value_and_grad(lambda x: np.sum(of_floats(x)))(x)
        assert value.dtype == gradient.dtype == of_floats(x).dtype
        np.testing.assert_allclose(gradient, 2 * x)
    np.testing.assert_allclose(bridge.grad(lambda x: np.sum(whole(x) * x))(X), [0.0, 1.0, 2.0])
    with pytest.raises(TypeError):
        bridge.grad(lambda x: np.sum(numba.vectorize(["f4(f4)"])(lambda v: v)(x)))(X)
    empty = bridge.grad(lambda x: np.sum(of_floats(x[:0])) + x[0])(X)
    np.testing.assert_allclose(empty, [1.0, 0.0, 0.0])
